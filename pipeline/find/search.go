// Package find searches a document and prints what it finds as grep does.
//
//	document ──► view: the text to look in ──► package search ──► hits ──► records, lines
//	         └─► units: records, rows, passages ──► BM25 ──► the best units
//
// A hit comes with what it belongs to: in JSON its record, in a log its entry, in a log
// of commits its commit and file.
package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/search"
)

// Search finds places in a document and prints them as grep does. It is a
// stage; what comes out is text.
//
//	regex    RE2, matched line by line; first matches first
//	paths    the same, but only where: paths, files or lines, counted
//	bm25     records, rows, entries or passages ranked by the words of the
//	         pattern, best first, with what of them matched
//	fuzzy    words spelt like the pattern, best first
//	context  regex, each match with the paragraph, section, … around it
//
// JSON is searched as indented text, one value a line. Ranked are objects in arrays and
// the values of objects; what is too large to be one hit is divided further.
type Search struct {
	Pattern         string
	Mode            string  // "regex", "paths", "bm25", "fuzzy" or "context"; empty means "regex"
	Offset          int     // hits passed over
	MaxResults      int     // hits shown; 0 means TopK
	TopK            int     // the same, and the first to count for bm25; 0 means 5 for bm25, else 20
	ContextLines    int     // lines of text around each hit
	CaseInsensitive bool    // regex, paths and context; the others always are
	Threshold       float64 // least similarity for fuzzy, up to 1; 0 means 0.7
	ContextType     string  // "paragraph", "section", "sentence", "lines" or "record"; makes of regex a context

	// Fits reports whether an answer is short enough. Of one that is not, fewer hits
	// are shown. Nil takes any.
	Fits func(answer []byte) bool
}

const (
	defaultMaxResults = 20
	defaultTopK       = 5
	defaultThreshold  = 0.7
	maxMaxResults     = 10_000
	maxOffset         = 100_000
	maxContextLines   = 1000
)

func (s *Search) String() string {
	return fmt.Sprintf("search mode=%s pattern=%q", s.Mode, show.Clip(s.Pattern, 200))
}

// Check is a [*doc.Error] for a pattern or a setting that cannot be used. It compiles
// the pattern, which is done again for each document: less than a millisecond, but for
// patterns of many large classes.
func (s *Search) Check() error {
	q := *s
	err := q.defaults()
	if err != nil {
		return err
	}
	switch q.Mode {
	case "regex", "paths", "context":
		_, err = search.Regex(context.Background(), nil, q.Pattern, search.RegexOptions{})
	case "fuzzy":
		_, _, err = search.Fuzzy(context.Background(), nil, q.Pattern, search.FuzzyOptions{Threshold: q.Threshold})
	}
	if err != nil {
		return q.explain(err)
	}
	return nil
}

// Apply is a [*doc.Error] for a pattern or a setting that cannot be used. A
// pattern that is nowhere is an answer that says what to try.
func (s *Search) Apply(ctx context.Context, in doc.Value) (doc.Value, error) {
	q := *s
	if err := q.defaults(); err != nil {
		return doc.Value{}, err
	}
	var (
		out doc.Value
		err error
	)
	if q.Mode == "bm25" {
		out, err = q.ranked(ctx, in)
	} else {
		out, err = q.matches(ctx, in)
	}
	if err != nil {
		return doc.Value{}, q.explain(err)
	}
	note := out.Note
	out.Note = in.Note
	out.AddNote(note)
	return out, nil
}

