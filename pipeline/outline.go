package pipeline

import (
	"context"
	"fmt"
	"strings"

	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/show"
)

var _ Stage = (*Outline)(nil)

// Outline describes a document instead of showing it. It is a [Stage]; what
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

// Check is an [*Error] for a Path that cannot be read and a MaxDepth out of bounds.
func (o *Outline) Check() error {
	_, err := o.path()
	return err
}

// path is Path, once the settings are right.
func (o *Outline) path() (Path, error) {
	if o.MaxDepth < 0 || o.MaxDepth > maxDepth {
		return nil, badArguments(`leave "max_depth" out for 3`, "max_depth %d; it is 1 to %d", o.MaxDepth, maxDepth)
	}
	return ParsePath(o.Path)
}

// Apply is an [*Error] for a Path that cannot be read or leads nowhere.
func (o *Outline) Apply(ctx context.Context, in Value) (Value, error) {
	path, err := o.path()
	if err != nil {
		return Value{}, err
	}
	depth := o.MaxDepth
	if depth == 0 {
		depth = 3
	}
	v, err := narrow(ctx, in, path)
	if err != nil {
		return Value{}, err
	}
	d := describer{ctx: ctx, depth: depth, budget: o.Budget}
	if d.budget == 0 {
		d.budget = 4000
	}
	if rows, ok, e := csvRecords(ctx, v.Value); ok || e != nil {
		if err = e; ok {
			fmt.Fprintf(&d.out, "%s, %s bytes; jq and fields see an array of objects\n", describeTable(v.Value, rows), show.Count(len(v.Data)))
			v.Value = rows
			var root *shape
			if root, err = survey(ctx, rows, depth); err == nil {
				d.paths(v, root)
			}
		}
	} else if v.Kind == Text {
		err = outlineText(ctx, &d.out, v.Value)
	} else {
		err = d.json(v)
	}
	if err != nil {
		return Value{}, err
	}
	return derive(in, Text, []byte(d.out.String())), nil
}

// A describer writes one outline.
type describer struct {
	ctx    context.Context
	depth  int
	budget int
	out    strings.Builder
}

// json tells where it is, what it is, and its paths.
func (d *describer) json(v place) error {
	root, err := survey(d.ctx, v.Value, d.depth)
	if err != nil {
		return err
	}
	switch {
	case v.many:
		fmt.Fprintf(&d.out, "at %s: %s, %s bytes\n", v.at, show.Plural(root.maxLen, "values"), show.Count(root.bytes))
		if top := root.items; top.count > 0 {
			fmt.Fprintf(&d.out, "%s: %s\n", v.at, describe(v.at, top, root))
		}
	case len(v.at) > 0:
		fmt.Fprintf(&d.out, "at %s: %s, %s bytes\n", v.at, describeRoot(v.Value, root), show.Count(root.bytes))
	default:
		fmt.Fprintf(&d.out, "%s, %s bytes\n", describeRoot(v.Value, root), show.Count(len(v.Data)))
	}
	d.paths(v, root)
	return nil
}

// paths writes a line for each path below v, whose shape is top, and a record.
func (d *describer) paths(v place, top *shape) {
	if v.many { // the list was made here: its elements stand at v.at themselves
		top = top.items
	}
	lines, total := pathLines(top, v.at, false)
	if total > 0 {
		d.out.WriteString("paths, for fields; jq: put a dot in front\n")
	}
	const record = 200 // tokens, and the lines that are there in any case
	chosen := choosePaths(lines, d.budget-record)
	for _, l := range lines {
		if l.cost > 0 {
			d.out.WriteString(l.text + "\n")
		}
	}
	if chosen < total {
		fmt.Fprintf(&d.out, "… %s paths more: give path or a smaller max_depth\n", show.Count(total-chosen))
	}
	sample(&d.out, v)
}

// describeTable is CSV or TSV with its rows.
func describeTable(v, records Value) string {
	name := "CSV"
	if sep, _ := digest.Columns(v.Data); sep == '\t' {
		name = "TSV"
	}
	return name + ", " + show.Plural(records.Total, "rows")
}

