package find

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/search"
)

// A tally counts the hits in one place.
type tally struct {
	of    string
	first string // where the first of them is
	count int
}

// tallies count hits by where they are, the most first: by path, [] standing for any
// index; in a diff by file, in a log of commits by commit; in other texts by line.
func tallies(ctx context.Context, w *view, hits []search.Hit) (list []*tally, unit string, err error) {
	seen := map[string]*tally{}
	add := func(of, first string) {
		t := seen[of]
		if t == nil {
			t = &tally{of: of, first: first}
			seen[of], list = t, append(list, t)
		}
		t.count++
	}
	if w.isJSON {
		tick := doc.Ticker{Ctx: ctx}
		visitPlaces(w.text, hits, w.many, func(_ int, p place) bool {
			first := shortPath(p.path)
			every := slices.Clone(p.path[:min(len(p.path), maxPath)])
			for i := range every {
				if every[i].Kind == doc.StepIndex {
					every[i] = doc.Step{Kind: doc.StepEach}
				}
			}
			add(cmp.Or(shortPath(every), topLevel), cmp.Or(first, topLevel))
			err = tick.ErrFor(100 * len(p.path))
			return err == nil
		})
		unit = "paths"
	} else if h := historyOf(w); h != nil {
		for _, hit := range hits {
			h.to(w.lines.Span(hit.Line).End)
			add(show.Clip(show.Printable(cmp.Or(h.file, h.commit)), maxPath), fmt.Sprintf("line %d", hit.Line))
		}
		unit = "files"
	} else {
		return lineRanges(hits), "places", nil
	}
	slices.SortStableFunc(list, func(a, b *tally) int { return cmp.Compare(b.count, a.count) })
	return list, unit, err
}

// lineRanges are the lines of hits, which are in order, neighbours as one.
func lineRanges(hits []search.Hit) (list []*tally) {
	for i := 0; i < len(hits); {
		from, to := hits[i].Line, hits[i].Line
		t := &tally{}
		for ; i < len(hits) && hits[i].Line <= to+1; i++ {
			to = hits[i].Line
			t.count++
		}
		if t.of = strconv.Itoa(from); to > from {
			t.of += "–" + strconv.Itoa(to)
		}
		list = append(list, t)
	}
	return list
}

// printTallies writes one a line, and lines of a text on one line.
func printTallies(list []*tally, unit string) string {
	var b strings.Builder
	for i, t := range list {
		switch {
		case unit == "places" && i == 0:
			b.WriteString("lines " + t.of)
		case unit == "places":
			b.WriteString(", " + t.of)
		case t.first == t.of:
			fmt.Fprintf(&b, "%s× %s\n", show.Count(t.count), t.of)
		default:
			fmt.Fprintf(&b, "%s× %s, first %s\n", show.Count(t.count), t.of, t.first)
		}
	}
	return b.String()
}
