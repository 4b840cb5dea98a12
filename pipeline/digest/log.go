package digest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/pipeline/show"
)

// isLog wants times or levels on most lines, what stands inside of entries aside.
func isLog(s *sample) bool {
	c := countLog(s)
	switch {
	case c.times > 0 && 2*c.columns > c.times:
		return false // a table whose first column is a time
	case s.most(c.times, 40), c.times > 1 && c.firstTime < 3 && s.most(c.times+c.inside+c.trace, 80) && s.most(c.times, 4):
		return true
	}
	return c.levels > 1 && s.most(c.levels+c.inside, 50) || c.levels > 0 && s.full == 1
}

// logCounts says how many lines of a sample are what.
type logCounts struct {
	times, levels int // lines with a time; with a level and no time
	trace         int // lines of stack traces
	frames        int // of those, calls
	inside        int // indented lines below one with a time
	columns       int // times that are a cell of a table
	firstTime     int // line
}

func countLog(s *sample) logCounts {
	var c logCounts
	for i, line := range s.lines {
		t := bytes.TrimSpace(line)
		_, to, ok := timestamp(line)
		switch {
		case len(t) == 0:
		case ok:
			if c.times++; c.times == 1 {
				c.firstTime = i
			}
			if levelOf(line, 0) == noLevel && to < len(line) && isOneOf(line[to], "\t,;") {
				c.columns++
			}
		case isFrame(line):
			c.frames++
			c.trace++
		case startsTrace(line):
			c.trace++
		case c.times > 0 && isIndented(line):
			c.inside++
		case startsWithLevel(line), isLogfmt(line):
			c.levels++
		}
	}
	return c
}

// isLogfmt reports a line of key=value with a level or a message among them.
func isLogfmt(line []byte) bool {
	word, _, _ := bytes.Cut(line, []byte(" "))
	return bytes.IndexByte(word, '=') > 0 && bytes.Count(line, []byte("=")) > 1 && (contains(line, "msg=") || contains(line, "level="))
}

func startsLogEntry(line []byte) bool {
	_, _, ok := timestamp(line)
	return ok || startsWithLevel(line) || isLogfmt(line)
}

// A logReader gathers what a log says.
type logReader struct {
	templates
	entry *template // of the last line

	times       int
	first, last []byte // times as written
	levels      [numLevels]levelLines
	statuses    [6]int // lines of an access log by class; 0 is not used
	inside, bad int    // lines inside of entries; lines that sound bad
	traces      []Line // begins of stack traces below entries that are not the first of their template
}

// levelLines are the lines of one level.
type levelLines struct {
	count int
	last  Line
}

func readLog(d *Digest, r *reader) {
	l := &logReader{templates: templates{masked: map[string]*template{}, near: map[group][]*template{}}}
	for n, line := range r.lines {
		if notBlank(head(line, 200)) {
			l.line(Line{n, line})
		}
	}
	l.summarise(d)
	l.listTemplates(d)
	l.highlight(d)
}

func (l *logReader) line(line Line) {
	text := line.Text
	from, to, ok := timestamp(text)
	if ok {
		if l.last = text[from:to]; l.times == 0 {
			l.first = l.last
		}
		l.times++
	} else if starts := startsTrace(text); l.times > 0 && (starts || isIndented(text) || isOneOf(text[0], "}]") || isFrame(text)) {
		if l.inside++; starts && l.entry != nil {
			l.trace(line)
		}
		return
	}
	severity := levelOf(text[:from], 0)
	if severity == noLevel {
		severity = levelOf(text, to)
	}
	message := bytes.TrimLeft(text[to:], "] \"\t)")
	class, request, status := accessStatus(text)
	if class > 0 {
		l.statuses[class]++
		severity, message = [6]level{2: infoLevel, 3: infoLevel, 4: warnLevel, 5: errorLevel}[class], request
	}
	bad := severity == noLevel && soundsBad(message)
	l.bad += btoi(bad)
	of := &l.levels[severity]
	of.count++
	of.last = line
	l.entry = l.add(severity, bad, line, message, status)
}

const (
	maxTraces     = 4 // kept of those by themselves
	maxTraceLines = 3 // kept of the one below a template's first line
)

