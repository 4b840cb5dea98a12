package pipeline

import (
	"bytes"
	"strconv"
)

// digestTrace tells the cause, the first frame of one's own, and goroutines or
// threads by equal stacks.
func digestTrace(d *digest, data []byte, t *ticker) error {
	cause := part{title: "cause", share: 35, most: 12, find: `proxy_search "Caused by|Error|Exception" finds all`}
	own := part{title: "frames outside libraries", share: 25, most: 10}
	var stacks goStacks
	var before numLine // the line above
	n, frames := 0, 0
	seen := map[string]bool{}
	fresh := false      // no frame of one's own since the cause
	var after []numLine // frames behind the last cause
	pythonOpen, message := false, 0
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		s := bytes.TrimSpace(line[:min(len(line), 2000)])
		frame := isFrame(line[:min(len(line), 2000)])
		stacks.line(n, line, s, frame)
		isFile := frame && line[0] == '\t' && !hasPrefix(s, "at ") && !hasPrefix(s, "... ") // of Go: the call stands above
		switch {
		case isFile:
			// A stack of Go: its calls are counted by their files.
			frames++
			if !isLibrary(s) && before.line != nil && !isLibrary(before.line) && !seen[string(s)] && own.total < 200 {
				seen[string(s)] = true
				own.addLine(before.n, before.line, 0)
				own.addLine(n, line, 0)
			}
		case frame:
			if !goCall(s) {
				frames++
			}
			pythonOpen = pythonOpen || hasPrefix(s, `File "`)
			if !goCall(s) && !isLibrary(s) && !hasPrefix(s, "... ") && len(seen) < 200 && !seen[string(s)] {
				seen[string(s)] = true
				own.addLine(n, line, 1-btoi(fresh))
				fresh = false
			}
		case hasPrefix(s, "goroutine "), len(s) == 0:
		case traceOpener(line), pythonOpen && line[0] != ' ' && line[0] != '\t', n == 0, message > 0 && !hasPrefix(s, "stack backtrace"):
			if !hasPrefix(s, "Traceback ") && !hasPrefix(s, "stack backtrace") && !hasPrefix(s, "During handling") && !hasPrefix(s, "The above exception") {
				rank := 1
				if hasPrefix(s, "Caused by") || hasPrefix(s, "panic: ") || hasPrefix(s, "fatal error: ") {
					rank = 0
				}
				cause.addLine(n, line, rank)
				fresh, after = true, after[:0]
			}
			pythonOpen = false
			message = max(message-1, 0)
			if bytes.Contains(s, []byte("' panicked at")) {
				message = 1 // Rust puts it below
			}
		}
		if frame && len(after) < 4 {
			after = append(after, numLine{n, line})
		}
		before = numLine{n, bytes.TrimRight(line, "\r\n")}
		n++
	}
	if frames > 0 {
		d.facts = append(d.facts, plural(frames, "frames"))
	}
	// The first and the last of the causes say most.
	for i := range cause.rows {
		if i == 0 || i == len(cause.rows)-1 {
			cause.rows[i].rank = 0
		} else if cause.rows[i].rank == 0 && i < len(cause.rows)-3 {
			cause.rows[i].rank = 1
		}
	}
	d.parts = append(d.parts, cause)
	stacks.tell(d)
	d.picks = append(d.picks, after...)
	if 2*own.total < n || own.total < 8 {
		d.parts = append(d.parts, own)
	}
	if k := len(cause.rows); k > 0 {
		at := cause.rows[k-1].n
		d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(max(at-5, 0)), "limit", "30"})
	}
	if own.total > 0 {
		at := own.rows[0].n
		if len(d.calls) == 0 || at > 30 {
			d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(max(at-5, 0)), "limit", "20"})
		}
	}
	return nil
}
