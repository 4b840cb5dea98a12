package pipeline

import (
	"bytes"
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
	s := &sheet{budget: budget, left: budget}
	if v.Kind == Text {
		part.Unit = "lines"
		part.Shown, part.Total = s.text(v)
	} else {
		part = s.json(v)
	}
	return s.bytes(), part
}

// A Part says what a preview shows, long items cut in place. For an object that
// is mostly one array, the items are the array's.
type Part struct {
	Shown, Total int
	Unit         string // what they count, as in [Value]
}

// A sheet collects lines while they fit.
type sheet struct {
	lines  []string
	budget int
	left   int
}

// add appends a line if it fits and leaves reserve tokens.
func (s *sheet) add(line string, reserve int) bool {
	n, _ := tokens.Count([]byte(line + "\n"))
	if n > s.left-reserve {
		return false
	}
	s.left -= n
	s.lines = append(s.lines, line)
	return true
}

// bytes joins the lines. Counts of lines need not add up to the count of the
// text, so the sum is checked, and lines go from the middle if it is over.
func (s *sheet) bytes() []byte {
	for {
		b := []byte(strings.Join(s.lines, "\n"))
		if tokens.AtMost(b, s.budget) {
			return b
		}
		if len(s.lines) == 1 {
			return b[:tokens.Prefix(b, s.budget)]
		}
		i := len(s.lines) / 2
		s.lines = append(s.lines[:i], s.lines[i+1:]...)
	}
}

// first adds the line that must be there, cut if need be.
func (s *sheet) first(line string) {
	if !s.add(line, 0) {
		b := []byte(line)
		b = b[:tokens.Prefix(b, s.left)]
		s.lines, s.left = append(s.lines, string(b)), 0
	}
}

func (s *sheet) json(v Value) Part {
	root, err := survey(context.Background(), v, 3)
	if err != nil { // cannot be: nothing ends this context
		return Part{0, v.Total, v.Unit}
	}
	s.first(describeRoot(v, root) + ", " + Comma(len(v.Data)) + " bytes")
	list, base := v, Path(nil)
	sh := root
	if v.Kind == JSON && kindOf(v.Data) == '{' {
		data, at := largestArray(v.Data, nil, 6)
		if 2*len(data) < len(v.Data) {
			shown, total := s.object(v, root)
			return Part{shown, total, v.Unit}
		}
		list, base = counted(JSON, data, nil), at
		sh = shapeAt(root, at)
		s.add(fmt.Sprintf("%s: array of %s", base, plural(list.Total, "items")), 0)
	}
	if sh != nil && sh.items != nil {
		s.shape(base, sh.items)
	}
	if len(base) > 0 {
		s.rest(v, base)
	}
	return Part{s.records(list, base), list.Total, list.Unit}
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
		if s.add(line, s.budget*2/3) {
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
		if !s.add(Path{{Key: name}}.String()+": "+printable([]byte(elide(value, 80))), s.budget/2) {
			return
		}
	}
}

// records shows items from the first on, and the last.
func (s *sheet) records(list Value, base Path) (shown int) {
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
	for _, value := range items(list) {
		last = value
	}
	if last == nil {
		return 0
	}
	end := line(list.Total-1, last)
	reserve, _ := tokens.Count([]byte(end))
	reserve = min(reserve+12, s.left/2)
	for n, value := range items(list) {
		if !s.add(line(n, value), reserve) {
			break
		}
		shown++
	}
	if shown < list.Total && s.left > 12 {
		gap := fmt.Sprintf("… %s left out …", plural(list.Total-shown-1, "items"))
		if mark := len(s.lines); s.add(gap, 0) && s.add(end, 0) {
			return shown + 1
		} else if len(s.lines) > mark {
			s.lines[mark] = fmt.Sprintf("… %s left out …", plural(list.Total-shown, "items"))
		}
	}
	return shown
}

// object shows the members, big ones cut.
func (s *sheet) object(v Value, root *shape) (shown, total int) {
	total = root.members
	limit := max(s.budget*3/max(min(total, 12), 1), 40)
	for key, value := range members(v.Data) {
		line := Path{{Key: unquote(key)}}.String() + ": "
		if len(value) <= limit {
			line += printable(appendMinified(nil, value))
		} else {
			line += printable([]byte(elide(value, limit)))
		}
		if !s.add(clip(line, 4*limit), 10) {
			break
		}
		shown++
	}
	if shown < total {
		s.add(fmt.Sprintf("… %s left out …", plural(total-shown, "fields")), 0)
	}
	return shown, total
}

func (s *sheet) text(v Value) (shown, total int) {
	f := guessFormat(v.Data)
	total = countLines(v.Data)
	s.first(fmt.Sprintf("%s, %s, %s bytes", f.name, plural(total, "lines"), Comma(len(v.Data))))
	if f.heading != nil {
		var b strings.Builder
		if headings(context.Background(), &b, v.Data, f.heading) == nil {
			for line := range strings.Lines(b.String()) {
				if !s.add(strings.TrimSuffix(line, "\n"), s.budget*3/4) {
					break
				}
			}
		}
	}
	if total <= 1 {
		return s.longLine(v.Data), total
	}
	// More lines than this never fit: a line has a token or more.
	head, tail := ends(v.Data, s.left, s.left/2)
	reserve := s.left * 2 / 5
	for _, line := range head {
		if !s.add(showLine(line), reserve) {
			break
		}
		shown++
	}
	mark := len(s.lines)
	if shown == total || !s.add(fmt.Sprintf("… %s lines left out …", Comma(total)), 0) {
		return shown, total
	}
	var last []string
	for i := len(tail) - 1; i >= 0 && shown < total; i-- {
		line := showLine(tail[i])
		n, _ := tokens.Count([]byte(line + "\n"))
		if n > s.left {
			break
		}
		s.left -= n
		last = append(last, line)
		shown++
	}
	s.lines[mark] = fmt.Sprintf("… %s left out …", plural(total-shown, "lines"))
	for i := len(last) - 1; i >= 0; i-- {
		s.lines = append(s.lines, last[i])
	}
	return shown, total
}

// longLine shows both ends of a text that is one line.
func (s *sheet) longLine(data []byte) (shown int) {
	if s.left < 20 || len(data) == 0 {
		return 0
	}
	// The parts are counted again after what is invalid was replaced, which
	// can be longer than it was.
	part := (s.left - 12) / 2
	data = bytes.TrimRight(data, "\r\n")
	head := printable(data[:tokens.Prefix(data, part)])
	n := tokens.Suffix(data, part)
	tail := printable(data[len(data)-n:])
	if s.add(head, 0) {
		s.add(fmt.Sprintf("… %s bytes left out …", Comma(len(data)-len(head)-n)), 0)
		s.add(tail, 0)
	}
	return 1
}
