package quality

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/search"
)

var kinds = []string{"question", "long", "keywords", "name", "inflected", "script"}

// judge reads what is asked of f. A line is one of
//
//	records PATH     first, if any: the units are what is in the array there
//	KIND: TEXT       a question
//	GRADE PLACE SAYS a place that answers it, and what stands there
//
// and blank ones do not count. PLACE|PLACE is one place that has two ends, such as
// the same text twice: one of them is enough.
func (f *File) judge(list string) error {
	records := ""
	for n, line := range strings.Split(list, "\n") {
		if path, ok := strings.CutPrefix(line, "records "); ok {
			records = path
			continue
		}
		if err := f.judgeLine(line); err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	for _, q := range f.Questions {
		if !slices.ContainsFunc(q.Places, func(p Place) bool { return p.Grade == 2 }) {
			return fmt.Errorf("%q: no answer", q.Text)
		}
	}
	return f.divide(records)
}

func (f *File) judgeLine(line string) error {
	if line == "" {
		return nil
	}
	if kind, text, ok := strings.Cut(line, ": "); ok && slices.Contains(kinds, kind) {
		f.Questions = append(f.Questions, Question{Kind: kind, Text: text})
		return nil
	}
	grade, rest, _ := strings.Cut(line, " ")
	place, says, _ := strings.Cut(rest, " ")
	if strings.HasPrefix(place, "[") || strings.HasPrefix(place, ".") {
		// A key may have blanks; the path ends with its last bracket or before one.
		if i := strings.LastIndex(rest, `"]`); i >= 0 {
			after, text, _ := strings.Cut(rest[i:], " ")
			place, says = rest[:i]+after, text
		}
	}
	var spans []search.Span
	said := false
	for alternative := range strings.SplitSeq(place, "|") {
		span, err := f.At(alternative)
		if err != nil {
			return err
		}
		spans = append(spans, span)
		said = said || bytes.Contains(f.Text[span.Start:span.End], []byte(says))
	}
	switch {
	case grade != "1" && grade != "2":
		return fmt.Errorf("%q is no grade", grade)
	case len(f.Questions) == 0:
		return fmt.Errorf("%s answers no question", place)
	case says == "" || !said:
		return fmt.Errorf("%s does not say %q", place, says)
	}
	q := &f.Questions[len(f.Questions)-1]
	q.Places = append(q.Places, Place{spans, int(grade[0] - '0')})
	return nil
}
