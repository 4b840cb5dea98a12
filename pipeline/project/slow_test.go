package project

import (
	"context"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/table"
)

// slowProject is [Project.Apply] as it was first written: it finds the masks
// of each member anew and the parts of each container through an iterator. It
// is the oracle of the other.
func slowProject(ctx context.Context, p *Project, in doc.Value) (doc.Value, error) {
	if in.Kind == doc.Text {
		records, ok, err := table.Records(ctx, in)
		if err != nil {
			return doc.Value{}, err
		}
		if !ok {
			return doc.Value{}, doc.Invalid(`use proxy_search, "offset" and "limit" for lines, or "jq":"split(\"\\n\") | map(select(test(\"error\")))"`,
				"fields and exclude need JSON, CSV or TSV; this is text")
		}
		in = records
	}
	keep, err := newMask(p.Fields)
	if err != nil {
		return doc.Value{}, err
	}
	drop, err := newMask(p.Exclude)
	if err != nil {
		return doc.Value{}, err
	}
	w := &slowProjector{tick: doc.Ticker{Ctx: ctx}}
	out := make([]byte, 0, len(in.Data)/2)
	if in.Kind == doc.JSON {
		out, err = w.both(out, in.Data, only(keep), only(drop))
	} else {
		out, err = w.lines(out, in.Data, keep, drop)
	}
	if err != nil {
		return doc.Value{}, err
	}
	if err := missing(ctx, in, keep); err != nil {
		return doc.Value{}, err
	}
	if err := missing(ctx, in, drop); err != nil {
		return doc.Value{}, err
	}
	v := doc.Derive(in, in.Kind, out)
	v.AddNote(keep.lacking(nil))
	return v, nil
}

// only is what is active at the root: nothing for an empty list of paths.
func only(m *mask) []*mask {
	if len(m.paths) == 0 {
		return nil
	}
	return []*mask{m}
}