// defaults fills in what is zero and refuses what makes no sense, or has no effect.
func (s *Search) defaults() error {
	threshold := s.Threshold != 0 && s.Threshold != defaultThreshold // a client may send the default along
	switch s.Mode {
	case "":
		if s.Mode = "regex"; threshold {
			s.Mode = "fuzzy"
		}
	case "regex", "paths", "bm25", "fuzzy", "context":
	default:
		return doc.Invalid(`"mode" is regex, paths, bm25, fuzzy or context`, "unknown mode %s", show.Quote(show.Clip(s.Mode, 40)))
	}
	if s.Pattern == "" {
		return doc.Invalid(`e.g. "pattern":"error|timeout"`, "pattern is empty")
	}
	for _, n := range []struct {
		name       string
		value, max int
	}{
		{"max_results", s.MaxResults, maxMaxResults},
		{"top_k", s.TopK, maxMaxResults},
		{"offset", s.Offset, maxOffset},
		{"context_lines", s.ContextLines, maxContextLines},
	} {
		if n.value < 0 || n.value > n.max {
			return doc.Invalid("", "%s is %d; it must be 0 to %s", n.name, n.value, show.Count(n.max))
		}
	}
	if s.Mode == "bm25" {
		s.MaxResults = cmp.Or(s.TopK, s.MaxResults, defaultTopK)
	} else {
		s.MaxResults = cmp.Or(s.MaxResults, s.TopK, defaultMaxResults)
	}
	if _, err := search.ParseUnit(s.ContextType); err != nil && s.ContextType != "record" {
		return doc.Invalid(`"context_type" is paragraph, section, sentence, lines or record`, "unknown context_type %s", show.Quote(show.Clip(s.ContextType, 40)))
	}
	switch {
	case s.ContextType != "" && s.Mode == "regex":
		s.Mode = "context"
	case s.ContextType != "" && (s.Mode == "bm25" || s.Mode == "paths"):
		return doc.Invalid(`leave it out, or "mode":"context" with a regex`, "context_type has no effect with mode %s", s.Mode)
	case s.ContextLines > 0 && s.Mode == "paths":
		return doc.Invalid(`leave it out, or "mode":"regex"`, "context_lines has no effect with mode paths, which shows no text")
	case threshold && s.Mode != "fuzzy":
		return doc.Invalid(`leave it out, or "mode":"fuzzy"`, "threshold has no effect with mode %s", s.Mode)
	case s.Mode == "context" && s.ContextType == "" && s.ContextLines > 0:
		s.ContextType = "lines" // whoever says how many means them
	}
	return nil
}

// explain turns errors of package search into those for the agent.
func (s *Search) explain(err error) error {
	var pe *search.PatternError
	switch {
	case errors.As(err, &pe):
		e := &doc.Error{Code: doc.BadPattern, Text: show.Clip(strings.ToValidUTF8(err.Error(), "�"), 400), Err: err,
			Hint: `patterns are RE2: no lookaround, no backreferences; escape \( \[ \. \* for the characters; "mode":"fuzzy" takes plain words`}
		return e
	case errors.Is(err, search.ErrThreshold):
		return &doc.Error{Code: doc.BadArguments, Text: fmt.Sprintf("threshold is %v; it must be 0 to 1", s.Threshold), Hint: `e.g. "threshold":0.7`, Err: err}
	case errors.Is(err, search.ErrNoQuery), errors.Is(err, search.ErrLongQuery):
		return &doc.Error{Code: doc.BadPattern, Text: "pattern " + show.Quote(show.Clip(s.Pattern, 60)) + ": " + err.Error(),
			Hint: `"mode":"regex" takes any characters`, Err: err}
	}
	return doc.AsLimit(err)
}

// matches serves all modes but bm25.
func (s *Search) matches(ctx context.Context, in doc.Value) (doc.Value, error) {
	view, err := viewOf(ctx, in)
	if err != nil {
		return doc.Value{}, err
	}
	limit := s.Offset + s.MaxResults
	if s.Mode == "paths" {
		limit = maxOffset // each counts
	}
	var m search.Matches
	how := ""
	if s.Mode == "fuzzy" {
		m.Hits, m.Total, err = search.Fuzzy(ctx, view.text, s.Pattern, search.FuzzyOptions{Threshold: s.Threshold, Limit: limit})
		how = " by similarity"
	} else {
		m, err = search.Regex(ctx, view.text, s.Pattern, search.RegexOptions{CaseInsensitive: s.CaseInsensitive, Limit: limit})
		if !view.isJSON {
			how = " on " + show.Plural(m.Lines, "lines")
		}
	}
	if err != nil {
		return doc.Value{}, err
	}
	out := doc.Value{Kind: doc.Text, Unit: "matches", Total: m.Total}
	if m.Total == 0 {
		out.Data = s.nothing(ctx, view.text)
		return out, nil
	}
	head := show.Plural(m.Total, "matches") + how
	if s.Mode == "paths" {
		list, unit, err := tallies(ctx, view, m.Hits)
		if err != nil {
			return doc.Value{}, err
		}
		if len(m.Hits) < m.Total {
			head += fmt.Sprintf(", the first %s of them", show.Count(len(m.Hits)))
		}
		head += " in " + show.Plural(len(list), unit)
		rest := list[min(s.Offset, len(list)):]
		n := len(rest)
		if unit != "places" {
			n = min(n, s.MaxResults)
		}
		out.Total = len(list)
		out.Items, out.Data, err = s.fitting(n, len(list), shown(head), func(n int) (string, error) { return printTallies(rest[:n], unit), nil })
		return out, err
	}
	hits := m.Hits[min(s.Offset, len(m.Hits)):]
	out.Items, out.Data, err = s.fitting(len(hits), m.Total, shown(head), func(n int) (string, error) { return s.print(ctx, in, view, hits[:n]) })
	return out, err
}

