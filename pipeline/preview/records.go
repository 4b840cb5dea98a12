package preview

import (
	"bytes"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
)

// records shows the first record, the last, those that stand out, and then
// more from the first on.
func (s *layout) records(l schema.List) {
	room := s.left
	line := func(n int, at doc.Step, value []byte, why string, limit int) string {
		if why != "" {
			why = " (" + why + ")"
		}
		label := show.Clip(l.At.With(at).String(), 200) + why + " "
		switch {
		case l.Row != nil:
			return label + l.Row(value, limit)
		case len(value) <= limit:
			value = jsonscan.AppendMinified(nil, value)
		default:
			value = []byte(show.Elide(value, limit))
		}
		return label + show.Printable(value)
	}
	// A token is three to four bytes: the first record gets a third of the
	// room, the others less.
	first, other := max(room, 60), max(room*2/3, 40)

	odd := schema.Outliers(l)
	wanted := map[int]schema.Outlier{0: {}, l.N - 1: {N: l.N - 1}}
	order := []int{0, l.N - 1}
	most, fillers := 12, fillers
	if l.InOnly { // their paths are long
		most, fillers, order = 1, 0, order[:1]
	}
	for _, o := range odd[:min(len(odd), most)] {
		if was, twice := wanted[o.N]; twice && was.Why != "" {
			continue
		} else if !twice {
			order = append(order, o.N)
		}
		wanted[o.N] = o
	}
	lines := map[int]string{}
	last := slices.Max(order)
	n := -1
	for at, value := range l.All() {
		if n++; n > last {
			break
		}
		if o, ok := wanted[n]; ok {
			limit := other
			if n == 0 {
				limit = first
			}
			lines[n] = line(n, at, value, o.Why, limit)
		}
	}
	for i, n := range order {
		// A long one is passed over; the next may fit.
		if text, ok := lines[n]; !ok || !s.item(n, text, 0) && i == 0 {
			return
		}
	}
	if l.ItemUnit() == "fields" {
		s.keys(l)
		return
	}
	more, misses := 0, 0
	n = -1
	for at, value := range l.All() {
		if n++; more == fillers || misses == 3 {
			return
		}
		if _, ok := wanted[n]; ok {
			continue
		} else if s.item(n, line(n, at, value, "", other), 0) {
			more++
		} else {
			misses++
		}
	}
}

// fillers are the records shown after those that have a reason: enough to see
// what is usual. More of them say little, and an agent pays for each.
const fillers = 3

// keys lists the keys of a map.
func (s *layout) keys(l schema.List) {
	var line []byte
	n := 0
	for step := range l.All() {
		key := jsonscan.AppendQuote(nil, show.Clip(step.Key, 100))
		if n++; len(line)+len(key) > 3*s.left {
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

// members tells an object that is no list: its paths, and of the larger parts
// the first record.
func (s *layout) members(v doc.Value, root *schema.Node) {
	s.paths(root, s.left*3/4)
	n := 0
	for key, value := range jsonscan.Fields(v.Data) {
		line := show.Clip(doc.Path{{Key: jsonscan.Unquote(key)}}.String(), 200)
		if jsonscan.IsContainer(value) && !s.item(n, line+" "+show.Printable(show.Elide(value, max(s.left, 60))), 0) {
			return
		}
		n++
	}
}
