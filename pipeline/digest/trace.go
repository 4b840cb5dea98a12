package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

// digestTrace tells the cause, the first frame of one's own, and goroutines or
// threads by equal stacks.
func digestTrace(d *Digest, data []byte, t *ticker) error {
	cause := Part{Title: "cause", Share: 35, Most: 12, Find: `proxy_search "Caused by|Error|Exception" finds all`}
	own := Part{Title: "frames outside libraries", Share: 25, Most: 10}
	var stacks goStacks
	var before Line // the line above
	n, frames := 0, 0
	seen := map[string]bool{}
	fresh := false   // no frame of one's own since the cause
	var after []Line // frames behind the last cause
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
			if !isLibrary(s) && before.Text != nil && !isLibrary(before.Text) && !seen[string(s)] && own.Total < 200 {
				seen[string(s)] = true
				own.addLine(before.N, before.Text, 0)
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
			after = append(after, Line{n, line})
		}
		before = Line{n, bytes.TrimRight(line, "\r\n")}
		n++
	}
	if frames > 0 {
		d.Facts = append(d.Facts, show.Plural(frames, "frames"))
	}
	// The first and the last of the causes say most.
	for i := range cause.Rows {
		if i == 0 || i == len(cause.Rows)-1 {
			cause.Rows[i].Rank = 0
		} else if cause.Rows[i].Rank == 0 && i < len(cause.Rows)-3 {
			cause.Rows[i].Rank = 1
		}
	}
	d.Parts = append(d.Parts, cause)
	stacks.tell(d)
	d.Picks = append(d.Picks, after...)
	if 2*own.Total < n || own.Total < 8 {
		d.Parts = append(d.Parts, own)
	}
	if k := len(cause.Rows); k > 0 {
		at := cause.Rows[k-1].N
		d.page(max(at-5, 0), 30)
	}
	if own.Total > 0 {
		at := own.Rows[0].N
		if len(d.Calls) == 0 || at > 30 {
			d.page(max(at-5, 0), 20)
		}
	}
	return nil
}