// trace keeps the begin of a stack trace: with the entry, if it is the first of
// its template, else by itself. Equal ones are kept once.
func (l *logReader) trace(line Line) {
	if t := l.entry; t.count == 1 {
		if len(t.trace) < maxTraceLines {
			t.trace = append(t.trace, line)
		}
	} else if len(l.traces) < maxTraces && !slices.ContainsFunc(l.traces, func(o Line) bool { return bytes.Equal(o.Text, line.Text) }) {
		l.traces = append(l.traces, line)
	}
}

// accessStatus reads "GET /x?y HTTP/1.1" 200 of an access log: the class of the
// status, 2 here, what was asked without its query, and " 200".
func accessStatus(line []byte) (class int, request, status []byte) {
	open := bytes.IndexByte(line, '"') + 1
	size := bytes.Index(line[open:], []byte(`" `))
	if open == 0 || size < 0 || !fits(line, open, "AAA") || !fits(line, open+size, `" 000`) || digitsAt(line, open+size+2) != 3 {
		return 0, nil, nil
	}
	status = line[open+size+1:][:4]
	if class = int(status[1] - '0'); class < 1 || class > 5 {
		return 0, nil, nil
	}
	request = line[open : open+size]
	if i := bytes.LastIndex(request, []byte(" HTTP/")); i > 0 {
		request = request[:i]
	}
	request, _, _ = bytes.Cut(request, []byte("?"))
	return class, request, status
}

// summarise tells the span of time and the levels.
func (l *logReader) summarise(d *Digest) {
	if l.times > 0 {
		d.addWords("span: %s .. %s", l.first, l.last)
	}
	var statuses, levels []string
	for class, n := range l.statuses {
		if n > 0 {
			statuses = append(statuses, fmt.Sprintf("%dxx %s", class, show.Count(n)))
		}
	}
	if len(statuses) > 0 {
		d.addWords("statuses: %s", strings.Join(statuses, ", "))
	}
	for level := numLevels - 1; level >= noLevel; level-- {
		if n := l.levels[level].count; n > 0 {
			name := levelNames[level]
			if level == noLevel && l.bad > 0 {
				name += fmt.Sprintf(" (%s with words like error, failed)", show.Count(l.bad))
			}
			levels = append(levels, name+" "+show.Count(n))
		}
	}
	if l.inside > 0 {
		levels = append(levels, "lines inside entries "+show.Count(l.inside))
	}
	d.addWords("levels: %s", strings.Join(levels, ", "))
}

// listTemplates has the most frequent first.
func (l *logReader) listTemplates(d *Digest) {
	p := Part{Title: "templates, count × first line", Share: 45}
	list := slices.Clone(l.list)
	slices.SortStableFunc(list, func(a, b *template) int { return cmp.Compare(b.count, a.count) })
	for i, t := range list {
		if t.count == 1 {
			p.Title += "; " + show.Count(len(list)-i) + " more seen once"
			break
		}
		p.addf(-1, i/8, "%s× %d  %s", show.Count(t.count), t.first.N+1, show.Clip(t.String(), 130))
	}
	if len(p.Rows) > 0 {
		d.Parts = append(d.Parts, p)
	}
}

// highlight has the lines to be read first: the worst, then the rare.
func (l *logReader) highlight(d *Digest) {
	const soundsBad = warnLevel + 1 // worse than a warning
	rank := func(t *template) level {
		if t.bad {
			return soundsBad
		}
		return t.level + level(btoi(t.level > warnLevel))
	}
	list := slices.Clone(l.list)
	slices.SortStableFunc(list, func(a, b *template) int { return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a.count, b.count)) })
	add := func(most int, want func(t *template) bool) {
		for _, t := range list {
			if most > 0 && want(t) {
				d.Highlights = append(append(d.Highlights, t.first), t.trace...)
				most--
			}
		}
	}
	add(12, func(t *template) bool { return t.level >= errorLevel })
	d.Highlights = append(d.Highlights, l.traces...)
	for level := fatalLevel; level >= errorLevel; level-- {
		if l.levels[level].count > 1 {
			d.Highlights = append(d.Highlights, l.levels[level].last)
		}
	}
	add(8, func(t *template) bool { return t.bad })
	if len(d.Highlights) < 12 && len(list) < 400 { // where most lines are like no other, none stands out
		add(12, func(t *template) bool { return rank(t) <= warnLevel && t.count <= 2 })
	}
}