// shown is head and how much of it is shown.
func shown(head string) func(n int) string {
	return func(n int) string { return head + ", " + show.Count(n) + " shown" }
}

// fitting prints n hits below a first line, or as many of them as fit, and says where the
// rest begins.
func (s *Search) fitting(n, total int, head func(n int) string, print func(n int) (string, error)) (int, []byte, error) {
	for ; ; n = n * 2 / 3 {
		first := head(n)
		if s.Offset > 0 {
			first += fmt.Sprintf(" from offset %d", s.Offset)
		}
		if next := s.Offset + n; n > 0 && next < total {
			first += fmt.Sprintf(" · next offset %d", next)
		}
		body, err := print(n)
		if err != nil {
			return 0, nil, err
		}
		if answer := []byte(first + "\n" + body); n <= 1 || s.Fits == nil || s.Fits(answer) {
			return n, answer, nil
		}
	}
}

// print writes hits with what belongs to each.
func (s *Search) print(ctx context.Context, in doc.Value, view *view, hits []search.Hit) (string, error) {
	asLines := s.ContextType == "lines" || s.ContextType == "" && s.ContextLines > 0
	if view.isJSON && !asLines {
		return s.records(ctx, view, hits)
	}
	p := newPrinter(view, hits)
	switch {
	case s.ContextType != "" || s.Mode == "context":
		spans, err := s.contexts(ctx, in, view, hits)
		if err != nil {
			return "", err
		}
		around := s.ContextLines
		if s.ContextType == "lines" {
			around = 0 // they are in the spans
		}
		p.spans(spans, around)
	case s.Mode == "fuzzy":
		p.best(s.ContextLines)
	default:
		p.inOrder(s.ContextLines)
	}
	return p.b.String(), nil
}

// nothing says that there is no match, and what comes near.
func (s *Search) nothing(ctx context.Context, text []byte) []byte {
	msg := fmt.Sprintf("0 matches for %s in %s bytes\n", show.Quote(show.Clip(s.Pattern, 80)), show.Count(len(text)))
	if s.Mode == "fuzzy" {
		return []byte(msg + `try a lower "threshold", or "mode":"bm25" with several words` + "\n")
	}
	// The letters of the pattern may be a misspelt word of the text.
	hits, _, err := search.Fuzzy(ctx, text, s.Pattern, search.FuzzyOptions{Threshold: 0.6, Limit: 20})
	if err == nil {
		var near []string
		seen := map[string]bool{}
		for _, h := range hits {
			if word := show.Clip(strings.ToValidUTF8(string(text[h.Start:h.End]), "�"), 60); !seen[word] && len(near) < 5 {
				seen[word] = true
				near = append(near, fmt.Sprintf("%q", word))
			}
		}
		if len(near) > 0 {
			return []byte(msg + "nearest: " + strings.Join(near, ", ") + "\n")
		}
	}
	try := `try "case_insensitive":true, or "mode":"bm25" with several words`
	if s.CaseInsensitive {
		try = `try "mode":"bm25" with several words`
	}
	return []byte(msg + try + "\n")
}
