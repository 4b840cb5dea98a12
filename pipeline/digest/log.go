package digest

import (
	"bytes"
	"slices"
)

// guessLog tells logs and stack traces apart: a log may have traces inside.
func guessLog(s *sniffed) string {
	var stamps, levels, frames, pairs, openers, inside, access, lead int
	for i, line := range s.lines {
		t := bytes.TrimSpace(line)
		if len(t) == 0 {
			continue
		}
		from, to, ok := stamp(line)
		l, _ := levelOf(line, 0)
		switch {
		case ok:
			stamps++
			if from > 0 && line[from-1] == '[' && hasStatus(line) {
				access++
			}
			if lead == 0 {
				lead = i + 1
			}
		case isFrame(line):
			frames++
		case traceOpener(line):
			openers++
		case stamps > 0 && (line[0] == ' ' || line[0] == '\t'):
			inside++
		case startsWithLevel(t):
			levels++
		case isLogfmt(line):
			levels++
		}
		if ok && to < len(line) && bytes.IndexByte([]byte("\t,;"), line[to]) >= 0 && l == noLevel {
			pairs++ // a column of times
		}
	}
	trace := frames + openers
	switch {
	case stamps > 0 && access == stamps && s.most(access, 40):
		return "access log"
	case s.most(trace, 25) && openers+frames > 1 && (stamps < 3 || 20*stamps < s.full):
		return "stack trace"
	case frames > 0 && openers > 0 && s.most(trace, 15) && stamps == 0 && levels == 0:
		return "stack trace"
	case stamps > 0 && 2*pairs > stamps:
		return ""
	case s.most(stamps, 40), stamps > 1 && lead <= 3 && s.most(stamps+inside+frames+openers, 80) && s.most(stamps, 4):
		return "log"
	case levels > 1 && s.most(levels+inside, 50), levels > 0 && s.full == 1:
		return "log"
	}
	return ""
}

func hasStatus(line []byte) bool {
	class, _ := status(line)
	return class > 0
}

// startsWithLevel: "ERROR: …", "[warn] …", "npm ERR! …", "INFO:root:…".
func startsWithLevel(t []byte) bool {
	t = bytes.TrimLeft(t, "[<(* ")
	npm := hasPrefix(t, "npm ")
	if npm {
		t = t[4:]
	}
	end := 0
	for end < len(t) && isAlpha(t[end]) {
		end++
	}
	if npm {
		return levelWords[string(bytes.ToLower(t[:min(end, levelWord)]))] != noLevel
	}
	return levelWords[string(bytes.ToLower(t[:min(end, levelWord)]))] != noLevel && end < len(t) && bytes.IndexByte([]byte(":]>) \t|-!"), t[end]) >= 0 && (t[end] != ' ' || t[0] < 'a')
}

// isLogfmt reports a line of at least three key=value, a level or a message
// among them.
func isLogfmt(line []byte) bool {
	if !bytes.Contains(line, []byte("msg=")) && !bytes.Contains(line, []byte("level=")) {
		return false
	}
	return bytes.Count(line, []byte("=")) > 1 && bytes.IndexByte(line, '=') < bytes.IndexByte(append(line[:len(line):len(line)], ' '), ' ')
}

// A logReader gathers what a log says.
type logReader struct {
	ts *templates
	// stamps, as written: of the first and the last entry, and the range
	first, last, from, to []byte
	levels                [numLevels]int
	spelt                 [numLevels][]string
	firstOf               [numLevels]Line
	lastOf                [numLevels]Line
	classes               [6]int // of statuses
	stamps                int
	inside, bad           int
	access                bool
	entry                 *template // of the last line
	traces                []Line    // begins of stack traces in entries of which there were others before
}

func digestLog(d *Digest, data []byte, t *ticker) error {
	r := &logReader{ts: newTemplates(), access: d.Kind == "access log"}
	n := 0
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		r.line(n, line)
		n++
	}
	same := sameWords
	if r.access {
		same = 100
	}
	clusters := r.ts.merge(same)
	r.summary(d)
	r.rows(d, clusters)
	r.picks(d, clusters)
	r.calls(d, clusters)
	return nil
}

