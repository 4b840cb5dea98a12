package records

import (
	"bytes"
	"context"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/digest"
)

// A log is read entry by entry, a line with those that belong to it. Values are spelt as
// in the text:
//
//	2026-01-02 03:04:05 ERROR [db] gone, took=3   time, level, tag, message, took
//	… host program[pid]: message                  of syslog: time, host, program, pid, message
//	time=… level=… msg="…" key=value              of logfmt: these names
//	1.2.3.4 - - […] "GET /x?q=1 HTTP/1.1" 200 5   of web servers: ip, user, time, method, path, query, protocol, status, bytes, referer, agent
//
// What stands between time and level is the source. What is key=value in a message is a
// member too, if the messages of enough entries have the key, and stays in the message.

const (
	maxPairs    = 100    // key=value taken out of one message
	maxPreamble = 5      // lines before the first entry
	maxKeys     = 10_000 // counted of messages

	leastPairs = 3  // entries have a key that is a member,
	sharePairs = 50 // and one of so many
)

// readLog goes over a log twice: the first time it counts the keys in messages.
func readLog(ctx context.Context, text []byte) (*Records, error) {
	w := &logWriter{writer: newWriter(ctx, len(text)), text: text, keys: map[string]int{}, counts: true}
	timed := isTimed(text)
	entries, inside, loose := w.entries(timed)
	if w.err != nil || entries < 2 || 5*loose > entries+inside+loose {
		return nil, w.err
	}
	w.counts, w.n = false, 0
	w.least = max(leastPairs, (entries+sharePairs-1)/sharePairs)
	w.entries(timed)
	return w.records("log")
}

// entries reads the log, and counts its entries, the lines inside of them, and others.
func (w *logWriter) entries(timed bool) (entries, inside, loose int) {
	wasInside := false
	start, at := 0, 0
	for line := range bytes.Lines(w.text) {
		bare := bytes.TrimRight(line, "\r\n")
		switch {
		case len(bytes.TrimSpace(bare)) == 0:
		case startsEntry(bare, timed):
			if start < at {
				w.entry(start, at)
			}
			start, wasInside = at, false
			entries++
		case entries == 0:
			if loose++; loose > maxPreamble {
				return 0, 0, loose
			}
			w.entry(at, at+len(line))
			start = at + len(line)
		case digest.InsideEntry(bare) || wasInside:
			wasInside = true
			inside++
		default:
			loose++
		}
		at += len(line)
		if !w.ok() {
			break
		}
	}
	if start < at {
		w.entry(start, at)
	}
	return entries, inside, loose
}

// isTimed reports that entries begin with a time, by the first lines of a log.
func isTimed(text []byte) bool {
	times, levels, n := 0, 0, 0
	for line := range bytes.Lines(text) {
		if n++; n > 500 {
			break
		}
		if _, _, ok := digest.TimeIn(line); ok {
			times++
		} else if digest.StartsWithLevel(line) {
			levels++
		}
	}
	return 2*times >= levels
}

func startsEntry(line []byte, timed bool) bool {
	_, _, ok := digest.TimeIn(line)
	return ok || isPairs(line) || !timed && digest.StartsWithLevel(line)
}

type logWriter struct {
	*writer
	text   []byte
	pairs  [maxPairs]pair
	keys   map[string]int // entries whose messages have them
	counts bool           // keys are counted, and nothing is written
	least  int            // such entries, for a key that is a member
}

type pair struct {
	key   string
	value []byte
}

// entry writes the entry that stands in text[start:end].
func (w *logWriter) entry(start, end int) {
	entry := bytes.TrimRight(w.text[start:end], " \t\r\n")
	line, _, _ := bytes.Cut(entry, []byte("\n"))
	line = bytes.TrimRight(line, "\r")
	w.open()
	defer func() {
		if w.close(); w.counts {
			w.out = w.out[:0]
		}
	}()
	if w.access(line) {
		return
	}
	if isPairs(line) {
		pairs, behind := w.pairsOf(line)
		w.add(pairs, true)
		w.trimmed("rest", entry[len(line)-len(behind):])
		return
	}
	w.general(line, entry)
}

func (w *logWriter) trimmed(name string, value []byte) { w.writer.text(name, bytes.TrimSpace(value)) }

