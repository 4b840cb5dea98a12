package digest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/pipeline/show"
)

// goStacks groups the goroutines of a dump by what they do.
type goStacks struct {
	open   bool
	at     Line
	state  string
	key    []byte
	head   []Line
	top    string
	groups map[string]*stackGroup
	order  []*stackGroup
	count  int
}

type stackGroup struct {
	at    Line
	state string
	top   string
	count int
	head  []Line
}

func (g *goStacks) line(n int, line, s []byte, frame bool) {
	if g.open && len(s) > 0 && len(g.head) < 12 {
		g.head = append(g.head, Line{n, line})
	}
	switch {
	case hasPrefix(s, "goroutine ") && len(s) > 11 && s[len(s)-1] == ':':
		g.close()
		g.open, g.at, g.key, g.top = true, Line{n, nil}, g.key[:0], ""
		g.head = append([]Line(nil), Line{n, line})
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

func (g *goStacks) tell(d *Digest) {
	g.close()
	if g.count == 0 {
		return
	}
	d.Facts = append(d.Facts, show.Plural(g.count, "goroutines")+" in "+show.Plural(len(g.order), "groups of equal stacks"))
	p := Part{Title: "goroutines, times × line", Share: 40}
	slices.SortStableFunc(g.order, func(a, b *stackGroup) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.at.N, b.at.N))
	})
	for i, s := range g.order {
		d.Picks = append(d.Picks, s.head...)
		p.addf(-1, i/8, "%s", fmt.Sprintf("%s× %d  [%s] %s", show.Count(s.count), s.at.N+1, show.Clip(s.state, 30), show.Clip(strings.TrimSpace(s.top), 100)))
	}
	if g.count > 1 {
		d.Parts = append(d.Parts, p)
	}
}
