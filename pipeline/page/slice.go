// Package page cuts a document into pages: items, lines, or pieces of a long line.
package page

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"unicode/utf8"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// Slice keeps a page: elements of an array, members of an object, lines of
// text or of JSON Lines; of a text whose lines are too long to be pages,
// pieces. It is a stage.
//
// Pages put together give back the items of the original, each spelt as it
// was. A page beyond the end is empty, with a note that says where the end
// is. The zero Slice keeps everything.
type Slice struct {
	Offset int // items to skip
	Limit  int // items to keep; 0 keeps the rest
	// Compact minifies the items of JSON. Lines, of JSON Lines too, stay as
	// they are.
	Compact bool
}

const (
	// longLine bytes are more than one line of a page should have; pieceSize is
	// what a piece has at most.
	longLine  = 2000
	pieceSize = 1000
)

func (s *Slice) String() string { return fmt.Sprintf("slice offset=%d limit=%d", s.Offset, s.Limit) }

// Apply is a [*doc.Error] if a setting is negative.
func (s *Slice) Apply(ctx context.Context, in doc.Value) (doc.Value, error) {
	if err := s.check(); err != nil {
		return doc.Value{}, err
	}
	if s.Offset == 0 && s.Limit == 0 || isScalar(in) {
		return in, nil
	}
	p := pager{Slice: *s, tick: doc.Ticker{Ctx: ctx}, left: -1}
	return p.apply(in)
}

// Fill is Apply for a page that costs at most budget tokens: of the items
// that Apply keeps, the first ones that fit, but one at least. next is the
// Offset of the page behind, 0 if this is the last. A document without items
// is returned whole.
func (s *Slice) Fill(ctx context.Context, in doc.Value, budget int) (page doc.Value, next int, err error) {
	if err := s.check(); err != nil {
		return doc.Value{}, 0, err
	}
	if isScalar(in) {
		return in, 0, nil
	}
	p := pager{Slice: *s, tick: doc.Ticker{Ctx: ctx}, left: max(budget, 0)}
	page, err = p.apply(in)
	if err != nil {
		return doc.Value{}, 0, err
	}
	// The items were counted one by one; together, with what stands around
	// them, they may be a little more.
	for page.Items > 1 && !tokens.AtMost(page.Data, budget) {
		if err := ctx.Err(); err != nil {
			return doc.Value{}, 0, err
		}
		page.Items--
		page.Data = p.until(page.Items)
	}
	if next = s.Offset + page.Items; next >= page.Total {
		next = 0
	}
	return page, next, nil
}

func (s *Slice) check() error {
	if s.Offset < 0 || s.Limit < 0 {
		return doc.Invalid(`count from 0, e.g. "offset":0,"limit":20`,
			"offset %d and limit %d: neither may be negative", s.Offset, s.Limit)
	}
	return nil
}

// isScalar reports that v is one value, which has no pages.
func isScalar(v doc.Value) bool {
	k := jsonscan.Kind(v.Data)
	return v.Kind == doc.JSON && k != '[' && k != '{'
}

// isOneLine reports whether v is one long line, which is paged in pieces. A long
// line among others is a page of its own, which has pieces in turn.
func isOneLine(v doc.Value) bool {
	return v.Kind == doc.Text && len(v.Data) > longLine && bytes.IndexByte(v.Data[:len(v.Data)-1], '\n') < 0
}

// A pager counts every item and keeps those of the page.
type pager struct {
	Slice
	tick       doc.Ticker
	left       int // tokens; negative is no limit
	seen, kept int
	full       bool // what comes is not on the page any more
	out        []byte
	ends       []int  // of the items in out, if tokens count
	end        []byte // the bracket behind the last, if there is one
}

// apply returns the page of in, which is no scalar.
func (p *pager) apply(in doc.Value) (doc.Value, error) {
	unit, brackets, items := itemsOf(in)
	var sep []byte
	if brackets != "" {
		p.out, sep, p.end = append(p.out, brackets[0]), []byte{','}, []byte{brackets[1]}
	} else {
		p.Compact = false
	}
	for key, value := range items {
		p.take(sep, key, value)
		if err := p.tick.Err(); err != nil {
			return doc.Value{}, err
		}
	}
	p.out = append(p.out, p.end...)
	out := doc.Value{Kind: in.Kind, Data: p.out, Unit: unit, Items: p.kept, Total: p.seen, Note: in.Note}
	if in.Whole != nil && !in.Mended && p.Offset == 0 {
		out.AddNote(`there is text around this JSON; "format":"text" shows it`)
	}
	if p.Offset >= p.seen && p.Offset > 0 {
		out.AddNote(fmt.Sprintf("offset %s is beyond the end: %s in all", show.Count(p.Offset), show.Plural(p.seen, unit)))
	}
	return out, nil
}

// itemsOf returns what the items of v are, with their keys in an object, and the
// brackets around them.
func itemsOf(v doc.Value) (unit, brackets string, items iter.Seq2[[]byte, []byte]) {
	switch {
	case isOneLine(v):
		return "pieces", "", func(yield func(_, piece []byte) bool) {
			for rest := v.Data; len(rest) > 0; {
				n := pieceEnd(rest)
				if !yield(nil, rest[:n]) {
					return
				}
				rest = rest[n:]
			}
		}
	case v.Kind != doc.JSON:
		return "lines", "", func(yield func(_, line []byte) bool) {
			for line := range bytes.Lines(v.Data) {
				if v.Kind == doc.JSONLines && len(bytes.TrimSpace(line)) == 0 {
					continue
				}
				if !yield(nil, line) {
					return
				}
			}
		}
	case jsonscan.Kind(v.Data) == '[':
		return "items", "[]", func(yield func(_, item []byte) bool) {
			for _, item := range jsonscan.Items(v.Data) {
				if !yield(nil, item) {
					return
				}
			}
		}
	}
	return "fields", "{}", jsonscan.Fields(v.Data)
}

// take appends the next item, if it is on the page, with sep before it unless it is
// the first.
func (p *pager) take(sep, key, value []byte) {
	n := p.seen
	p.seen++
	if p.full || n < p.Offset || p.Limit > 0 && n-p.Offset >= p.Limit {
		return
	}
	start := len(p.out)
	if p.kept > 0 {
		p.out = append(p.out, sep...)
	}
	if key != nil {
		p.out = append(append(p.out, key...), ':')
	}
	if p.Compact {
		p.out = jsonscan.AppendMinified(p.out, value)
	} else {
		p.out = append(p.out, value...)
	}
	if p.left >= 0 {
		item := p.out[start:]
		if tokens.AtMost(item, p.left) {
			cost, _ := tokens.Count(item)
			p.left = max(p.left-cost, 0)
		} else if p.full = true; p.kept > 0 {
			p.out = p.out[:start]
			return
		}
		p.ends = append(p.ends, len(p.out))
	}
	p.kept++
}

// until is the page with its first n items only.
func (p *pager) until(n int) []byte {
	return append(p.out[:p.ends[n-1]:p.ends[n-1]], p.end...)
}

// pieceEnd is the length of the piece that data starts with: pieceSize, or
// up to three bytes less so that it ends between runes. Where no UTF-8 is,
// it may end anywhere.
func pieceEnd(data []byte) int {
	if len(data) <= pieceSize {
		return len(data)
	}
	for back := 1; back < utf8.UTFMax; back++ {
		start := pieceSize - back
		if utf8.RuneStart(data[start]) {
			if _, size := utf8.DecodeRune(data[start:]); size > back {
				return start
			}
			break
		}
	}
	return pieceSize
}