// general writes an entry of any other log.
func (w *logWriter) general(line, entry []byte) {
	from, to, timed := digest.TimeIn(line)
	if timed {
		to += zone(line[to:])
		w.writer.text("time", line[from:to])
		w.trimmed("source", bytes.Trim(line[:from], " \t[(<|\x1b"))
	}
	message := to
	if start, end, ok := digest.LevelIn(line, to); ok {
		w.writer.text("level", line[start:end])
		if start < to { // klog
			end = to
		}
		if w.header(line[to:max(start, to)]) {
			message = end
		}
	} else if timed {
		message += w.syslog(line[to:], line[from])
	}
	rest := bytes.TrimLeft(entry[message:], "])>:|,- \t\"")
	if tag, behind, ok := bracketed(rest); ok {
		w.writer.text("tag", tag)
		rest = bytes.TrimLeft(behind, ":- \t")
	}
	w.trimmed("message", rest)
	first, _, _ := bytes.Cut(rest, []byte("\n"))
	if i := bytes.Index(first, []byte("\t{")); i > 0 && jsonscan.Valid(first[i+1:], 100) { // of zap
		w.key("fields")
		w.out = append(w.out, bytes.TrimSpace(first[i+1:])...)
		return
	}
	pairs, _ := w.pairsOf(first)
	w.add(pairs, false)
}

// zone is the length of a time zone such as " UTC" that s begins with.
func zone(s []byte) int {
	n := 1
	for n < len(s) && s[n] >= 'A' && s[n] <= 'Z' {
		n++
	}
	if len(s) <= n || s[0] != ' ' || s[n] != ' ' || n < 4 || n > 5 {
		return 0
	}
	if _, _, level := digest.LevelIn(s[:n+1], 1); level {
		return 0
	}
	return n
}

// header writes what stands between time and level, and reports whether it is that, and
// no begin of a message.
func (w *logWriter) header(s []byte) bool {
	s = bytes.Trim(s, " \t|:-,[](<")
	pid := leadingDigits(s)
	isPID := pid > 0 && (pid == len(s) || s[pid] == ']')
	if words := len(bytes.Fields(s)); len(s) > 80 || words > 4 || words > 1 && !isPID && bytes.IndexByte(s, ']') < 0 && !bytes.Contains(s, []byte(" - ")) {
		return false
	}
	if isPID {
		w.scalar("pid", s[:pid])
		s = bytes.Trim(s[pid:], " \t|:-,[](<")
	}
	w.writer.text("source", s)
	return true
}

// syslog writes host, program and pid, which s may begin with, and returns their length.
func (w *logWriter) syslog(s []byte, time byte) int {
	host, program, ok := bytes.Cut(bytes.TrimSpace(s), []byte(" "))
	end := bytes.IndexAny(program, ": ")
	if !ok || end < 1 || program[end] != ':' || len(host) > 80 || bytes.IndexByte(host, ':') >= 0 {
		return 0
	}
	name, pid, _ := bytes.Cut(program[:end], []byte("["))
	n := leadingDigits(pid)
	if len(name) == 0 || n == 0 && (time < 'A' || len(pid) > 0) || n > 0 && string(pid[n:]) != "]" {
		return 0
	}
	w.writer.text("host", host)
	w.writer.text("program", name)
	w.scalar("pid", pid[:n])
	return len(s) - len(bytes.TrimLeft(s, " ")) + len(host) + 1 + end + 1
}

// maxTag bytes may stand in brackets, others among them.
const maxTag = 120

// bracketed returns what stands in the brackets that s begins with.
func bracketed(s []byte) (inside, behind []byte, ok bool) {
	open := 0
	for i, c := range s[:min(len(s), maxTag+2)] {
		switch c {
		case '[':
			open++
		case ']':
			open--
		}
		if c == '\n' || open == 0 {
			return s[min(i, 1):i], s[i+1:], c == ']' && i > 1
		}
	}
	return nil, s, false
}

