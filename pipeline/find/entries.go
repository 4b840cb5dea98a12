package find

import (
	"bytes"

	"rlmproxy/pipeline/digest"
)

const (
	// entryLines are shared by the hits of a log, each line of theirs included; one hit
	// has up to mostEntry of its entry.
	entryLines = 12
	mostEntry  = 6

	farLines = 200 // before a line, in which the head of its entry is looked for
)

// logEntries are those of a log, or the stacks of a trace.
type logEntries struct {
	view   *view
	starts func(line []byte) bool
	room   int // lines of one that are shown from a hit on
}

// entriesOf returns nil for a text whose lines stand alone.
func entriesOf(w *view, hits int) *logEntries {
	if w.kind != "log" && w.kind != "stack trace" {
		return nil
	}
	room := min(mostEntry, entryLines/max(1, hits))
	if room < 3 {
		room = 1 // of many, the lines that were asked for
	}
	return &logEntries{w, digest.Entry(w.kind), room}
}

// continues is how PostgreSQL begins what belongs to the line before it, which it writes with
// a time as well.
var continues = [][]byte{[]byte(" DETAIL:  "), []byte(" HINT:  "), []byte(" STATEMENT:  "), []byte(" CONTEXT:  "), []byte(" QUERY:  ")}

func (e *logEntries) begins(n int) bool {
	span := e.view.lines.Span(n)
	line := e.view.text[span.Start:min(span.End, span.Start+windowBytes)]
	if !e.starts(line) {
		return false
	}
	for _, m := range continues {
		if bytes.Contains(line, m) {
			return false
		}
	}
	return true
}

// around returns the first line of the entry that line n is in, the last that is shown,
// and how many are left of it. The first is n if it is far.
func (e *logEntries) around(n int) (head, to, left int) {
	head = n
	for head > 1 && n-head < farLines && !e.begins(head) {
		head--
	}
	if !e.begins(head) {
		return n, n, 0
	}
	to = n
	for next := n + 1; next <= e.view.lines.Len() && next-n < farLines && !e.begins(next); next++ {
		if span := e.view.lines.Span(next); span.Len() == 0 {
			break
		}
		switch {
		case next-n < e.room:
			to = next
		case e.room > 1:
			left++
		}
	}
	if left == 1 { // it is no longer than to say so
		return head, to + 1, 0
	}
	return head, to, left
}
