package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

// isTrace wants calls below what begins a trace. A log may have traces inside.
func isTrace(s *sample) bool {
	c := countLog(s)
	switch {
	case c.trace < 2:
		return false
	case s.most(c.trace, 25):
		return c.times < 3 || 20*c.times < s.full
	}
	return c.frames > 0 && c.trace > c.frames && s.most(c.trace, 15) && c.times == 0 && c.levels == 0
}

const (
	maxOwn   = 200 // frames outside libraries that are kept
	maxAfter = 4   // frames shown below the last cause
)

// A traceReader follows causes and frames.
type traceReader struct {
	causes, own Part
	frames      int
	seen        map[string]bool // of own
	after       []Line          // frames below the last cause
	caused      bool            // since a cause, there was no frame outside libraries
	above       Line
	expected    bool // the next line at the margin is a cause, as Python and Rust have it
}

func readTrace(d *Digest, r *reader) {
	t := &traceReader{
		causes: Part{Title: "cause", Share: 35, Most: 12, Find: `proxy_search "Caused by|Error|Exception" finds all`},
		own:    Part{Title: "frames outside libraries", Share: 25, Most: 10},
		seen:   map[string]bool{},
	}
	for n, line := range r.lines {
		t.line(n, line)
		t.above = Line{n, line}
	}
	if t.frames > 0 {
		d.Facts = append(d.Facts, show.Plural(t.frames, "frames"))
	}
	d.Parts = append(d.Parts, t.causes)
	if rows := t.causes.Rows; len(rows) > 0 { // the first cause and the last say most
		rows[0].Rank, rows[len(rows)-1].Rank = 0, 0
	}
	d.Highlights = append(d.Highlights, t.after...)
	if t.own.Total < 8 || 2*t.own.Total < t.above.N {
		d.Parts = append(d.Parts, t.own)
	}
}

func (t *traceReader) line(n int, line []byte) {
	s := bytes.TrimSpace(head(line, 2000))
	switch {
	case isFrame(line):
		if len(t.after) < maxAfter {
			t.after = append(t.after, Line{n, line})
		}
		t.frame(n, line, s)
	case len(s) == 0 || isGoroutine(s):
	case n == 0, t.expected && !isIndented(line), startsTrace(line):
		t.expected = contains(s, "' panicked at")
		if !hasAnyPrefix(s, []string{"Traceback ", "stack backtrace", "During handling", "The above exception"}) {
			t.causes.addLine(n, line, btoi(!hasAnyPrefix(s, []string{"Caused by", "panic: ", "fatal error: "})))
			t.caused, t.after = true, t.after[:0]
		}
	}
}

func (t *traceReader) frame(n int, line, s []byte) {
	t.expected = t.expected || hasPrefix(s, `File "`)
	if isGoCall(s) && !isIndented(line) {
		return // its file is on the next line
	}
	t.frames++
	goFile := isGoFile(line)
	if len(t.seen) >= maxOwn || t.seen[string(s)] || isLibrary(s) || hasPrefix(s, "... ") || goFile && isLibrary(t.above.Text) {
		return
	}
	t.seen[string(s)] = true
	if goFile {
		t.own.addLine(t.above.N, t.above.Text, 0)
	}
	t.own.addLine(n, line, btoi(!t.caused && !goFile))
	t.caused = false
}
