package pipeline

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
			if from > 0 && line[from-1] == '[' && status0(line) {
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

func status0(line []byte) bool {
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
	ts          *templates
	from, to    string // stamps
	levels      [numLevels]int
	spelt       [numLevels][]string
	firstOf     [numLevels]numLine
	lastOf      [numLevels]numLine
	classes     [6]int // of statuses
	stamps      int
	inside, bad int
	access      bool
	entry       *template // of the last line
}

func digestLog(d *digest, data []byte, t *ticker) error {
	r := &logReader{ts: newTemplates(), access: d.kind == "access log"}
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

func (r *logReader) line(n int, line []byte) {
	if len(bytes.TrimSpace(line[:min(len(line), 200)])) == 0 {
		return
	}
	from, to, ok := stamp(line)
	if ok {
		s := line[from:to]
		if r.stamps++; r.stamps == 1 {
			r.from = string(s)
		}
		r.to = string(s)
	} else if r.stamps > 0 && (line[0] == ' ' || line[0] == '\t' || isFrame(line) || traceOpener(line) || line[0] == '}' || line[0] == ']') {
		if r.inside++; r.entry != nil && r.entry.count == 1 && len(r.entry.cause) < 3 && traceOpener(line) {
			r.entry.cause = append(r.entry.cause, numLine{n, line})
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
		r.firstOf[l] = numLine{n, line}
	}
	r.lastOf[l] = numLine{n, line}
	if l >= warnLevel && len(r.spelt[l]) < 3 {
		r.spell(l, as)
	}
	for len(message) > 0 && (message[0] == ']' || message[0] == ' ' || message[0] == '"' && !r.access || message[0] == '\t' || message[0] == ')') {
		message = message[1:]
	}
	r.entry = r.ts.add(l, bad, n, line, message, kept)
}

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

// summary tells the span of time and the levels.
func (r *logReader) summary(d *digest) {
	if r.stamps > 0 {
		d.say("span: %s .. %s", r.from, r.to)
	}
	var counts []string
	if r.access {
		for class, n := range r.classes {
			if n > 0 && class > 0 {
				counts = append(counts, fmt.Sprintf("%dxx %s", class, Comma(n)))
			}
		}
		if n := r.classes[0]; n > 0 {
			counts = append(counts, "no status "+Comma(n))
		}
	} else {
		for l := numLevels - 1; l >= noLevel; l-- {
			if n := r.levels[l]; n > 0 {
				name := levelNames[l]
				if l == noLevel && r.bad > 0 {
					name += fmt.Sprintf(" (%s with words like error, failed)", Comma(r.bad))
				}
				counts = append(counts, name+" "+Comma(n))
			}
		}
	}
	if r.inside > 0 {
		counts = append(counts, "lines inside entries "+Comma(r.inside))
	}
	if r.access {
		d.say("statuses: %s", strings.Join(counts, ", "))
	} else {
		d.say("levels: %s", strings.Join(counts, ", "))
	}
}

// rows lists the templates, the most frequent first.
func (r *logReader) rows(d *digest, clusters []*cluster) {
	byCount := slices.Clone(clusters)
	slices.SortStableFunc(byCount, func(a, b *cluster) int { return cmp.Compare(b.count, a.count) })
	p := part{title: "templates, times × first line", share: 45}
	once := len(byCount) - slices.IndexFunc(byCount, func(c *cluster) bool { return c.count == 1 })
	if once <= len(byCount) {
		p.title += "; " + Comma(once) + " more seen once"
		byCount = byCount[:len(byCount)-once]
	}
	for i, c := range byCount {
		p.addf(-1, i/8, "%s× %d  %s", Comma(c.count), c.first.n+1, clip(c.text, 130))
	}
	if len(p.rows) > 0 {
		d.parts = append(d.parts, p)
	}
}

// picks are the lines to be read first: the worst, then the rare.
func (r *logReader) picks(d *digest, clusters []*cluster) {
	worst := slices.Clone(clusters)
	rank := func(c *cluster) int {
		switch {
		case c.level >= errorLevel:
			return int(c.level)
		case c.bad:
			return int(warnLevel)
		case c.level == warnLevel:
			return int(warnLevel) - 1
		}
		return 0
	}
	slices.SortStableFunc(worst, func(a, b *cluster) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a.count, b.count))
	})
	for l := fatalLevel; l >= errorLevel; l-- {
		if r.levels[l] > 0 {
			d.picks = append(d.picks, r.firstOf[l])
			for _, c := range worst {
				if c.first.n == r.firstOf[l].n {
					d.picks = append(d.picks, c.cause...)
				}
			}
		}
	}
	add := func(most int, want func(c *cluster) bool) {
		for _, c := range worst {
			if most > 0 && want(c) {
				d.picks = append(append(d.picks, c.first), c.cause...)
				most--
			}
		}
	}
	add(12, func(c *cluster) bool { return rank(c) >= int(errorLevel) })
	for l := fatalLevel; l >= errorLevel; l-- {
		if r.levels[l] > 1 {
			d.picks = append(d.picks, r.lastOf[l])
		}
	}
	add(8, func(c *cluster) bool { return rank(c) == int(warnLevel) })
	if len(d.picks) < 12 {
		add(12, func(c *cluster) bool { return rank(c) == int(warnLevel)-1 && c.count <= 2 })
		// Where most lines are like no other, none stands out.
		add(10, func(c *cluster) bool {
			return rank(c) == 0 && c.count <= 2 && len(clusters) < 400
		})
	}
}

// calls search for the worst level there is, as it is written, and go to where
// it is first seen.
func (r *logReader) calls(d *digest, clusters []*cluster) {
	if len(d.picks) > 0 {
		n := max(d.picks[0].n-10, 0)
		defer func() {
			d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(n), "limit", "30"})
		}()
	}
	var patterns []string
	if r.access {
		for class := 5; class >= 4 && len(patterns) == 0; class-- {
			if r.classes[class] > 0 {
				patterns = append(patterns, fmt.Sprintf(`" %d\d\d `, class))
			}
		}
	}
	for l := fatalLevel; l >= warnLevel && !r.access; l-- {
		if l == warnLevel && len(patterns) > 0 {
			break
		}
		for _, s := range r.spelt[l] {
			if len(s) == 1 {
				s = "^" + s + `\d`
			} else {
				s = regexp.QuoteMeta(s)
			}
			patterns = append(patterns, s)
		}
	}
	switch {
	case len(patterns) > 0:
		d.calls = append(d.calls, []string{"proxy_search", "pattern", quoted(strings.Join(patterns, "|")), "context_lines", "2"})
	case r.bad > 0:
		d.calls = append(d.calls, []string{"proxy_search", "pattern", quoted("error|exception|fail|fatal|panic|denied|refused|timed out"), "case_insensitive", "true", "context_lines", "2"})
	default:
		var rare *cluster
		for _, c := range clusters {
			if rare == nil || c.count < rare.count {
				rare = c
			}
		}
		if rare == nil {
			return
		}
		if word := longestWord(rare.text); word != "" {
			d.calls = append(d.calls, []string{"proxy_search", "pattern", quoted(word), "context_lines", "2"})
		}
	}
}

// longestWord of letters in s, or nothing.
func longestWord(s string) string {
	best := ""
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r > '~' || !isAlpha(byte(r)) }) {
		if len(w) > len(best) && len(w) > 3 && len(w) < 40 {
			best = w
		}
	}
	return best
}
