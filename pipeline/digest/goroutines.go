package digest

import (
	"bytes"
	"cmp"
	"slices"

	"rlmproxy/pipeline/show"
)

const (
	maxStack      = 4000 // bytes of the names of a stack that are compared
	maxStackLines = 12   // shown of a stack
	maxStacks     = 30   // of which lines are kept
)

// goroutines groups those of a dump of Go by what they do.
type goroutines struct {
	open   stack // the one whose lines pass, if it has any
	groups map[string]*stack
	order  []*stack
	count  int
}

// A stack is what some goroutines have in common.
type stack struct {
	count int
	state string // chan receive
	top   string // the first call outside of libraries
	key   []byte // the state and the names of functions
	lines []Line
}

func (g *goroutines) line(n int, line []byte) {
	switch {
	case isGoroutine(line):
		g.close()
		state, _, _ := bytes.Cut(line[bytes.IndexByte(line, '[')+1:], []byte("]"))
		state, _, _ = bytes.Cut(state, []byte(",")) // how long
		g.open = stack{state: string(state), key: append(bytes.Clone(state), '\n')}
	case len(g.open.lines) == 0:
		return
	case len(line) == 0:
		g.close()
		return
	case !isIndented(line) && isGoCall(line):
		g.open.call(line)
	}
	if len(g.open.lines) < maxStackLines {
		g.open.lines = append(g.open.lines, Line{n, line})
	}
}

func (s *stack) call(line []byte) {
	name, _, _ := bytes.Cut(line, []byte(" in goroutine"))
	creator := hasPrefix(line, "created by ")
	if i := bytes.LastIndexByte(line, '('); i > 0 && !creator {
		name = line[:i]
	}
	if len(s.key) < maxStack {
		s.key = append(append(s.key, name...), '\n')
	}
	if s.top == "" || isLibrary([]byte(s.top)) && !creator && !isLibrary(name) {
		s.top = string(name)
	}
}

// close puts the goroutine that is open to those like it.
func (g *goroutines) close() {
	s := g.open
	g.open = stack{}
	if len(s.lines) == 0 {
		return
	}
	g.count++
	if same := g.groups[string(s.key)]; same != nil {
		same.count++
	} else if len(g.order) < maxNames {
		if g.groups == nil {
			g.groups = map[string]*stack{}
		}
		g.groups[string(s.key)] = &s
		g.order = append(g.order, &s)
		if s.count, s.key = 1, nil; len(g.order) > maxStacks {
			s.lines = s.lines[:1]
		}
	}
}

func (g *goroutines) describe(d *Digest) {
	g.close()
	if g.count == 0 {
		return
	}
	d.Facts = append(d.Facts, show.Plural(g.count, "goroutines")+" in "+show.Plural(len(g.order), "groups of equal stacks"))
	p := Part{Title: "goroutines, times × line", Share: 40}
	slices.SortStableFunc(g.order, func(a, b *stack) int { return cmp.Compare(b.count, a.count) })
	for i, s := range g.order {
		if len(s.lines) > 1 {
			d.Picks = append(d.Picks, s.lines...)
		}
		p.addf(-1, i/8, "%s× %d  [%s] %s", show.Count(s.count), s.lines[0].N+1, show.Clip(s.state, 30), show.Clip(s.top, 100))
	}
	d.Parts = append(d.Parts, p)
}
