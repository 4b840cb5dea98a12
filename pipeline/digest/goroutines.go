package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

// goroutines counts those of a dump of Go by their state and what they do.
type goroutines struct {
	tally
	count int

	open  bool   // a goroutine whose lines pass
	at    int    // its line
	state []byte // chan receive
	call  []byte // the first outside of libraries
}

func (g *goroutines) line(n int, line []byte) {
	switch {
	case isGoroutine(line):
		g.close()
		g.count++
		g.open, g.at, g.call = true, n, nil
		g.state, _, _ = bytes.Cut(line[bytes.IndexByte(line, '[')+1:], []byte("]"))
		g.state, _, _ = bytes.Cut(g.state, []byte(",")) // how long
	case len(line) == 0:
		g.close()
	case g.open && (g.call == nil || isLibrary(g.call)) && !isIndented(line) && isGoCall(line) && !hasPrefix(line, "created by "):
		if call := line[:bytes.LastIndexByte(line, '(')]; g.call == nil || !isLibrary(call) {
			g.call = call
		}
	}
}

// close counts the goroutine that is open.
func (g *goroutines) close() {
	if g.open {
		g.add([]byte("["+show.Clip(string(g.state), 30)+"] "+show.Clip(string(g.call), 100)), g.at)
	}
	g.open = false
}

func (g *goroutines) describe(d *Digest) {
	if g.close(); g.count > 0 {
		d.Facts = append(d.Facts, show.Plural(g.count, "goroutines"))
		d.Parts = append(d.Parts, g.part("goroutines"))
	}
}
