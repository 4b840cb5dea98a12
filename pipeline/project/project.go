// Package project keeps some fields of JSON, or leaves some out, without decoding
// the rest.
package project

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"unicode"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/table"
)

// Project keeps some fields of JSON, or leaves some out. It is a [Stage].
//
// The output is minified and else spelt as the input. Objects stay, even if
// empty, so records keep their number and order; what is no container and
// stands where a path goes deeper is left out. A string that holds JSON is
// the container that it holds where a path of Fields goes deeper, and where
// one of Exclude ends inside; else it stays a string. With both lists,
// Exclude applies to what Fields kept. The zero Project minifies.
//
// Of CSV and TSV the records are projected, to JSON Lines.
type Project struct {
	Fields  []string // paths to keep; none keeps all
	Exclude []string // paths to leave out
}

func (p *Project) String() string {
	return fmt.Sprintf("project fields=%q exclude=%q", p.Fields, p.Exclude)
}

// Check is an [*Error] for a path that cannot be read.
func (p *Project) Check() error {
	if _, err := newMask(p.Fields); err != nil {
		return err
	}
	_, err := newMask(p.Exclude)
	return err
}

// Apply is an [*Error] for text, for a path that cannot be read, and for one
// that is nowhere in the document. A field that only some records lack is
// told in the Note.
func (p *Project) Apply(ctx context.Context, in doc.Value) (doc.Value, error) {
	if in.Kind == doc.Text {
		records, ok, err := table.Records(ctx, in)
		if err != nil {
			return doc.Value{}, err
		}
		if !ok {
			return doc.Value{}, doc.Invalid(`use proxy_search, "offset" and "limit" for lines, or "jq":"split(\"\\n\") | map(select(test(\"error\")))"`,
				"fields and exclude need JSON, CSV or TSV; this is text")
		}
		in = records
	}
	keep, err := newMask(p.Fields)
	if err != nil {
		return doc.Value{}, err
	}
	drop, err := newMask(p.Exclude)
	if err != nil {
		return doc.Value{}, err
	}
	v, err := project(ctx, in, keep, drop)
	if err != nil {
		return doc.Value{}, err
	}
	if err := missing(ctx, in, keep); err != nil {
		return doc.Value{}, err
	}
	if err := missing(ctx, in, drop); err != nil {
		return doc.Value{}, err
	}
	v.AddNote(keep.lacking(nil))
	return v, nil
}

// project applies the masks and counts in them what it finds.
func project(ctx context.Context, in doc.Value, keep, drop *mask) (doc.Value, error) {
	kept, dropped := newState(keep, false), newState(drop, true)
	w := newProjector(ctx, in.Data)
	items := 0
	switch {
	case in.Kind != doc.JSON:
		items = w.lines(kept, dropped)
	case kept == nil:
		items = w.document(0, len(in.Data), dropped)
	default:
		items = w.document(0, len(in.Data), kept)
		if dropped != nil && w.err == nil {
			w = newProjector(ctx, w.bytes())
			items = w.document(0, len(w.src), dropped)
		}
	}
	if w.err != nil {
		return doc.Value{}, w.err
	}
	out := w.bytes()
	if items < 0 {
		return doc.Derive(in, in.Kind, out), nil
	}
	v := doc.Value{Kind: in.Kind, Data: out, Unit: "lines", Items: items, Total: items, Note: in.Note}
	switch {
	case in.Kind != doc.JSON:
	case out[0] == '{':
		v.Unit = "fields"
	default:
		v.Unit = "items"
	}
	return v, nil
}

// lines applies the masks to JSON Lines, which count as one array, and returns
// how many are left.
func (w *projector) lines(keep, drop *state) (left int) {
	data := w.src
	kept := newProjector(w.tick.Ctx, data) // for lines that keep and drop apply to
	for n, at := 0, 0; at < len(data) && !w.stop(); {
		from, to, next := recordAt(data, at)
		if at = next; from == to {
			continue
		}
		keeping, some := w.line(keep, n)
		dropping, rest := w.line(drop, n)
		n++
		if !some || !rest {
			continue
		}
		before := w.size()
		switch s := cmp.Or(dropping, keeping); {
		case keeping != nil && dropping != nil:
			kept.cut(0)
			kept.other(data[from:to], from, keeping)
			if w.err = kept.err; w.err != nil {
				return left
			}
			w.other(kept.out, from, s)
		case jsonscan.IsContainer(data[from:]):
			w.document(from, to, s)
		default: // only here something else than JSON may be right behind it
			w.other(data[from:to], from, s)
		}
		if w.size() > before {
			left++
		}
		w.putByte('\n')
	}
	return left
}

// other writes what s leaves of a document in other bytes, which stand at i.
func (w *projector) other(doc []byte, i int, s *state) {
	back := w.open(doc, i)
	w.document(0, len(doc), s)
	w.close(back)
}

// line returns the state of line n below s, nil where all of it stays; some is
// false if nothing does.
func (w *projector) line(s *state, n int) (to *state, some bool) {
	if s == nil {
		return nil, true
	}
	b := s.element(n)
	b.take()
	if b.act == enter {
		return w.follow(b, s), true
	}
	return nil, b.act == whole
}

// recordAt returns where the line at i is, without space around it, and where
// the next one begins.
func recordAt(data []byte, i int) (from, to, next int) {
	next = len(data)
	line := data[i:]
	if n := bytes.IndexByte(line, '\n'); n >= 0 {
		line, next = line[:n], i+n+1
	}
	from = i + len(line) - len(bytes.TrimLeftFunc(line, unicode.IsSpace))
	return from, from + len(bytes.TrimSpace(line)), next
}