func leadingDigits(s []byte) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// access writes a line of a web server's log, if it is one.
func (w *logWriter) access(line []byte) bool {
	var head [3][]byte
	s := line
	for i := range head {
		word, rest, ok := bytes.Cut(s, []byte(" "))
		if !ok || len(word) == 0 {
			return false
		}
		head[i], s = word, rest
	}
	time, behind, ok := bracketed(s)
	if !ok {
		return false
	}
	request, behind, ok := quoted(behind)
	if !ok {
		return false
	}
	status, behind, _ := bytes.Cut(behind, []byte(" "))
	if len(status) != 3 || leadingDigits(status) != 3 {
		return false
	}
	size, behind, _ := bytes.Cut(behind, []byte(" "))
	w.given("ip", head[0])
	w.given("user", head[2])
	w.given("time", time)
	if parts := bytes.Fields(request); len(parts) == 3 {
		path, query, _ := bytes.Cut(parts[1], []byte("?"))
		w.given("method", parts[0])
		w.given("path", path)
		w.given("query", query)
		w.given("protocol", parts[2])
	} else {
		w.given("request", request)
	}
	w.scalar("status", status)
	if leadingDigits(size) == len(size) {
		w.scalar("bytes", size)
	}
	if referer, more, ok := quoted(behind); ok {
		w.given("referer", referer)
		if agent, rest, ok := quoted(more); ok {
			w.given("agent", agent)
			more = rest
		}
		behind = more
	}
	w.given("rest", bytes.TrimSpace(behind))
	return true
}

// given writes a member unless the server has put - for it.
func (w *logWriter) given(name string, value []byte) {
	if string(value) != "-" {
		w.writer.text(name, value)
	}
}

// quoted returns the string in quotes that s begins with, as it is written, and what is
// behind it and a blank.
func quoted(s []byte) (inside, behind []byte, ok bool) {
	s = bytes.TrimLeft(s, " ")
	if len(s) == 0 || s[0] != '"' {
		return nil, s, false
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[1:i], bytes.TrimPrefix(s[i+1:], []byte(" ")), true
		}
	}
	return nil, s, false
}

// isPairs reports a line of logfmt: key=value and nothing else, a level or a message
// among them.
func isPairs(line []byte) bool {
	n, known := 0, false
	for s := line; len(s) > 0; n++ {
		key, _, behind, ok := nextPair(s)
		if !ok {
			return false
		}
		known = known || key == "msg" || key == "level" || key == "message" || key == "lvl"
		s = behind
	}
	return n > 1 && known
}

// pairsOf returns key=value in s, and what is behind the last that it takes.
func (w *logWriter) pairsOf(s []byte) ([]pair, []byte) {
	found := w.pairs[:0]
	for len(s) > 0 && len(found) < maxPairs {
		key, value, behind, ok := nextPair(s)
		if !ok {
			if _, behind, ok = bytes.Cut(s, []byte(" ")); !ok {
				break
			}
			s = behind
			continue
		}
		found = append(found, pair{key, value})
		s = behind
	}
	return found, s
}

// add writes pairs whose keys the entry does not have yet: all, or those of many entries.
func (w *logWriter) add(pairs []pair, all bool) {
	for _, p := range pairs {
		if p.key == "rest" || slices.Contains(w.names, p.key) {
			continue
		}
		if n := w.keys[p.key]; w.counts && !all {
			if w.names = append(w.names, p.key); n > 0 || len(w.keys) < maxKeys {
				w.keys[p.key] = n + 1
			}
		} else if all || n >= w.least {
			w.scalar(p.key, bytes.TrimRight(p.value, ",;"))
		}
	}
}

// nextPair reads key=value or key="value" at the begin of s, and the blanks behind it.
func nextPair(s []byte) (key string, value, behind []byte, ok bool) {
	s = bytes.TrimLeft(s, " ")
	n := 0
	for n < len(s) && (s[n] == '_' || s[n]|0x20 >= 'a' && s[n]|0x20 <= 'z' || n > 0 && (s[n] == '.' || s[n] == '-' || s[n] == '/' || s[n] >= '0' && s[n] <= '9')) {
		n++
	}
	if n == 0 || n > 60 || n >= len(s) || s[n] != '=' {
		return "", nil, s, false
	}
	key = string(s[:n])
	if inside, behind, ok := quoted(s[n+1:]); ok && s[n+1] == '"' {
		if bytes.IndexByte(inside, '\\') >= 0 && jsonscan.Valid(s[n+1:][:len(inside)+2], 0) {
			inside = []byte(jsonscan.Unquote(s[n+1:][:len(inside)+2]))
		}
		return key, inside, bytes.TrimLeft(behind, " "), true
	}
	value, behind, _ = bytes.Cut(s[n+1:], []byte(" "))
	return key, value, bytes.TrimLeft(behind, " "), true
}
