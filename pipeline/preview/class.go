package preview

import (
	"context"
	"slices"
	"strings"

	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/doc"
)

// Classes are what [Class] returns, "" aside.
var Classes = []string{"source", "markdown", "config", "diff", "prose", "matches", "html", "table", "log", "json"}

// Class is the class of a document, or "" if that is not sure: "json", or that of a text
// as package digest tells it.
func Class(v doc.Value) string {
	if v.Kind != doc.Text {
		return "json"
	}
	return digest.Class(v.Data)
}

// InOrder reports whether documents of a class are read from the first line on, so that a
// part of one is best its first page.
func InOrder(class string) bool {
	return slices.Contains([]string{"source", "markdown", "config", "diff", "prose", "matches"}, class)
}

// Rest describes what is in a text from a line on, counted from 0, in at most budget
// tokens: its kind, and the lines of its outline.
func Rest(v doc.Value, line, budget int) []byte {
	d, err := digestOf(context.Background(), v)
	if err != nil { // cannot be: nothing ends this context
		return nil
	}
	s := newLayout(budget, doc.CountLines(v.Data))
	s.first(firstOf(d, v))
	for _, p := range d.Parts {
		before := len(p.Rows)
		p.Rows = slices.DeleteFunc(slices.Clone(p.Rows), func(r digest.Row) bool { return r.N >= 0 && r.N < line })
		if gone := before - len(p.Rows); gone > 0 {
			p.Total -= gone
			what, more, _ := strings.Cut(p.Title, ",")
			p.Title = strings.TrimSuffix(what+" that follow,"+more, ",")
		}
		s.part(&p, s.left, before)
	}
	return s.bytes()
}
