// Package digest says what kind of text a text is, and what stands out in it.
//
//	text → Kind → Of → Digest → facts, parts of ranked rows, lines
//
// It is text in, facts and ranked lines out: how many of them an agent sees
// is for the caller, who knows the budget. Each kind of text has a file with a
// function that recognises it and one that reads it; kinds.go lists them. A text
// that no kind claims is plain text: that is better than a wrong guess.
//
// Lines are counted from 0, and as an agent reads them from 1. A reader goes
// over the text once, without a tree, so that hostile or broken text costs no
// more time than any other, and bounded memory.
package digest

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"sync"

	"rlmproxy/pipeline/show"
)

const (
	// maxRows of a part are kept. What is beyond them is counted only.
	maxRows = 10_000

	// maxRowRunes of a line in the upper part are shown: an outline is read
	// for its names.
	maxRowRunes = 110
)

// A Digest says what a text is and what stands out in it, however much room
// there is to show it: a preview and an outline show the same digest. Its
// lines are slices of the text.
type Digest struct {
	Kind       string   // see [Kind]
	Facts      []string // for the first line, after kind, lines and bytes
	Parts      []Part   // in the order to be read, best first
	Highlights []Line   // lines to show before head and tail, best first

	EndLines int  // lines of head and tail that are worth their tokens; 0 is all
	Preamble int  // lines of the head that say little: a licence, imports
	Opaque   bool // lines say little, as in a blob
}

// A Line is a line of the text.
type Line struct {
	N    int // from 0
	Text []byte
}

// A Part is a list of what stands out.
type Part struct {
	Words string // all there is to say, in a part without rows
	Title string
	Rows  []Row  // in the order to be read
	Total int    // rows that there are, those not kept included
	Share int    // percent of the room for parts that it may take; 0 is all
	Even  bool   // of rows too many, show some from everywhere and not the first
	Most  int    // rows shown; 0 is any number
	Find  string // how to get at those not shown
}

// A Row is a line of the text with its number, or words of ours about one.
//
// They differ by what follows the number: "8: # Title" is line 8 as it is, cut
// perhaps; "8  Title" says something about it.
type Row struct {
	Line
	Rank  int    // lower ranks are shown first
	words string // if not empty, instead of the line
	note  string // of ours, behind the line
}

// addLine adds line n as it is.
func (p *Part) addLine(n int, line []byte, rank int) {
	p.add(Row{Line: Line{n, bytes.TrimRight(line, "\r\n")}, Rank: rank})
}

func (p *Part) add(r Row) {
	if p.Total++; len(p.Rows) < maxRows {
		p.Rows = append(p.Rows, r)
	}
}

// addf adds words about line n, or about none if it is negative. They begin with
// the number, without the colon behind which the text itself stands.
func (p *Part) addf(n, rank int, format string, args ...any) {
	if len(p.Rows) == maxRows {
		p.Total++
		return
	}
	text := fmt.Sprintf(format, args...)
	if n >= 0 {
		text = fmt.Sprintf("%d  %s", n+1, text)
	}
	p.add(Row{Line: Line{N: n}, words: show.Printable(text), Rank: rank})
}

// String is r as the agent reads it.
func (r *Row) String() string {
	if r.words != "" {
		return r.words
	}
	return show.Numbered(r.N, r.Text, maxRowRunes) + r.note
}

// Of makes the digest of text. An error is that of ctx.
func Of(ctx context.Context, text []byte) (*Digest, error) {
	k := kindOf(text)
	d := &Digest{Kind: k.name, EndLines: k.ends}
	if k.read != nil {
		k.read(d, &reader{ctx, text})
	}
	return d, ctx.Err()
}

// A reader goes over a text until its end, or until ctx ends: then the digest is
// not used.
type reader struct {
	ctx  context.Context
	data []byte
}

// lines yields each line, without its line end, with its number.
func (r *reader) lines(yield func(n int, line []byte) bool) {
	n := 0
	for line := range bytes.Lines(r.data) {
		if n%1024 == 0 && r.ctx.Err() != nil || !yield(n, bytes.TrimRight(line, "\r\n")) {
			return
		}
		n++
	}
}

// factf adds to the first line.
func (d *Digest) factf(format string, args ...any) {
	d.Facts = append(d.Facts, fmt.Sprintf(format, args...))
}

// addWords adds a part that is one line.
func (d *Digest) addWords(format string, args ...any) {
	d.Parts = append(d.Parts, Part{Words: show.Printable(fmt.Appendf(nil, format, args...))})
}

// SizeBytes is what d keeps in memory, its text aside.
func (d *Digest) SizeBytes() int64 {
	n := 400 + 40*len(d.Highlights)
	for _, p := range d.Parts {
		for _, r := range p.Rows {
			n += 72 + len(r.words)
		}
	}
	return int64(n)
}

// lazy compiles expr on first use: each start of a worker process would pay for
// all of them.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
