package pipeline

import (
	"context"
	"fmt"
	"strings"

	"rlmproxy/pipeline/tokens"
)

// Preview shows as much of v as budget tokens hold, never more: of JSON its
// shape, the first records and the last, of text its format, what stands
// out, head and tail. What was left out is told where it was.
//
// A document within the budget is shown whole, JSON minified. A budget too
// small for a line gets the begin of one.
func Preview(v Value, budget int) (text []byte, part Part) {
	if budget <= 0 {
		return nil, Part{0, v.Total, v.Unit}
	}
	if whole, ok := Lossless(v, budget); ok && whole.Kind == v.Kind {
		// U+FFFD for what is invalid can take more tokens than that did.
		if text := []byte(printable(whole.Data)); tokens.AtMost(text, budget) {
			return text, Part{v.Items, v.Total, v.Unit}
		}
	}
	s := newSheet(budget, v.Total)
	unit := v.Unit
	if v.Kind == Text {
		s.total, unit = countLines(v.Data), "lines"
		s.text(v)
	} else {
		unit = s.json(v)
	}
	text = s.bytes()
	return text, Part{s.items(), s.total, unit}
}

// A Part says what a preview shows, long items cut in place. For an object that
// is mostly one array, the items are the array's.
type Part struct {
	Shown, Total int
	Unit         string // what they count, as in [Value]
}

// json fills s and says what its items are.
func (s *sheet) json(v Value) (unit string) {
	root, err := survey(context.Background(), v, 3)
	if err != nil { // cannot be: nothing ends this context
		return v.Unit
	}
	s.first(describeRoot(v, root) + ", " + Comma(len(v.Data)) + " bytes")
	list, base := v, Path(nil)
	sh := root
	if v.Kind == JSON && kindOf(v.Data) == '{' {
		data, at := largestArray(v.Data, nil, 6)
		if 2*len(data) < len(v.Data) {
			s.object(v, root)
			return v.Unit
		}
		list, base = counted(JSON, data, nil), at
		sh = shapeAt(root, at)
		s.note(fmt.Sprintf("%s: array of %s", base, plural(list.Total, "items")), 0)
	}
	if sh != nil && sh.items != nil {
		s.shape(base, sh.items)
	}
	if len(base) > 0 {
		s.rest(v, base)
	}
	s.total = list.Total
	s.records(list, base)
	return list.Unit
}

// shapeAt follows keys.
func shapeAt(sh *shape, at Path) *shape {
	for _, step := range at {
		f := sh.byName[step.Key]
		if f == nil {
			return nil
		}
		sh = f.shape
	}
	return sh
}

// shape tells the fields of the records on one line, in at most a third of
// the budget.
func (s *sheet) shape(base Path, sh *shape) {
	var parts []string
	at := base.with(Step{Kind: StepEach})
	sh.walk(at, func(p Path, field, parent *shape) {
		if len(parts) < 60 {
			name := Path(p[len(at):]).String()
			parts = append(parts, clip(name, 60)+": "+describe(p, field, parent))
		}
	})
	for n := len(parts); n > 0; n = n * 3 / 4 {
		line := "each: " + strings.Join(parts[:n], "; ")
		if n < len(parts) {
			line += fmt.Sprintf("; …+%d", len(parts)-n)
		}
		if s.note(line, s.budget*2/3) {
			return
		}
	}
}

// rest shows the members beside the array at base.
func (s *sheet) rest(v Value, base Path) {
	for key, value := range members(v.Data) {
		name := unquote(key)
		if name == base[0].Key {
			continue
		}
		if !s.note(Path{{Key: name}}.String()+": "+printable([]byte(elide(value, 80))), s.budget/2) {
			return
		}
	}
}

// records shows the first item, the last, and more from the first on.
func (s *sheet) records(list Value, base Path) {
	limit := max(s.budget*3/4, 60) // bytes, about a quarter of the budget
	line := func(n int, value []byte) string {
		at := base.with(Step{Kind: StepIndex, Index: n}).String()
		if len(value) <= limit {
			value = appendMinified(nil, value)
		} else {
			value = []byte(elide(value, limit))
		}
		return at + " " + printable(value)
	}
	var last []byte
	for n, value := range items(list) {
		if n == 0 && !s.item(0, line(0, value), 0) {
			return
		}
		last = value
	}
	if last == nil || !s.item(list.Total-1, line(list.Total-1, last), 0) {
		return
	}
	for n, value := range items(list) {
		if !s.item(n, line(n, value), 0) {
			return
		}
	}
}

// object shows the members, big ones cut.
func (s *sheet) object(v Value, root *shape) {
	limit := max(s.budget*3/max(min(root.members, 12), 1), 40)
	n := 0
	for key, value := range members(v.Data) {
		line := Path{{Key: unquote(key)}}.String() + ": "
		if len(value) <= limit {
			line += printable(appendMinified(nil, value))
		} else {
			line += printable([]byte(elide(value, limit)))
		}
		if !s.item(n, clip(line, 4*limit), 0) {
			return
		}
		n++
	}
}
