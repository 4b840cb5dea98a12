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
	python      bool // a traceback is open: what follows it is its cause
	message     bool // the next line is the message of a panic, as Rust has it
}

func readTrace(d *Digest, r *reader) {
	t := &traceReader{
		causes: Part{Title: "cause", Share: 35, Most: 12, Find: `proxy_search "Caused by|Error|Exception" finds all`},
		own:    Part{Title: "frames outside libraries", Share: 25, Most: 10},
		seen:   map[string]bool{},
	}
	var g goroutines
	lines := 0
	for n, line := range r.lines {
		g.line(n, line)
		t.line(n, line)
		lines++
	}
	if t.frames > 0 {
		d.Facts = append(d.Facts, show.Plural(t.frames, "frames"))
	}
	// The first cause and the last say most.
	causes := t.causes.Rows
	if len(causes) > 0 {
		causes[0].Rank, causes[len(causes)-1].Rank = 0, 0
		d.page(causes[len(causes)-1].N-5, 30)
	}
	d.Parts = append(d.Parts, t.causes)
	g.describe(d)
	d.Picks = append(d.Picks, t.after...)
	if t.own.Total < 8 || 2*t.own.Total < lines {
		d.Parts = append(d.Parts, t.own)
	}
	if len(t.own.Rows) > 0 && (len(d.Calls) == 0 || t.own.Rows[0].N > 30) {
		d.page(t.own.Rows[0].N-5, 20)
	}
}

func (t *traceReader) line(n int, line []byte) {
	s := bytes.TrimSpace(head(line, 2000))
	frame := isFrame(line)
	switch {
	case frame:
		t.frame(n, line, s)
	case len(s) == 0 || isGoroutine(s):
	case n == 0, t.message, t.python && !isIndented(line), startsTrace(line):
		t.message = contains(s, "' panicked at")
		t.python = false
		if !hasAnyPrefix(s, []string{"Traceback ", "stack backtrace", "During handling", "The above exception"}) {
			t.causes.addLine(n, line, btoi(!hasAnyPrefix(s, []string{"Caused by", "panic: ", "fatal error: "})))
			t.caused, t.after = true, t.after[:0]
		}
	}
	if frame && len(t.after) < maxAfter {
		t.after = append(t.after, Line{n, line})
	}
	t.above = Line{n, line}
}

func (t *traceReader) frame(n int, line, s []byte) {
	t.python = t.python || hasPrefix(s, `File "`)
	if isGoCall(s) && !isIndented(line) {
		return // its file is on the next line
	}
	t.frames++
	if len(t.seen) >= maxOwn || t.seen[string(s)] || isLibrary(s) || hasPrefix(s, "... ") {
		return
	}
	if isGoFile(line) {
		if isLibrary(t.above.Text) {
			return
		}
		t.own.addLine(t.above.N, t.above.Text, 0)
	}
	t.seen[string(s)] = true
	t.own.addLine(n, line, btoi(!t.caused && !isGoFile(line)))
	t.caused = false
}
