// Package changes tells what differs between two documents, line by line.
//
//	old, new ──► lines ──► those that are once in both, in order ──► what stands between them
//
// Of JSON a line is a value with its path. Lines are compared without the blanks that
// they begin with: what was only indented otherwise is counted, not shown.
package changes

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// A Change is what came in place of lines that stood together.
type Change struct {
	Line       int // of the first new line, or of where there is none, from 1
	Gone, Come []string
}

// Changes are what turns one document into another.
type Changes struct {
	All        []Change
	Reindented int // lines that begin with other blanks
}

// maxBytes of a document are compared, and maxLines. More are seldom nearly the same, and
// never short in what differs.
const (
	maxBytes = 4 << 20
	maxLines = 200_000
)

// Between returns what differs between two documents, nil where that is not worth telling:
// they are of other kinds, or more than a quarter of the lines differ. It takes time and
// memory in proportion to both.
func Between(ctx context.Context, old, new doc.Value) *Changes {
	if old.Whole != nil || new.Whole != nil { // what stands around JSON may change too
		old, new = old.AsText(), new.AsText()
	}
	if old.Kind != new.Kind || len(old.Data) > maxBytes || len(new.Data) > maxBytes {
		return nil
	}
	a, b := linesOf(ctx, old), linesOf(ctx, new)
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	c := &Changes{}
	c.between(a, b)
	if new.Kind == doc.Text && len(c.All)+c.Reindented == 0 && !bytes.Equal(old.Data, new.Data) {
		return nil // tabs for as many spaces
	}
	differ := 0
	for _, ch := range c.All {
		differ += max(len(ch.Gone), len(ch.Come))
	}
	if 4*differ > len(b) {
		return nil
	}
	return c
}

// noNewline stands for the newline that a text does not end with.
const noNewline = "\\ no newline at the end"

// A line is what is compared, and what is shown.
type line struct {
	key, text string
	indent    int
}

// linesOf are the lines of a text, and the scalars of JSON: what is compared of one is its
// path without indexes, and how many items begin with it. It gives up, with nil, where
// paths would take much more memory than the document, or it is so deep that it is read
// too often.
func linesOf(ctx context.Context, v doc.Value) []line {
	var out []line
	tick := doc.Ticker{Ctx: ctx}
	if v.Kind == doc.Text {
		for text := range bytes.Lines(v.Data) {
			if len(out) == maxLines {
				return nil
			}
			text = bytes.TrimSuffix(text, []byte{'\n'})
			key := bytes.TrimLeft(text, " \t")
			out = append(out, line{string(key), string(text), len(text) - len(key)})
		}
		if !bytes.HasSuffix(v.Data, []byte{'\n'}) {
			out = append(out, line{noNewline, noNewline, 0})
		}
		return out
	}
	room := 64*len(v.Data) + 1<<16
	begun := 0 // items that begin with the next scalar
	var walk func(value []byte, at, kind doc.Path)
	walk = func(value []byte, at, kind doc.Path) {
		if tick.ErrFor(len(value)) != nil {
			room = -1
		}
		if room < 0 || len(out) > maxLines {
			return
		}
		room -= len(value)
		n := len(out)
		switch jsonscan.Kind(value) {
		case '{':
			for key, member := range jsonscan.Fields(value) {
				step := doc.Step{Key: jsonscan.Unquote(key)}
				walk(member, at.With(step), kind.With(step))
			}
		case '[':
			for i, item := range jsonscan.Items(value) {
				begun++
				walk(item, at.With(doc.Step{Kind: doc.StepIndex, Index: i}), kind.With(doc.Step{Kind: doc.StepEach}))
			}
		}
		if len(out) == n { // a scalar, or empty
			said := ": " + string(jsonscan.AppendMinified(nil, value))
			l := line{key: fmt.Sprint(begun, kind.String(), said), text: at.String() + said}
			room -= 4 * (len(l.key) + len(l.text))
			out, begun = append(out, l), 0
		}
	}
	if v.Kind == doc.JSON {
		walk(v.Data, nil, nil)
	} else {
		for i, item := range doc.Items(v) {
			begun++
			walk(item, doc.Path{{Kind: doc.StepIndex, Index: i}}, doc.Path{{Kind: doc.StepEach}})
		}
	}
	if room < 0 || len(out) > maxLines {
		return nil
	}
	return out
}