// lines applies the masks to JSON Lines, which count as one array.
func (w *slowProjector) lines(dst, data []byte, keep, drop *mask) ([]byte, error) {
	n := -1
	for line := range jsonscan.Lines(data) {
		n++
		keeping := slices.Clone(w.element(only(keep), n))
		dropping := slices.Clone(w.element(only(drop), n))
		if len(keep.paths) > 0 && len(keeping) == 0 || anyLeaf(dropping) {
			continue
		}
		var err error
		if dst, err = w.both(dst, line, keeping, dropping); err != nil {
			return nil, err
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

// both appends what keep and then drop leave of one document.
func (w *slowProjector) both(dst, data []byte, keep, drop []*mask) ([]byte, error) {
	var err error
	if len(keep) > 0 {
		if inner, ok := doc.EnterString(data); ok && !anyLeaf(keep) {
			data = inner
		}
		start := len(dst)
		if dst, err = w.include(dst, data, keep); err != nil || len(drop) == 0 {
			return dst, err
		}
		data = append([]byte(nil), dst[start:]...)
		dst = dst[:start]
	}
	if len(drop) == 0 {
		return jsonscan.AppendMinified(dst, data), nil
	}
	return w.exclude(dst, data, drop)
}

// A slowProjector walks a document along masks. Several are active at once,
// where items.name and items[3].id meet.
type slowProjector struct {
	tick    doc.Ticker
	bufs    [][]*mask // scratch, one a level
	deep    int
	dropped int // values that exclude left out
}

// next collects into scratch the masks that apply to a member or element.
func (w *slowProjector) next(active []*mask, pick func(*mask) *mask, implied bool) []*mask {
	for w.deep >= len(w.bufs) {
		w.bufs = append(w.bufs, nil)
	}
	got := w.bufs[w.deep][:0]
	for _, m := range active {
		if c := pick(m); c != nil {
			c.hits++
			got = append(got, c)
		}
		if m.each != nil {
			m.each.hits++
			got = append(got, m.each)
		}
		if implied && len(m.keys) > 0 {
			got = append(got, m.implied())
		}
	}
	w.bufs[w.deep] = got
	return got
}

// key and element are the two ways down. An element keeps its array's masks
// for their keys alone: that is the implied array.
func (w *slowProjector) key(active []*mask, raw []byte) []*mask {
	name := jsonscan.Text(raw)
	return w.next(active, func(m *mask) *mask { return m.keys[name] }, false)
}

func (w *slowProjector) element(active []*mask, n int) []*mask {
	return w.next(active, func(m *mask) *mask { return m.index[n] }, true)
}

func anyLeaf(active []*mask) bool {
	for _, m := range active {
		if m.leaf {
			return true
		}
	}
	return false
}

func countObject(active []*mask) {
	for _, m := range active {
		if len(m.keys) == 0 {
			continue
		}
		if m.owner != nil {
			m = m.owner
		}
		m.objects++
	}
}

// include appends the part of data that active names; data is a container,
// or active has no leaf and data is dropped by the caller.
func (w *slowProjector) include(dst, data []byte, active []*mask) ([]byte, error) {
	if anyLeaf(active) {
		// Deeper paths are inside what is kept whole, but must be counted.
		if w.plain(active) {
			return jsonscan.AppendMinified(dst, data), nil
		}
		inside := data
		if inner, ok := doc.EnterString(data); ok {
			inside = inner
		}
		if _, err := w.includeParts(nil, inside, active); err != nil {
			return dst, err
		}
		return jsonscan.AppendMinified(dst, data), nil
	}
	return w.includeParts(dst, data, active)
}

// plain reports that no active mask goes deeper.
func (w *slowProjector) plain(active []*mask) bool {
	for _, m := range active {
		if m.each != nil || len(m.keys) > 0 || len(m.index) > 0 {
			return false
		}
	}
	return true
}

func (w *slowProjector) includeParts(dst, data []byte, active []*mask) ([]byte, error) {
	// next reuses scratch by level; active belongs to the level above.
	w.deep++
	defer func() { w.deep-- }()
	add := func(next []*mask, value []byte, prefix []byte) (err error) {
		if len(next) == 0 {
			return w.tick.Err()
		}
		if !jsonscan.IsContainer(value) && !anyLeaf(next) {
			inner, ok := doc.EnterString(value)
			if !ok {
				return w.tick.Err()
			}
			value = inner
		}
		if c := dst[len(dst)-1]; c != '{' && c != '[' {
			dst = append(dst, ',')
		}
		dst = append(dst, prefix...)
		dst, err = w.include(dst, value, next)
		if err == nil {
			err = w.tick.Err()
		}
		return err
	}
	_, err := w.parts(&dst, data, active, add)
	return dst, err
}

// parts appends an object or an array to dst, add appending each of its parts,
// and reports whether data is one.
func (w *slowProjector) parts(dst *[]byte, data []byte, active []*mask, add func(next []*mask, value, prefix []byte) error) (bool, error) {
	switch jsonscan.Kind(data) {
	case '{':
		countObject(active)
		*dst = append(*dst, '{')
		for key, value := range jsonscan.Fields(data) {
			prefix := append(key[:len(key):len(key)], ':')
			if err := add(w.key(active, key), value, prefix); err != nil {
				return true, err
			}
		}
		*dst = append(*dst, '}')
		return true, nil
	case '[':
		*dst = append(*dst, '[')
		for n, value := range jsonscan.Items(data) {
			if err := add(w.element(active, n), value, nil); err != nil {
				return true, err
			}
		}
		*dst = append(*dst, ']')
		return true, nil
	}
	return false, nil
}

// exclude appends data without the parts that active names. A string that
// holds none of them stays as it is.
func (w *slowProjector) exclude(dst, data []byte, active []*mask) ([]byte, error) {
	inner, ok := doc.EnterString(data)
	if !ok {
		return w.excludeParts(dst, data, active)
	}
	start, before := len(dst), w.dropped
	dst, err := w.excludeParts(dst, inner, active)
	if err == nil && w.dropped == before {
		dst = jsonscan.AppendMinified(dst[:start], data)
	}
	return dst, err
}

func (w *slowProjector) excludeParts(dst, data []byte, active []*mask) ([]byte, error) {
	w.deep++
	defer func() { w.deep-- }()
	add := func(next []*mask, value []byte, prefix []byte) (err error) {
		if anyLeaf(next) {
			w.dropped++
			return w.tick.Err()
		}
		if c := dst[len(dst)-1]; c != '{' && c != '[' {
			dst = append(dst, ',')
		}
		dst = append(dst, prefix...)
		if len(next) == 0 {
			dst = jsonscan.AppendMinified(dst, value)
			return w.tick.Err()
		}
		if dst, err = w.exclude(dst, value, next); err == nil {
			err = w.tick.Err()
		}
		return err
	}
	if container, err := w.parts(&dst, data, active, add); container {
		return dst, err
	}
	return jsonscan.AppendMinified(dst, data), nil
}
