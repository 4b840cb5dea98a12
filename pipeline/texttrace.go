package pipeline

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// isFrame reports a line that stands in a stack trace for a call.
func isFrame(line []byte) bool {
	t := bytes.TrimLeft(line, " \t")
	indented := len(t) < len(line)
	t = bytes.TrimRight(t, " \t\r\n")
	if len(t) < 6 || len(t) > 2000 {
		return false
	}
	switch {
	case hasPrefix(t, "at "): // Java, JavaScript, .NET, Rust
		return indented && (t[len(t)-1] == ')' || bytes.IndexByte(t, ':') > 0 || bytes.IndexByte(t, '(') > 0)
	case hasPrefix(t, `File "`): // Python
		return bytes.Contains(t, []byte(`", line `))
	case hasPrefix(t, "... "): // Java
		return bytes.HasSuffix(t, []byte(" more"))
	case hasPrefix(t, "from "): // Ruby
		return indented && bytes.Contains(t, []byte(".rb:"))
	case t[0] == '#' && digitsAt(t, 1) > 0: // PHP, gdb
		return at(t, 1+digitsAt(t, 1), " ") && (bytes.IndexByte(t, '(') > 0 || bytes.HasSuffix(t, []byte("{main}")))
	case isDigit(t[0]): // Rust: "  12: core::panicking::panic"
		d := digitsAt(t, 0)
		return indented && at(t, d, ":") && at(t, d+1, " ") && bytes.Contains(t, []byte("::"))
	case bytes.Contains(t, []byte(":in `")), bytes.Contains(t, []byte(":in '")): // Ruby
		return bytes.Contains(t, []byte(".rb:"))
	}
	if indented && line[0] == '\t' { // Go
		i := bytes.Index(t, []byte(".go:"))
		return i > 0 && digitsAt(t, i+4) > 0 || bytes.Contains(t, []byte(".s:"))
	}
	return goCall(t) && !indented
}

// goCall reports main.(*T).f(0x1, {…}) and created by main.f in goroutine 1.
func goCall(t []byte) bool {
	if hasPrefix(t, "created by ") {
		return true
	}
	open := bytes.LastIndexByte(t, '(')
	if open < 3 || t[len(t)-1] != ')' || bytes.IndexByte(t[:open], '.') < 0 || bytes.IndexByte(t[:open], '=') >= 0 {
		return false
	}
	args := t[open+1 : len(t)-1]
	return bytes.IndexByte(t[:open], ' ') < 0 && (len(args) == 0 || hasPrefix(args, "0x") || hasPrefix(args, "{0x") || hasPrefix(args, "...") || hasPrefix(args, "{{"))
}

// traceOpener reports a line that begins a trace or names its cause.
func traceOpener(line []byte) bool {
	t := bytes.TrimSpace(line)
	switch {
	case hasPrefix(t, "Traceback (most recent call last)"), hasPrefix(t, "Caused by: "), hasPrefix(t, "Exception in thread "), hasPrefix(t, "Unhandled exception"), hasPrefix(t, "Suppressed: "),
		hasPrefix(t, "panic: "), hasPrefix(t, "fatal error: "), hasPrefix(t, "stack backtrace:"), hasPrefix(t, "Stack trace:"), hasPrefix(t, "PHP Fatal error:"), hasPrefix(t, "Fatal error: "),
		hasPrefix(t, "[signal "), hasPrefix(t, "--- End of"), hasPrefix(t, "---> "), hasPrefix(t, "Uncaught "):
		return true
	case hasPrefix(t, "thread '"):
		return bytes.Contains(t, []byte("' panicked at"))
	case hasPrefix(t, "goroutine "):
		return len(t) > 12 && isDigit(t[10]) && t[len(t)-1] == ':'
	}
	return isException(line)
}

// isException reports java.lang.IllegalStateException: text, TypeError: text,
// "Uncaught Error".
func isException(line []byte) bool {
	end := 0
	for end < len(line) && end < 100 && (isAlpha(line[end]) || isDigit(line[end]) || line[end] == '.' || line[end] == '_' || line[end] == '$') {
		end++
	}
	name := line[:end]
	if end < 5 || end < len(line) && line[end] != ':' && line[end] != '\r' && line[end] != '\n' && line[end] != ' ' {
		return false
	}
	if end < len(line) && line[end] == ' ' && !at(line, end+1, "[") { // Error [ERR_X]: text
		return false
	}
	return bytes.HasSuffix(name, []byte("Error")) || bytes.HasSuffix(name, []byte("Exception")) || bytes.HasSuffix(name, []byte("Interrupt")) ||
		bytes.HasSuffix(name, []byte("Warning")) && end < len(line) && line[end] == ':' && bytes.IndexByte(name, '.') > 0
}

// libraries are marks of frames that are not the caller's own code.
var libraries = []string{"node:", "node_modules/", "internal/", "site-packages/", "dist-packages/", "/lib/python", "<frozen ", "/usr/lib/", "/rustc/", "/.cargo/registry/",
	"/go/src/", "/src/runtime/", "/src/testing/", "/src/net/http/", "/pkg/mod/", "at java.", "at javax.", "at jdk.", "at sun.", "at java.base/", "at org.springframework.", "at org.apache.", "at org.junit.", "at org.hibernate.", "at org.postgresql.", "at com.mysql.", "at io.netty.", "at reactor.", "at com.fasterxml.", "at com.zaxxer.", "at com.sun.", "at org.eclipse.", "at org.gradle.", "at okhttp3.", "at kotlin.", "at scala.",
	"at System.", "at Microsoft.", "at Promise", "at new Promise", "<anonymous>", "std::", "core::", "alloc::", "rust_begin_unwind", "/gems/", "/vendor/", "runtime.", "panic("}

func isLibrary(frame []byte) bool {
	for _, mark := range libraries {
		if bytes.Contains(frame, []byte(mark)) {
			return true
		}
	}
	return false
}

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