func describeRoot(v Value, root *shape) string {
	switch {
	case v.Kind == JSONLines:
		return "JSON Lines, the array of " + show.Plural(root.maxLen, "lines")
	case root.kinds[isArray] > 0:
		return "JSON array of " + show.Plural(root.maxLen, "items")
	case root.kinds[isObject] > 0:
		return "JSON object of " + show.Plural(root.members, "fields")
	}
	return "JSON " + root.types()
}

// types names the types of sh, most frequent first, the others with their
// share.
func (sh *shape) types() string {
	var names []string
	used := [numKinds]bool{}
	for {
		best := -1
		for k, n := range sh.kinds {
			if n > 0 && !used[k] && (best < 0 || n > sh.kinds[best]) {
				best = k
			}
		}
		if best < 0 {
			return strings.Join(names, " or ")
		}
		used[best] = true
		name := kindNames[best]
		if len(names) > 0 {
			name += " (" + percent(sh.kinds[best], sh.count) + ")"
		}
		names = append(names, name)
	}
}

// describe is the line for one path, without the path. Of a scalar that is
// there once it is the value.
func describe(at Path, sh, parent *shape) string {
	types := sh.types()
	if parent.rest == sh {
		types = mapKeys(parent) + " → " + types
	} else if sh.count == 1 && !isOpen(sh.first) && parent.count == 1 {
		return show.Printable(elide(sh.first, 120))
	}
	parts := []string{types}
	if last := at[len(at)-1]; last.Kind == StepKey && sh.owners < parent.kinds[isObject] {
		parts = append(parts, "in "+percent(sh.owners, parent.kinds[isObject]))
	}
	if sh.kinds[isArray] > 0 && sh.items != nil {
		if sh.minItems == sh.maxLen {
			parts = append(parts, show.Plural(sh.maxLen, "items"))
		} else {
			parts = append(parts, fmt.Sprintf("%s–%s", show.Count(sh.minItems), show.Plural(sh.maxLen, "items")))
		}
	}
	if values := sh.values.tell(sh.kinds[isNumber] + sh.kinds[isString] + sh.kinds[isBool]); values != "" {
		parts = append(parts, values)
	} else if dates := sh.dates; dates.n > 0 && dates.n == sh.kinds[isString] && !dates.mixed {
		parts = append(parts, string(dates.min)+".."+string(dates.max))
	}
	if sh.numbers.n > 0 && (sh.values.many || len(sh.values.list) > fewDistinct || sh.values.tell(sh.kinds[isNumber]) == "") {
		parts = append(parts, sh.numbers.String())
	}
	if mean := sh.bytes / sh.count; mean > 100 {
		parts = append(parts, "~"+show.Count(mean)+" bytes")
	}
	return strings.Join(parts, ", ")
}

// mapKeys is {1,204 keys like "a1b2"}.
func mapKeys(sh *shape) string {
	n, more := sh.keys()
	plus := ""
	if more {
		plus = "+"
	}
	like := ""
	for i, f := range sh.fields[:min(len(sh.fields), 3)] {
		like += []string{" like ", ", ", ", "}[i] + show.Quote(show.Clip(f.name, 30))
	}
	return fmt.Sprintf("{%s%s keys%s}", show.Count(n), plus, like)
}

// percent of a total, and neither 0% nor 100% for what is only nearly so.
func percent(n, of int) string {
	switch {
	case n >= of:
		return "100%"
	case 200*n < of:
		return "<1%"
	}
	return fmt.Sprintf("%d%%", min((n*200+of)/(2*of), 99))
}

// sample shows the first record, or nothing if it is the document.
func sample(b *strings.Builder, v place) {
	for _, value := range items(v.Value) {
		if !isOpen(value) {
			return
		}
		label := "sample"
		if !v.many {
			label = v.at.with(Step{Kind: StepIndex}).String()
		}
		fmt.Fprintf(b, "%s %s\n", label, show.Printable(elide(value, 400)))
		return
	}
}
