package search

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// A Unit is what [Expand] shows around a hit.
type Unit string

const (
	// Paragraph is the lines around a hit up to the nearest blank ones.
	Paragraph Unit = "paragraph"
	// Section is the Markdown section, its subsections included. In a text
	// without headings it is the paragraph.
	Section Unit = "section"
	// Sentence ends at a full stop, or where the next line begins something
	// else than a word.
	Sentence Unit = "sentence"
	// Lines is a number of lines before and after.
	Lines Unit = "lines"
)

var units = []Unit{Paragraph, Section, Sentence, Lines}

// ParseUnit returns the unit with that name. The empty name is Paragraph.
func ParseUnit(name string) (Unit, error) {
	if name == "" {
		return Paragraph, nil
	}
	if slices.Contains(units, Unit(name)) {
		return Unit(name), nil
	}
	return "", fmt.Errorf("unit %q is not one of paragraph, section, sentence, lines", preview(name, 40))
}

// Expand returns the units around hits, in document order. Overlapping ones
// are merged, and so are adjoining lines; each hit lies in one of them. A
// hit that reaches over several units gets them all. Spans leave out blanks
// and newlines at their end.
//
// For [Lines], lines is how many to show before and after; it is ignored
// otherwise. Hits outside of text are moved to its nearest end. The text is
// read once, however many hits there are.
func Expand(text []byte, hits []Hit, unit Unit, lines int) []Span {
	sorted := make([]Span, len(hits))
	for i, h := range hits {
		sorted[i] = h.Span.clamp(len(text))
	}
	slices.SortFunc(sorted, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	around := unitFinder(text, unit, max(lines, 0))
	var spans []Span
	read := 0 // end of the last unit, blanks included
	for _, hit := range sorted {
		n := len(spans)
		if n > 0 && hit.End <= read {
			spans[n-1].End = max(spans[n-1].End, hit.End)
			continue
		}
		whole := around(hit, read)
		sp := Span{min(whole.Start, hit.Start), hit.End}
		if whole.End > hit.End {
			sp.End += len(bytes.TrimRight(text[hit.End:whole.End], " \t\r\n"))
		}
		switch {
		case n == 0:
			spans = append(spans, sp)
		case sp.Start < spans[n-1].End, unit == Lines && adjoin(text[spans[n-1].End:sp.Start]):
			spans[n-1].End = max(spans[n-1].End, sp.End)
		default:
			spans = append(spans, sp)
		}
		read = max(sp.End, whole.End)
	}
	return spans
}

// adjoin reports whether lines with gap between them are neighbours.
func adjoin(gap []byte) bool {
	return bytes.Count(gap, newline) == 1 && isBlank(gap)
}

// unitFinder returns a function from a hit to the units around it. The text
// before floor has been read; a unit that begins there may be given as
// beginning at floor.
func unitFinder(text []byte, unit Unit, lines int) func(hit Span, floor int) Span {
	switch unit {
	case Section:
		if s := newSections(text); s != nil {
			return s.around
		}
	case Sentence:
		return func(hit Span, floor int) Span { return sentences(text, hit, floor) }
	case Lines:
		table := NewLineTable(text)
		return func(hit Span, _ int) Span {
			first := table.Line(hit.Start)
			last := table.Line(max(hit.Start, hit.End-1))
			before := min(lines, first-1)
			after := min(lines, table.Len())
			return Span{table.Span(first - before).Start, table.Span(min(last+after, max(1, table.Len()))).End}
		}
	}
	return func(hit Span, floor int) Span { return paragraphs(text, hit, floor) }
}

// paragraphs returns the lines around hit up to blank ones.
func paragraphs(text []byte, hit Span, floor int) Span {
	start := lineStart(text, hit.Start, floor)
	for blank := isBlank(text[start:lineEnd(text, start)]); !blank && start > floor; {
		above := lineStart(text, start-1, floor)
		if blank = isBlank(text[above:start]); !blank {
			start = above
		}
	}
	end := lineEnd(text, max(hit.Start, hit.End-1))
	for blank := isBlank(text[lineStart(text, end, start):end]); !blank && end < len(text); {
		below := lineEnd(text, end+1)
		if blank = isBlank(text[end+1 : below]); !blank {
			end = below
		}
	}
	return Span{start, end}
}