// yearFirst reports whether a time begins as 2024-01-02 does.
func yearFirst(stamp []byte) bool {
	return len(stamp) > 10 && digitsAt(stamp, 0) == 4 && (stamp[4] == '-' || stamp[4] == '/')
}

func (r *logReader) line(n int, line []byte) {
	if len(bytes.TrimSpace(line[:min(len(line), 200)])) == 0 {
		return
	}
	from, to, ok := stamp(line)
	if ok {
		s := line[from:to]
		if r.stamps++; r.stamps == 1 {
			r.first, r.from, r.to = s, s, s
		}
		r.last = s
		// Where the year stands first, the order of bytes is that of time.
		switch sorts := yearFirst(s) && yearFirst(r.from); {
		case !sorts:
			r.to = s
		case bytes.Compare(s, r.from) < 0:
			r.from = s
		case bytes.Compare(s, r.to) > 0:
			r.to = s
		}
	} else if r.stamps > 0 && (line[0] == ' ' || line[0] == '\t' || isFrame(line) || traceOpener(line) || line[0] == '}' || line[0] == ']') {
		if r.inside++; r.entry != nil && traceOpener(line) {
			r.trace(n, line)
		}
		return
	}
	var l level
	var as []byte
	message := line[to:]
	var kept []byte // behind the message, not masked
	if r.access {
		class, at := status(line)
		r.classes[class]++
		l, as = map[int]level{2: infoLevel, 3: infoLevel, 4: warnLevel, 5: errorLevel}[class], nil
		message = request(line, at)
		if class > 0 {
			kept = line[at : at+3]
		}
	} else if l, as = levelOf(line, to); l == noLevel {
		if l = letterPrefix(line); l != noLevel {
			as = line[:1]
		}
	}
	bad := l == noLevel && soundsBad(message[:min(len(message), 1000)])
	if bad {
		r.bad++
	}
	if r.levels[l]++; r.levels[l] == 1 {
		r.firstOf[l] = Line{n, line}
	}
	r.lastOf[l] = Line{n, line}
	if l >= warnLevel && len(r.spelt[l]) < 3 {
		r.spell(l, as)
	}
	for len(message) > 0 && (message[0] == ']' || message[0] == ' ' || message[0] == '"' && !r.access || message[0] == '\t' || message[0] == ')') {
		message = message[1:]
	}
	r.entry = r.ts.add(l, bad, n, line, message, kept)
}

// trace keeps the begin of a stack trace: with the entry, if it is the first of
// its template, else by itself. Equal ones are kept once.
func (r *logReader) trace(n int, line []byte) {
	if r.entry.count == 1 {
		if len(r.entry.cause) < 3 {
			r.entry.cause = append(r.entry.cause, Line{n, line})
		}
		return
	}
	if len(r.traces) < maxTraces && !slices.ContainsFunc(r.traces, func(l Line) bool { return bytes.Equal(l.Text, line) }) {
		r.traces = append(r.traces, Line{n, line})
	}
}

const maxTraces = 4

// request is what an access log was asked: the method and the path, without a
// query.
func request(line []byte, at int) []byte {
	quote := bytes.IndexByte(line, '"')
	if quote < 0 || at < quote+3 {
		return line
	}
	request := line[quote+1 : at-2]
	if i := bytes.LastIndexByte(request, ' '); i > 0 && hasPrefix(request[i:], " HTTP/") {
		request = request[:i]
	}
	if i := bytes.IndexByte(request, '?'); i > 0 {
		request = request[:i]
	}
	return request
}

// spell keeps how a level is written, for the pattern of a search.
func (r *logReader) spell(l level, as []byte) {
	for _, c := range as {
		if c < ' ' || c > '~' {
			as = bytes.TrimFunc(as, func(c rune) bool { return c > '~' || !isAlpha(byte(c)) })
			break
		}
	}
	if s := string(as); len(s) > 0 && len(s) < 40 && !slices.Contains(r.spelt[l], s) {
		r.spelt[l] = append(r.spelt[l], s)
	}
}
