package pipeline

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// goStacks groups the goroutines of a dump by what they do.
type goStacks struct {
	open   bool
	at     numLine
	state  string
	key    []byte
	head   []numLine
	top    string
	groups map[string]*stackGroup
	order  []*stackGroup
	count  int
}

type stackGroup struct {
	at    numLine
	state string
	top   string
	count int
	head  []numLine
}

func (g *goStacks) line(n int, line, s []byte, frame bool) {
	if g.open && len(s) > 0 && len(g.head) < 12 {
		g.head = append(g.head, numLine{n, line})
	}
	switch {
	case hasPrefix(s, "goroutine ") && len(s) > 11 && s[len(s)-1] == ':':
		g.close()
		g.open, g.at, g.key, g.top = true, numLine{n, nil}, g.key[:0], ""
		g.head = append([]numLine(nil), numLine{n, line})
		state := s[bytes.IndexByte(s, '[')+1:]
		if i := bytes.IndexAny(state, ",]"); i >= 0 {
			state = state[:i]
		}
		g.state = string(state)
	case !g.open:
	case len(s) == 0:
		g.close()
	case frame && goCall(s):
		name := s
		if i := bytes.LastIndexByte(s, '('); i > 0 && !hasPrefix(s, "created by ") {
			name = s[:i]
		}
		if i := bytes.Index(name, []byte(" in goroutine")); i > 0 {
			name = name[:i]
		}
		if len(g.key) < 4000 {
			g.key = append(append(g.key, name...), '\n')
		}
		if g.top == "" || isLibrary([]byte(g.top)) && !hasPrefix(name, "created by ") && !isLibrary(name) {
			g.top = string(name)
		}
	}
}

func (g *goStacks) close() {
	if !g.open {
		return
	}
	g.open = false
	g.count++
	key := g.state + "\n" + string(g.key)
	if s := g.groups[key]; s != nil {
		s.count++
		return
	}
	if g.groups == nil {
		g.groups = map[string]*stackGroup{}
	}
	if len(g.order) >= maxTemplates {
		return
	}
	s := &stackGroup{g.at, g.state, g.top, 1, nil}
	if len(g.order) < 30 {
		s.head = g.head
	}
	g.groups[key] = s
	g.order = append(g.order, s)
}

func (g *goStacks) tell(d *digest) {
	g.close()
	if g.count == 0 {
		return
	}
	d.facts = append(d.facts, plural(g.count, "goroutines")+" in "+plural(len(g.order), "groups of equal stacks"))
	p := part{title: "goroutines, times × line", share: 40}
	slices.SortStableFunc(g.order, func(a, b *stackGroup) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.at.n, b.at.n))
	})
	for i, s := range g.order {
		d.picks = append(d.picks, s.head...)
		p.addf(-1, i/8, "%s", fmt.Sprintf("%s× %d  [%s] %s", Comma(s.count), s.at.n+1, clip(s.state, 30), clip(strings.TrimSpace(s.top), 100)))
	}
	if g.count > 1 {
		d.parts = append(d.parts, p)
	}
}