// between compares by the lines that each document has once: of those, the longest run
// that is in the same order in both stays (patience diff), and what stands between two
// of them, beginning and end alike aside, has changed.
func (c *Changes) between(a, b []line) {
	x, y := 0, 0
	for _, m := range append(common(a, b), match{len(a), len(b)}) {
		from, to := a[x:m.a], b[y:m.b]
		head := 0
		for head < len(from) && head < len(to) && from[head].key == to[head].key {
			c.same(from[head], to[head])
			head++
		}
		tail := 0
		for tail < len(from)-head && tail < len(to)-head && from[len(from)-1-tail].key == to[len(to)-1-tail].key {
			c.same(from[len(from)-1-tail], to[len(to)-1-tail])
			tail++
		}
		from, to = from[head:len(from)-tail], to[head:len(to)-tail]
		if len(from)+len(to) > 0 {
			c.All = append(c.All, Change{y + head + 1, texts(from), texts(to)})
		}
		if m.a < len(a) {
			c.same(a[m.a], b[m.b])
		}
		x, y = m.a+1, m.b+1
	}
}

func (c *Changes) same(a, b line) {
	if a.indent != b.indent {
		c.Reindented++
	}
}

func texts(lines []line) (out []string) {
	for _, l := range lines {
		out = append(out, l.text)
	}
	return out
}

// A match is a line that both have, by its number in each.
type match struct{ a, b int }

// common are the lines that each has once, the longest run of them that rises in both.
func common(a, b []line) []match {
	type seen struct{ inA, inB, a, b int }
	by := map[string]*seen{}
	for i, l := range a {
		s := by[l.key]
		if s == nil {
			s = &seen{}
			by[l.key] = s
		}
		s.inA, s.a = s.inA+1, i
	}
	for i, l := range b {
		if s := by[l.key]; s != nil {
			s.inB, s.b = s.inB+1, i
		}
	}
	var all []match
	for _, s := range by {
		if s.inA == 1 && s.inB == 1 {
			all = append(all, match{s.a, s.b})
		}
	}
	slices.SortFunc(all, func(x, y match) int { return cmp.Compare(x.a, y.a) })
	return rising(all)
}

// rising is the longest run of matches, sorted by a, whose b rise.
func rising(all []match) []match {
	ends := []int{} // of runs of each length, the one with the least b: its last match
	before := make([]int, len(all))
	for i, m := range all {
		n := sort.Search(len(ends), func(n int) bool { return all[ends[n]].b >= m.b })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	out := make([]match, len(ends))
	if len(ends) > 0 {
		for i, n := ends[len(ends)-1], len(ends)-1; i >= 0; i, n = before[i], n-1 {
			out[n] = all[i]
		}
	}
	return out
}

// String writes each change below the number of its line: what is gone behind -, what
// has come behind +, without the spaces that all of it begins with. Long lines are cut
// where they differ.
func (c *Changes) String() string {
	var b strings.Builder
	for _, ch := range c.All {
		fmt.Fprintf(&b, "@ line %d\n", ch.Line)
		blanks := indent(ch.Gone, ch.Come)
		for i, text := range ch.Gone {
			fmt.Fprintf(&b, "-%s\n", window(text[blanks:], at(ch.Come, i, blanks)))
		}
		for i, text := range ch.Come {
			fmt.Fprintf(&b, "+%s\n", window(text[blanks:], at(ch.Gone, i, blanks)))
		}
	}
	return b.String()
}

func at(lines []string, i, blanks int) string {
	if i < len(lines) {
		return lines[i][blanks:]
	}
	return ""
}

// indent is how many spaces all lines begin with.
func indent(lists ...[]string) int {
	least := -1
	for _, lines := range lists {
		for _, text := range lines {
			if n := len(text) - len(strings.TrimLeft(text, " ")); least < 0 || n < least {
				least = n
			}
		}
	}
	return max(least, 0)
}

// window is text, or of a long one the part where it begins to differ from other.
func window(text, other string) string {
	const most, before = 300, 60
	if len(text) <= most {
		return show.Printable([]byte(text))
	}
	same := 0
	for same < len(text) && same < len(other) && text[same] == other[same] {
		same++
	}
	if same <= before {
		return show.Clip(show.Printable([]byte(text)), most)
	}
	return "…" + show.Clip(show.Printable([]byte(text[same-before:])), most)
}
