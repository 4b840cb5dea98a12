// Package find searches a document and prints what it finds as grep does.
//
//	document ──► view: the text to look in ──► package search ──► hits ──► printed lines
//	         └─► units: records, rows, passages ──► BM25 ──► the best units
//
// Hits in JSON tell their paths.
package find

import (
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
//	bm25     records, rows, entries or passages ranked by the words of the
//	         pattern, best first, with what of them matched
//	fuzzy    words spelt like the pattern, best first
//	context  regex, each match with the paragraph, section, … around it
//
// JSON is searched as indented text, one value a line, and each hit tells
// its path. Ranked are objects in arrays and the values of objects; what is too
// large to be one hit is divided further.
type Search struct {
	Pattern         string
	Mode            string  // "regex", "bm25", "fuzzy" or "context"; empty means "regex"
	MaxResults      int     // hits shown; 0 means 20
	ContextLines    int     // lines of text around each hit
	CaseInsensitive bool    // regex and context
	Threshold       float64 // least similarity for fuzzy, up to 1; 0 means 0.7
	TopK            int     // passages shown by bm25; 0 means 5
	ContextType     string  // "paragraph", "section", "sentence", "lines" or "record"; empty means "paragraph"
}

const (
	defaultMaxResults = 20
	defaultTopK       = 5
	maxMaxResults     = 10_000
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
	case "regex", "context":
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
	if in.Note != "" {
		out.Note = in.Note
	}
	return out, nil
}

// defaults fills in what is zero and refuses what makes no sense.
func (s *Search) defaults() error {
	switch s.Mode {
	case "":
		s.Mode = "regex"
	case "regex", "bm25", "fuzzy", "context":
	default:
		return doc.Invalid(`"mode" is regex, bm25, fuzzy or context`, "unknown mode %s", show.Quote(show.Clip(s.Mode, 40)))
	}
	if s.Pattern == "" {
		return doc.Invalid(`e.g. "pattern":"error|timeout"`, "pattern is empty")
	}
	for _, n := range []struct {
		name  string
		value *int
		zero  int
		max   int
	}{
		{"max_results", &s.MaxResults, defaultMaxResults, maxMaxResults},
		{"top_k", &s.TopK, defaultTopK, maxMaxResults},
		{"context_lines", &s.ContextLines, 0, maxContextLines},
	} {
		if *n.value < 0 || *n.value > n.max {
			return doc.Invalid("", "%s %d; it is 0 to %s", n.name, *n.value, show.Count(n.max))
		}
		if *n.value == 0 {
			*n.value = n.zero
		}
	}
	if s.Mode == "context" && s.ContextType == "" && s.ContextLines > 0 {
		s.ContextType = "lines" // whoever says how many means them
	}
	if _, err := search.ParseUnit(s.ContextType); err != nil && s.ContextType != "record" {
		return doc.Invalid(`"context_type" is paragraph, section, sentence, lines or record`, "unknown context_type %s", show.Quote(show.Clip(s.ContextType, 40)))
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
		return &doc.Error{Code: doc.BadArguments, Text: fmt.Sprintf("threshold %v: %v", s.Threshold, err), Hint: `e.g. "threshold":0.7`, Err: err}
	case errors.Is(err, search.ErrNoQuery), errors.Is(err, search.ErrLongQuery):
		return &doc.Error{Code: doc.BadPattern, Text: "pattern " + show.Quote(show.Clip(s.Pattern, 60)) + ": " + err.Error(),
			Hint: `"mode":"regex" takes any characters`, Err: err}
	}
	return doc.AsLimit(err)
}

// matches serves regex, fuzzy and context.
func (s *Search) matches(ctx context.Context, in doc.Value) (doc.Value, error) {
	view, err := viewOf(ctx, in)
	if err != nil {
		return doc.Value{}, err
	}
	var (
		hits  []search.Hit
		total int
		head  string
	)
	if s.Mode == "fuzzy" {
		hits, total, err = search.Fuzzy(ctx, view.text, s.Pattern, search.FuzzyOptions{Threshold: s.Threshold, Limit: s.MaxResults})
		head = show.Plural(total, "matches") + " by similarity"
	} else {
		var m search.Matches
		m, err = search.Regex(ctx, view.text, s.Pattern, search.RegexOptions{CaseInsensitive: s.CaseInsensitive, Limit: s.MaxResults})
		hits, total = m.Hits, m.Total
		head = show.Plural(total, "matches") + " on " + show.Plural(m.Lines, "lines")
	}
	if err != nil {
		return doc.Value{}, err
	}
	out := doc.Value{Kind: doc.Text, Unit: "matches", Items: len(hits), Total: total}
	if total == 0 {
		out.Data = s.nothing(ctx, view.text)
		return out, nil
	}
	p := newPrinter(view, hits)
	fmt.Fprintf(&p.b, "%s, %s shown\n", head, show.Count(len(hits)))
	switch s.Mode {
	case "context":
		spans, err := s.contexts(ctx, in, view, hits)
		if err != nil {
			return doc.Value{}, err
		}
		p.spans(spans)
	case "fuzzy":
		p.best(s.ContextLines)
	default:
		p.inOrder(s.ContextLines)
	}
	out.Data = []byte(p.b.String())
	return out, nil
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
