package preview

import (
	"bytes"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
)

// Of the records, which little is read of, stand in a preview the first, those that
// stand out, and of a table the last; each in recordBytes at most.
const (
	maxOdd      = 3
	recordBytes = 300
	wholeValue  = 80 // bytes of a field that is not cut
)

// records shows the first record, the last and those that stand out.
func (s *layout) records(l schema.List) {
	wanted := map[int]schema.Outlier{0: {}}
	order := []int{0}
	add := func(o schema.Outlier) {
		if was, twice := wanted[o.N]; !twice {
			order = append(order, o.N)
		} else if was.Why != "" {
			return
		}
		wanted[o.N] = o
	}
	odd := schema.Outliers(l, rankedBy(l.Elem))
	for _, o := range odd[:min(len(odd), maxOdd)] {
		add(o)
	}
	if l.Row != nil && l.N > 1 {
		add(schema.Outlier{N: l.N - 1})
	}
	lines := map[int]string{}
	last := slices.Max(order)
	n := -1
	for at, value := range l.All() {
		if n++; n > last {
			break
		}
		o, ok := wanted[n]
		if !ok {
			continue
		}
		text := ""
		if l.Row != nil {
			text = l.Row(value, recordBytes)
		} else if text, ok = brief(value, l.Elem); !ok && o.Why == "" {
			continue
		}
		if o.Why != "" {
			o.Why = " (" + o.Why + ")"
		}
		lines[n] = show.Clip(l.At.With(at).String(), 200) + o.Why + " " + text
	}
	for _, n := range order {
		if text, ok := lines[n]; ok {
			s.item(n, text, 0) // a long one is passed over; the next may fit
		}
	}
	if l.ItemUnit() == "fields" {
		s.keys(l)
	}
}

// brief writes a record in about recordBytes: whole, if it is short, else its short
// fields, those of the objects in it last, without what is the same in all records. It reports whether
// that is much of the record.
func brief(value []byte, elem *schema.Node) (text string, much bool) {
	if len(value) <= recordBytes {
		return show.Printable(jsonscan.AppendMinified(nil, value)), true
	}
	if jsonscan.Kind(value) != '{' {
		return show.Printable(show.Elide(value, recordBytes)), true
	}
	var b strings.Builder
	left, shown := 0, 0
	write := func(object []byte, node *schema.Node, prefix string, depth int) {
		for key, field := range jsonscan.Fields(object) {
			name := jsonscan.Unquote(key)
			var of *schema.Node
			if node != nil && node.ByName[name] != nil {
				of = node.ByName[name].Node
			}
			container := len(field) > 2 && jsonscan.IsContainer(field)
			if container && depth == 0 || string(field) == "null" || of != nil && of.Dull() {
				continue
			}
			text := show.Clip(show.Printable(prefix+name), 60) + ": " + show.Printable(show.Elide(field, wholeValue-20))
			if container || len(field) > wholeValue && prefix != "" || b.Len()+len(text) > recordBytes {
				left++
				continue
			}
			if shown++; b.Len() > 0 {
				b.WriteString(", ")
			}
			b.WriteString(text)
		}
	}
	write(value, elem, "", 0)
	for key, field := range jsonscan.Fields(value) {
		if f := elem; f != nil && jsonscan.Kind(field) == '{' && b.Len() < recordBytes {
			name := jsonscan.Unquote(key)
			if f = nil; elem.ByName[name] != nil {
				f = elem.ByName[name].Node
			}
			write(field, f, name+".", 1)
		}
	}
	if left > 0 {
		b.WriteString(", …")
	}
	return "{" + b.String() + "}", shown >= 3
}

// maxKeyBytes of the keys of a map are listed.
const maxKeyBytes = 500

// keys lists the keys of a map.
func (s *layout) keys(l schema.List) {
	var line []byte
	n := 0
	for step := range l.All() {
		key := jsonscan.AppendQuote(nil, show.Clip(step.Key, 100))
		if n++; len(line)+len(key) > min(3*s.left, maxKeyBytes) {
			break
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(line, key...)
	}
	for room := len(line); room > 100; room = room * 3 / 4 {
		end := bytes.LastIndexByte(line[:room], ' ')
		if end < 0 || s.note("keys: "+string(line[:end])+" …", 0) {
			return
		}
	}
}
