package search

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxFuzzyRunes bounds a query of [Fuzzy].
	maxFuzzyRunes = 256

	defaultThreshold  = 0.7
	defaultFuzzyLimit = 50
)

// FuzzyOptions configures [Fuzzy]. The zero value is ready to use.
type FuzzyOptions struct {
	// Threshold is the least similarity reported, up to 1. Zero means 0.7.
	Threshold float64
	// Limit is how many hits are kept, the best ones. Zero means 50.
	Limit int
}

// Fuzzy finds words and phrases like query, best first; ties are in
// document order. It also returns how many there are in all.
//
// It compares the query with runs of whole words: letters and digits
// between blanks, punctuation and the humps of camelCase, or single
// characters of scripts without blanks. So "usrname" finds the end of
// getUserName. A hit's Score is their similarity: one minus the edit distance over
// the length of the query, in runes. Blanks and line breaks are alike, case does not
// matter, nor does punctuation around the query. Of runs that overlap one is
// reported: the most similar, else the first.
//
// The text is read once, at 10 ns per character for a word and 50 ns for a query of
// 100 characters. When ctx ends first, its error comes with the hits so far.
func Fuzzy(ctx context.Context, text []byte, query string, opts FuzzyOptions) ([]Hit, int, error) {
	if opts.Threshold == 0 {
		opts.Threshold = defaultThreshold
	}
	if opts.Limit <= 0 {
		opts.Limit = defaultFuzzyLimit
	}
	if !(opts.Threshold > 0 && opts.Threshold <= 1) { // false for NaN
		return nil, 0, ErrThreshold
	}
	q := foldQuery(query)
	switch {
	case len(q) == 0:
		return nil, 0, ErrNoQuery
	case len(q) > maxFuzzyRunes:
		return nil, 0, ErrLongQuery
	}
	s := newFuzzyScan(ctx, text, q, opts)
	err := s.run()
	return s.hits(), s.total, err
}

// foldQuery folds query and trims what no run of words begins or ends with.
func foldQuery(query string) []rune {
	query = strings.TrimFunc(query, func(r rune) bool { return !isWord(r) })
	var q []rune
	for _, r := range query {
		r = foldRune(r)
		if r == ' ' && q[len(q)-1] == ' ' {
			continue
		}
		q = append(q, r)
	}
	return q
}

// foldRune maps runes that Fuzzy holds for equal to one of them.
func foldRune(r rune) rune {
	switch {
	case '\t' <= r && r <= '\r':
		return ' '
	case r < utf8.RuneSelf:
		return rune(lowerASCII(byte(r)))
	}
	if l := unicode.ToLower(r); l >= utf8.RuneSelf {
		return l
	}
	return r // the Kelvin sign is no k
}

// A fuzzyScan is one call of [Fuzzy].
type fuzzyScan struct {
	ctx           context.Context
	text          []byte
	ahead, behind *edits // of the query, of the query reversed
	most          int    // greatest distance reported
	limit         int

	lines   lineCounter
	floor   int       // end of the last run that was reported
	pending candidate // may still lose to a run that overlaps it
	kept    [][]Hit   // by distance, each in document order
	total   int
}

// A candidate is a run of words near enough to the query. Its zero value,
// an empty span, stands for none.
type candidate struct {
	Span
	dist int
}

func newFuzzyScan(ctx context.Context, text []byte, query []rune, opts FuzzyOptions) *fuzzyScan {
	// The small addend makes 1-0.9 of 10 runes one edit, not 0.9999; one
	// rune at least must be the query's, or anything would do.
	most := min(int((1-opts.Threshold)*float64(len(query))+1e-9), len(query)-1)
	reversed := slices.Clone(query)
	slices.Reverse(reversed)
	return &fuzzyScan{ctx: ctx, text: text, ahead: newEdits(query, most), behind: newEdits(reversed, most), most: most,
		limit: opts.Limit, lines: lineCounter{text: text}, kept: make([][]Hit, most+1)}
}

// run visits the word ends where a run near enough to the query may end.
func (s *fuzzyScan) run() error {
	defer func() { s.report(s.pending) }()
	for pos, check, visits := 0, 0, 0; pos < len(s.text); {
		if pos >= check || visits >= 1024 {
			if err := s.ctx.Err(); err != nil {
				return err
			}
			check, visits = pos+chunkBytes, 0
		}
		r, size := utf8.DecodeRune(s.text[pos:])
		pos += size
		s.ahead.step(foldRune(r), 0)
		if s.ahead.dist() <= s.most && wordEnd(s.text, pos) {
			s.visit(pos)
			visits++
		}
	}
	return s.ctx.Err()
}

// visit finds the best runs that end at end, and lets them contend with
// the pending one.
func (s *fuzzyScan) visit(end int) {
	s.behind.reset()
	var all, after candidate // best run, best run after the pending one
	start := end
	for n := 1; start > s.floor && s.behind.hope(); n++ {
		r, size := utf8.DecodeLastRune(s.text[:start])
		start -= size
		s.behind.step(foldRune(r), n)
		dist := s.behind.dist()
		if dist > s.most || all.End > 0 && dist >= all.dist || !wordStart(s.text, start) {
			continue
		}
		all = candidate{Span{start, end}, dist}
		if start >= s.pending.End {
			after = all
		}
	}
	switch {
	case all.End == 0:
	case all.Start < s.pending.End && all.dist < s.pending.dist:
		s.pending = all
	case after.End > 0:
		s.report(s.pending)
		s.floor = s.pending.End
		s.pending = after
	}
}

// report counts a run and keeps it if it may be among the best.
func (s *fuzzyScan) report(c candidate) {
	if c.End == 0 {
		return
	}
	s.total++
	if same := s.kept[c.dist]; len(same) < s.limit {
		score := 1 - float64(c.dist)/float64(len(s.ahead.query))
		s.kept[c.dist] = append(same, Hit{Span: c.Span, Line: s.lines.line(c.Start), Score: score})
	}
}

// hits returns the best runs, at most the limit.
func (s *fuzzyScan) hits() []Hit {
	var all []Hit
	for _, same := range s.kept {
		all = append(all, same[:min(len(same), s.limit-len(all))]...)
	}
	return all
}
