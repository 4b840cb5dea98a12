// Package project keeps some fields of JSON, or leaves some out.
//
//	fields, exclude ──► mask: the paths as a tree
//	document, mask  ──► projector: the parts that the mask leaves, copied byte for byte
//
// Nothing is decoded but keys and the strings that hold JSON.
package project

import (
	"context"
	"fmt"
	"strings"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/records"
)

// Project keeps some fields of JSON, or leaves some out. It is a stage.
//
// The output is minified and else spelt as the input. Objects stay, even if
// empty, so records keep their number and order; what is no container and
// stands where a path goes deeper is left out. A string that holds JSON is
// the container that it holds where a path of Fields goes deeper, and where
// one of Exclude ends inside; else it stays a string. With both lists,
// Exclude applies to what Fields kept. The zero Project minifies.
//
// Of a text made of records, those are projected.
type Project struct {
	Fields  []string // paths to keep; none keeps all
	Exclude []string // paths to leave out
}

func (p *Project) String() string {
	return fmt.Sprintf("project fields=%q exclude=%q", p.Fields, p.Exclude)
}

// Check is a [*doc.Error] for a path that cannot be read.
func (p *Project) Check() error {
	if _, err := newMask(p.Fields); err != nil {
		return err
	}
	_, err := newMask(p.Exclude)
	return err
}

// Apply is a [*doc.Error] for text, for a path that cannot be read, and for one
// that is nowhere in the document. The Note tells of a field that only some
// records lack. A path with commas that is nowhere is tried as several.
func (p *Project) Apply(ctx context.Context, in doc.Value) (doc.Value, error) {
	out, err := p.apply(ctx, in)
	if err == nil || ctx.Err() != nil {
		return out, err
	}
	several := Project{commas(p.Fields), commas(p.Exclude)}
	if len(several.Fields)+len(several.Exclude) == len(p.Fields)+len(p.Exclude) {
		return out, err
	}
	if each, e := several.apply(ctx, in); e == nil {
		return each, nil
	}
	return out, err
}

// commas are paths, divided at commas.
func commas(paths []string) (out []string) {
	for _, p := range paths {
		for part := range strings.SplitSeq(p, ",") {
			out = append(out, strings.TrimSpace(part))
		}
	}
	return out
}

func (p *Project) apply(ctx context.Context, in doc.Value) (doc.Value, error) {
	keep, err := newMask(p.Fields)
	if err != nil {
		return doc.Value{}, err
	}
	drop, err := newMask(p.Exclude)
	if err != nil {
		return doc.Value{}, err
	}
	if in.Kind == doc.Text {
		rows, ok, err := records.Of(ctx, in)
		if err != nil {
			return doc.Value{}, err
		}
		if !ok {
			return doc.Value{}, doc.Invalid(`use proxy_search, "offset" and "limit" for lines, or "jq":"split(\"\\n\") | map(select(test(\"error\")))"`,
				"fields and exclude need JSON or a text made of records; this is neither")
		}
		in = rows.Value
	}
	out := in
	if len(p.Fields) > 0 || len(p.Exclude) == 0 {
		if out, err = apply(ctx, out, keep, false); err != nil {
			return doc.Value{}, err
		}
	}
	if len(p.Exclude) > 0 {
		if out, err = apply(ctx, out, drop, true); err != nil {
			return doc.Value{}, err
		}
	}
	if err := keep.missing(ctx, in); err != nil {
		return doc.Value{}, err
	}
	if err := drop.missing(ctx, in); err != nil && len(p.Fields) > 0 {
		// It may be there, and not among what Fields kept.
		if _, e := (&Project{Exclude: p.Exclude}).apply(ctx, in); e != nil {
			return doc.Value{}, e
		}
	} else if err != nil {
		return doc.Value{}, err
	}
	out.AddNote(keep.lacking())
	return out, nil
}
