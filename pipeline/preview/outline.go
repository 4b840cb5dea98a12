package preview

import (
	"context"
	"fmt"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/locate"
	"rlmproxy/pipeline/records"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
)

// Outline describes a document instead of showing it. It is a stage; what
// comes out is text.
//
// Of JSON it tells every path, with types, how often it is present, ranges
// and the distinct values if they are few. Each path is written so that it
// works in fields, and in jq behind a dot. Of text it tells the format, the
// outline and both ends. The zero Outline describes the whole document.
type Outline struct {
	Path     string // narrow to this first; empty is the whole
	MaxDepth int    // levels of fields; 0 means 3
	// Budget is how many tokens the outline may have, about; the paths of the
	// lower levels are then counted and not told. Zero means 4000.
	Budget int
}

func (o *Outline) String() string { return fmt.Sprintf("outline path=%q depth=%d", o.Path, o.MaxDepth) }

// Check is a [*doc.Error] for a Path that cannot be read and a MaxDepth out of bounds.
func (o *Outline) Check() error {
	_, err := o.path()
	return err
}

// path is Path, once the settings are right.
func (o *Outline) path() (doc.Path, error) {
	if o.MaxDepth < 0 || o.MaxDepth > doc.MaxDepth {
		return nil, doc.Invalid(`leave "max_depth" out for 3`, "max_depth is %d; it must be 1 to %d", o.MaxDepth, doc.MaxDepth)
	}
	return doc.ParsePath(o.Path)
}

// Apply is a [*doc.Error] for a Path that cannot be read or leads nowhere.
func (o *Outline) Apply(ctx context.Context, in doc.Value) (doc.Value, error) {
	path, err := o.path()
	if err != nil {
		return doc.Value{}, err
	}
	depth := o.MaxDepth
	if depth == 0 {
		depth = 3
	}
	v, err := locate.Find(ctx, in, path)
	if err != nil {
		return doc.Value{}, err
	}
	d := describer{ctx: ctx, depth: depth, budget: o.Budget}
	if d.budget == 0 {
		d.budget = 4000
	}
	rows, ok, err := records.Of(ctx, v.Value)
	if err != nil {
		return doc.Value{}, err
	}
	if ok && rows.IsTable() {
		fmt.Fprintf(&d.out, "%s, %s bytes; jq and fields see an array of objects\n", describeTable(rows), show.Count(len(v.Data)))
		v.Value = rows.Value
		var root *schema.Node
		if root, err = schema.Fold(ctx, v.Value, depth+1); err == nil {
			d.paths(v, root)
		}
	} else if v.Kind == doc.Text {
		if !ok {
			err = outlineText(ctx, &d.out, v.Value, outlineTokens)
		} else if err = outlineText(ctx, &d.out, v.Value, d.budget*2/5); err == nil {
			err = d.seen(rows)
		}
	} else {
		err = d.json(v)
	}
	if err != nil {
		return doc.Value{}, err
	}
	return doc.Derive(in, doc.Text, []byte(d.out.String())), nil
}

// A describer writes one outline.
type describer struct {
	ctx    context.Context
	depth  int
	budget int
	out    strings.Builder
}

// json tells where it is, what it is, and its paths.
func (d *describer) json(v locate.Place) error {
	root, err := schema.Fold(d.ctx, v.Value, d.depth+1)
	if err != nil {
		return err
	}
	switch {
	case v.Many:
		fmt.Fprintf(&d.out, "at %s: %s, %s bytes\n", v.At, show.Plural(root.MaxLen, "values"), show.Count(root.Bytes))
		if top := root.Items; top.Count > 0 {
			fmt.Fprintf(&d.out, "%s: %s\n", v.At, schema.Describe(v.At, top, root))
		}
	case len(v.At) > 0:
		fmt.Fprintf(&d.out, "at %s: %s, %s bytes\n", v.At, schema.DescribeRoot(v.Value, root), show.Count(root.Bytes))
	default:
		fmt.Fprintf(&d.out, "%s, %s bytes\n", schema.DescribeRoot(v.Value, root), show.Count(len(v.Data)))
		for _, line := range besideLines(v.Value) {
			d.out.WriteString(line + "\n")
		}
	}
	if s := newLayout(d.budget/3, 0); !v.Many && s.tree(d.ctx, v.Value, root) {
		d.out.Write(append(s.bytes(), '\n'))
	}
	d.paths(v, root)
	return nil
}

// seen tells what jq and fields see of a text, with half the room of JSON.
func (d *describer) seen(rows records.Records) error {
	root, err := schema.Survey(d.ctx, rows.Value, d.depth)
	if err != nil {
		return err
	}
	what := schema.DescribeRoot(rows.Value, root)
	if rows.Kind == doc.JSONLines {
		what = "an array of " + show.Plural(rows.Total, "objects")
	}
	fmt.Fprintf(&d.out, "jq and fields see %s\n", what)
	d.budget /= 2
	d.paths(locate.Place{Value: rows.Value}, root)
	return nil
}

// paths writes a line for each path below v, whose shape is top, and a record.
func (d *describer) paths(v locate.Place, top *schema.Node) {
	if v.Many { // the list was made here: its elements stand at v.at themselves
		top = top.Items
	}
	lines, total := pathLines(top, v.At, d.depth, false)
	if total > 0 {
		d.out.WriteString("Use these paths in fields; put a dot in front for jq\n")
	}
	const record = 200 // tokens, and the lines that are there in any case
	chosen := choosePaths(lines, d.budget-record)
	for _, l := range lines {
		if l.cost > 0 {
			d.out.WriteString(l.text + "\n")
		}
	}
	if chosen < total {
		fmt.Fprintf(&d.out, "… %s: give path or a smaller max_depth\n", show.Plural(total-chosen, "more paths"))
	}
	sample(&d.out, v)
}

// sample shows the first record, or nothing if it is the document or mostly objects.
func sample(b *strings.Builder, v locate.Place) {
	for _, value := range doc.Items(v.Value) {
		if !jsonscan.IsContainer(value) {
			return
		}
		text, much := brief(value, nil)
		if !much {
			return
		}
		label := "sample"
		if !v.Many {
			label = v.At.With(doc.Step{Kind: doc.StepIndex}).String()
		}
		fmt.Fprintf(b, "%s %s\n", label, text)
		return
	}
}

// outlineTokens is the room of an outline.
const outlineTokens = 1500

// outlineText tells what v is, what stands out, and a few lines of both ends:
// the digest of a preview, with more room for its upper part.
func outlineText(ctx context.Context, b *strings.Builder, v doc.Value, budget int) error {
	d, err := digestOf(ctx, v)
	if err != nil {
		return err
	}
	s := newLayout(budget, doc.CountLines(v.Data))
	s.digest(d, v, outlineRoom)
	b.Write(s.bytes())
	b.WriteByte('\n')
	return nil
}

// describeTable is CSV or TSV with its rows.
func describeTable(rows records.Records) string {
	return rows.Form + ", " + show.Plural(rows.Total, "rows")
}
