package pipeline

import (
	"bytes"
	"iter"
)

// A listing is the part of a document that is its records: an array, the
// lines of JSON Lines, or the members of an object that is a map.
type listing struct {
	Value         // the array or object, or the document
	at     Path   // of the Value
	elem   *shape // of the records; nil if they were not described
	n      int
	whole  bool                                  // the Value is the document
	inOnly bool                                  // it is in the only object of an array
	row    func(record []byte, limit int) string // of a table: how to write a record; else nil
}

// mainListing finds the records of v, whose shape is root: the array or map
// that has the larger part of the bytes. There may be none. An array of one object
// lists nothing if the object has such a part in turn: the rows of its only
// statement, say.
func mainListing(v Value, root *shape) (listing, bool) {
	if v.Kind == JSONLines {
		return listing{Value: v, elem: root.items, n: v.Total, whole: true}, true
	}
	data, sh, at := bytes.TrimSpace(v.Data), root, Path(nil)
	var outer listing // an array of one
	found := false
	for {
		l := listing{Value: Value{Kind: JSON, Data: data}, at: at, whole: len(at) == 0, inOnly: found}
		switch kindOf(data) {
		case '[':
			if l.n, l.elem = sh.maxLen, sh.items; l.n == 0 {
				return outer, found
			}
			only := onlyObject(data)
			if only == nil || sh.items == nil {
				return l, true
			}
			if !found {
				outer, found = l, true
			}
			data, sh, at = only, sh.items, at.with(Step{Kind: StepIndex})
		case '{':
			if sh.rest != nil {
				l.n, l.elem = sh.members, sh.rest
				return l, true
			}
			// One member with most of the bytes is what the object is about.
			var next []byte
			var key string
			for k, value := range members(data) {
				if 2*len(value) >= len(data) {
					key, next = unquote(k), value
				}
			}
			f := sh.byName[key]
			if next == nil || f == nil {
				return outer, found
			}
			data, sh, at = next, f.shape, at.with(Step{Key: key})
		case '"':
			inner, ok := enterString(data)
			if !ok || sh.inner == nil {
				return outer, found
			}
			data, sh, at = bytes.TrimSpace(inner), sh.inner, at.with(Step{Kind: StepJSON})
		default:
			return outer, found
		}
	}
}

// onlyObject is the item of an array that is one object, or nil.
func onlyObject(data []byte) (only []byte) {
	for _, item := range elements(data) {
		if only != nil || kindOf(item) != '{' {
			return nil
		}
		only = item
	}
	return only
}

// all yields the records, each with the step that leads to it.
func (l listing) all() iter.Seq2[Step, []byte] {
	return func(yield func(Step, []byte) bool) {
		if l.Kind == JSON && kindOf(l.Data) == '{' {
			for key, value := range members(l.Data) {
				if !yield(Step{Key: unquote(key)}, value) {
					return
				}
			}
			return
		}
		for n, value := range items(l.Value) {
			if !yield(Step{Kind: StepIndex, Index: n}, value) {
				return
			}
		}
	}
}

// unit is what the records are called.
func (l listing) unit() string {
	switch {
	case l.Kind == JSONLines:
		return "lines"
	case kindOf(l.Data) == '{':
		return "fields"
	}
	return "items"
}

// mainText is the string that has most of the bytes of an object, decoded, if
// it is long enough to have lines: the content of a file, say.
func mainText(v Value) (text []byte, at Path, ok bool) {
	if v.Kind != JSON {
		return nil, nil, false
	}
	data := bytes.TrimSpace(v.Data)
	// Each level is read to its end, so the depth is bounded.
	for depth := 0; depth < surveyDepth && kindOf(data) == '{'; depth++ {
		var next []byte
		for key, value := range members(data) {
			if 4*len(value) >= 3*len(data) {
				next, at = value, at.with(Step{Key: unquote(key)})
			}
		}
		data = next
	}
	if len(data) < 1000 || kindOf(data) != '"' {
		return nil, nil, false
	}
	return []byte(unquote(data)), at, true
}

// tree reports that the records have records of the same kind in them.
func (l listing) tree() bool {
	if l.elem == nil {
		return false
	}
	for _, f := range l.elem.fields {
		below := f.shape
		at := Path{{Key: f.name}}
		above := []*shape{l.elem, below}
		if below.items != nil {
			below, at, above = below.items, at.with(Step{Kind: StepEach}), append(above, below.items)
		}
		if _, ok := below.recurs(at, above); ok {
			return true
		}
	}
	return false
}
