package search

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxFuzzyRunes bounds a query of [Fuzzy].
const MaxFuzzyRunes = 256

const (
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
// getUserName. A hit's Score is the [Similarity] of query and span: blanks
// and line breaks are alike, case does not matter, nor does punctuation
// around the query. Of runs that overlap one is reported: the most similar,
// else the first.
//
// The text is read once, at about 4 ns per character for queries up to 64
// of them. When ctx ends first, its error comes with the hits so far.
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
	case len(q) > MaxFuzzyRunes:
		return nil, 0, ErrLongQuery
	}
	s := newFuzzyScan(ctx, text, q, opts)
	err := s.run()
	return s.hits(), s.total, err
}

// foldQuery folds query and trims what no run of words begins or ends with.
func foldQuery(query string) []rune {
	// Beyond this many bytes it is too long whatever it holds; cut here, it
	// need not be folded whole to say so.
	query = strings.TrimFunc(query, func(r rune) bool { return !isWord(r) })
	if len(query) > 16*MaxFuzzyRunes {
		query = query[:16*MaxFuzzyRunes]
	}
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

// foldRune maps runes that Fuzzy holds for equal to one of them. Only ASCII
// maps to ASCII, so that a byte scan sees every match.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return rune(foldASCII[r])
	}
	if l := unicode.ToLower(r); l >= utf8.RuneSelf {
		return l
	}
	return r
}

// foldASCII is foldRune for ASCII.
var foldASCII = func() (table [utf8.RuneSelf]byte) {
	for i := range table {
		b := byte(i)
		if b == '\t' || b == '\n' || b == '\v' || b == '\f' || b == '\r' {
			b = ' '
		}
		table[i] = lowerASCII(b)
	}
	return table
}()

// A fuzzyScan is one call of [Fuzzy].
type fuzzyScan struct {
	ctx           context.Context
	text          []byte
	ahead, behind *matcher // of the query, of the query reversed
	most          int      // greatest distance reported
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

func newFuzzyScan(ctx context.Context, text []byte, q []rune, opts FuzzyOptions) *fuzzyScan {
	// The small addend makes 1-0.9 of 10 runes one edit, not 0.9999; one
	// rune at least must be the query's, or anything would do.
	most := min(int((1-opts.Threshold)*float64(len(q))+1e-9), len(q)-1)
	s := &fuzzyScan{ctx: ctx, text: text, ahead: newMatcher(q), most: most, limit: opts.Limit,
		lines: lineCounter{text: text}, kept: make([][]Hit, most+1)}
	slices.Reverse(q)
	s.behind = newMatcher(q)
	return s
}

// run visits the word ends where a run near enough to the query may end.
func (s *fuzzyScan) run() error {
	var c column
	s.ahead.reset(&c)
	defer func() { s.report(s.pending) }()
	for pos, stop, visits := 0, 0, 0; pos < len(s.text); {
		if pos >= stop || visits >= 4096 {
			if err := s.ctx.Err(); err != nil {
				return err
			}
			stop, visits = min(pos+chunkBytes, len(s.text)), 0
		}
		end := s.ahead.next(&c, s.text, pos, stop, s.most)
		if end < 0 {
			pos = stop
			continue
		}
		if pos = end; wordEnd(s.text, end) {
			s.visit(end)
			visits++
		}
	}
	return s.ctx.Err()
}

// visit finds the best runs that end at end, and lets them contend with
// the pending one.
func (s *fuzzyScan) visit(end int) {
	var c column
	s.behind.reset(&c)
	var all, after candidate // best run, best run after the pending one
	start := end
	for range s.behind.size + s.most {
		if start <= s.floor {
			break
		}
		r, size := utf8.DecodeLastRune(s.text[:start])
		start -= size
		s.behind.step(&c, foldRune(r), true)
		if c.dist > s.most || all.End > 0 && c.dist >= all.dist || !wordStart(s.text, start) {
			continue
		}
		all = candidate{Span{start, end}, c.dist}
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
		score := 1 - float64(c.dist)/float64(s.ahead.size)
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
