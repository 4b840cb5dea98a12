package pipeline

import (
	"bytes"
	"context"
	"fmt"
)

var _ Stage = (*Slice)(nil)

// Slice keeps a page: elements of an array, lines of text or of JSON Lines,
// members of an object. It is a [Stage].
//
// Pages put together give back the items of the original, each spelt as it
// was. A page beyond the end is empty, with a note that says where the end
// is. The zero Slice keeps everything.
type Slice struct {
	Offset int // items to skip
	Limit  int // items to keep; 0 keeps the rest
}

func (s *Slice) String() string { return fmt.Sprintf("slice offset=%d limit=%d", s.Offset, s.Limit) }

// Apply is an [*Error] if a setting is negative.
func (s *Slice) Apply(ctx context.Context, in Value) (Value, error) {
	if s.Offset < 0 || s.Limit < 0 {
		return Value{}, badArguments(`count from 0, e.g. "offset":0,"limit":20`,
			"offset %d and limit %d: neither may be negative", s.Offset, s.Limit)
	}
	if s.Offset == 0 && s.Limit == 0 {
		return in, nil
	}
	p := pager{Slice: *s, tick: ticker{ctx: ctx}}
	data, err := p.page(in)
	if err != nil {
		return Value{}, err
	}
	out := Value{Kind: in.Kind, Data: data, Unit: counted(in.Kind, nil, nil).Unit, Items: p.kept, Total: p.seen, Note: in.Note}
	switch {
	case in.Kind == JSON && kindOf(in.Data) == '[':
		out.Unit = "items"
	case in.Kind == JSON && kindOf(in.Data) == '{':
		out.Unit = "fields"
	case in.Kind == JSON:
		return in, nil // a scalar has no pages
	}
	if s.Offset >= p.seen && s.Offset > 0 {
		out.addNote(fmt.Sprintf("offset %s is beyond the end: %s in all", Comma(s.Offset), plural(p.seen, out.Unit)))
	}
	return out, nil
}

// A pager counts every item and keeps those of the page.
type pager struct {
	Slice
	tick       ticker
	seen, kept int
}

// take reports whether the next item is on the page.
func (p *pager) take() bool {
	n := p.seen
	p.seen++
	if n < p.Offset || p.Limit > 0 && n-p.Offset >= p.Limit {
		return false
	}
	p.kept++
	return true
}

func (p *pager) page(in Value) ([]byte, error) {
	var out []byte
	sep := func() {
		if p.kept > 1 {
			out = append(out, ',')
		}
	}
	switch {
	case in.Kind != JSON:
		for line := range bytes.Lines(in.Data) {
			if in.Kind == JSONLines && len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			if p.take() {
				out = append(out, line...)
			}
			if err := p.tick.err(); err != nil {
				return nil, err
			}
		}
	case kindOf(in.Data) == '[':
		out = append(out, '[')
		for _, value := range elements(in.Data) {
			if p.take() {
				sep()
				out = append(out, value...)
			}
			if err := p.tick.err(); err != nil {
				return nil, err
			}
		}
		out = append(out, ']')
	case kindOf(in.Data) == '{':
		out = append(out, '{')
		for key, value := range members(in.Data) {
			if p.take() {
				sep()
				out = append(append(append(out, key...), ':'), value...)
			}
			if err := p.tick.err(); err != nil {
				return nil, err
			}
		}
		out = append(out, '}')
	}
	return out, nil
}
