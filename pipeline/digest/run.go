package digest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"rlmproxy/pipeline/digest/runs"
	"rlmproxy/pipeline/show"
)

// lastBytes of a text are looked at for what sums it up.
const lastBytes = 2 << 10

// toolsOf are those whose output the text is.
func toolsOf(s *sample) []*runs.Tool {
	var last [][]byte
	if end := s.data[max(0, len(s.data)-lastBytes):]; len(s.data) > lastBytes {
		last = bytes.Split(bytes.ReplaceAll(end, []byte("\r\n"), []byte("\n")), []byte("\n"))
	}
	return runs.Find(s.lines, last)
}

func isRun(s *sample) bool { return len(toolsOf(s)) > 0 }

const (
	maxWhy  = 4  // lines that say why, of one that failed
	maxSums = 10 // lines that sum up
)

// A runReader gathers what failed, where and why.
type runReader struct {
	tools         []*runs.Tool
	counts        [runs.Sum + 1]int
	failed        Part
	sums          []Line    // the last ones
	wrong, warned tally     // files of errors, of warnings
	file          string    // that lines below are about
	last          runs.Mark // of a line, Why aside
	rules         tally     // that they break
	failures      int       // each once
	cases         []*testCase
	seen          map[string]bool
	why           int // lines in a row that say why
	next          int // lines behind that do
}

// readRun tells what failed and the lines that sum up.
func readRun(d *Digest, r *reader) {
	x := &runReader{tools: toolsOf(newSample(r.data)), failed: Part{Title: "what failed", Share: 55}, seen: map[string]bool{}}
	var names []string
	tests := false
	for _, t := range x.tools {
		names = append(names, t.Name)
		tests = tests || t.Tests
	}
	for n, line := range r.lines {
		x.line(n, line)
	}
	if d.Kind = "output of a build"; tests || x.counts[runs.Passed] > 0 {
		d.Kind = "output of tests"
	}
	if d.EndLines = 3; len(x.cases) > 0 && len(x.tools) == 1 {
		d.EndLines, x.failed = 1, alikePart(x.cases)
	}
	var counts []string
	x.counts[runs.Failed] = x.failures
	for _, c := range []struct {
		mark runs.Mark
		word string
	}{{runs.Failed, "failed"}, {runs.Error, "errors"}, {runs.Warning, "warnings"}, {runs.Passed, "passed"}, {runs.Skipped, "skipped"}} {
		if n := x.counts[c.mark]; n > 0 {
			counts = append(counts, show.Plural(n, c.word))
		}
	}
	d.Facts = append(d.Facts, strings.Join(names, " and ")+": "+strings.Join(counts, " · "))
	sums := Part{Title: "in all", Share: 25}
	for _, l := range x.sums {
		sums.addLine(l.N, l.Text, 0)
	}
	if sums.Total > 0 {
		d.Parts = append(d.Parts, sums)
	}
	if len(x.rules.order) > 1 {
		d.addWords("rules: %s", x.rules.top(12, " · "))
	}
	files, of := &x.wrong, "files with errors"
	if len(files.order) == 0 {
		files, of = &x.warned, "files with warnings"
	}
	if len(files.order) > 1 {
		p := files.part(of)
		p.Share, p.Most = 20, 12
		d.Parts = append(d.Parts, p)
	}
	if x.failed.Total > 0 {
		d.Parts = append(d.Parts, x.failed)
	}
}

func (x *runReader) line(n int, line []byte) {
	text := line
	if i := bytes.IndexByte(line, 0x1b); i >= 0 {
		text = plainColour(line)
	}
	if !notBlank(text) {
		return
	}
	for _, t := range x.tools {
		mark := t.Mark(head(text, 1000))
		if mark == runs.None {
			continue
		}
		x.counts[mark]++
		switch x.next = 0; mark {
		case runs.Failed, runs.Error:
			x.fail(n, line, text, mark == runs.Error, t)
		case runs.Warning:
			x.place(&x.warned, n, text)
		case runs.Why:
			if t == runs.Unittest && len(x.cases) > 0 {
				x.cases[len(x.cases)-1].why = string(head(text, maxWhyBytes))
			}
			if x.why++; x.why <= maxWhy && x.last != runs.Warning {
				x.failed.addLine(n, line, 2)
			}
			return
		case runs.Frame:
			return
		case runs.Sum:
			if x.sums = append(x.sums, Line{n, line}); len(x.sums) > maxSums {
				x.sums = x.sums[1:]
			}
		}
		x.last, x.why = mark, 0
		return
	}
	if x.why = 0; x.next > 0 {
		x.next--
		x.failed.addLine(n, line, 2)
	} else if len(text) < 300 && fileAlone().Match(text) {
		x.file = string(text)
	}
}

// fail adds what failed, once: many tools say it where it happens and again at the end.
func (x *runReader) fail(n int, line, text []byte, isError bool, t *runs.Tool) {
	isNew := !isError || x.place(&x.wrong, n, text)
	key := string(head(bytes.TrimSpace(text), 300))
	if x.seen[key] || len(x.seen) > maxRows {
		return
	}
	x.seen[key] = true
	x.failures += btoi(!isError)
	x.next = t.Next
	if found := caseName().FindSubmatch(text); found != nil && t == runs.Unittest {
		x.cases = append(x.cases, &testCase{n: n, class: string(bytes.TrimSuffix(found[3], append([]byte("."), found[2]...))), how: string(found[1]), name: string(found[2])})
	}
	if !isNew { // two of a rule are shown
		x.failed.Total++
		return
	}
	x.failed.addLine(n, line, 0)
}

// caseName is FAIL: test_a (pkg.mod.Class.test_a), or (pkg.mod.Class) of old ones.
var caseName = lazy(`^(FAIL|ERROR): (\w+) \(([^)]+)\)`)

const maxWhyBytes = 300 // kept of what a case says

// A testCase is one that failed, and the last that it says of why.
type testCase struct {
	n                     int // line
	how, class, name, why string
}

// alikePart has a row for cases that say the same, and for those of a class of which no
// two do, those of most cases first.
func alikePart(cases []*testCase) Part {
	type alike struct {
		first  *testCase
		count  int
		others map[string]bool // classes
	}
	var whys tally
	for _, c := range cases {
		whys.add([]byte(c.why), c.n)
	}
	groups := map[string]*alike{}
	var order []*alike
	for _, c := range cases {
		key := "class " + c.class
		if w := whys.byName[c.why]; c.why != "" && w != nil && w.count > 1 {
			key = "why " + c.why
		}
		g := groups[key]
		if g == nil {
			g = &alike{c, 0, map[string]bool{}}
			groups[key] = g
			order = append(order, g)
		}
		if g.count++; c.class != g.first.class {
			g.others[c.class] = true
		}
	}
	slices.SortStableFunc(order, func(a, b *alike) int { return cmp.Compare(b.count, a.count) })
	p := Part{Title: "what failed, grouped, count × first line", Share: 65, Find: `proxy_search "^(FAIL|ERROR): " finds all`}
	for i, g := range order {
		name := g.first.class
		switch {
		case len(g.others) > 0:
			name += " and " + show.Count(len(g.others)) + " more"
		case g.count == 1:
			name += "." + g.first.name
		}
		p.addf(-1, i/8, "%s× %d  %s %s: %s", show.Count(g.count), g.first.n+1, g.first.how, show.Clip(name, 100), show.Clip(g.first.why, 80))
	}
	return p
}

var ruleName = lazy(`TS\d+|\[-W[\w=+-]+\]|\[E\d+\]|\b(error|warning) +.* {2,}(\S+)$`)

// fileAlone is the line above errors that do not name their file, as eslint has it.
var fileAlone = lazy(`^(/|\./)?[\w@.+-]+(/[\w@.+-]+)*\.\w+$`)

// place counts the file and the rule of an error or a warning: src/a.c:1:2: error: …,
// a.ts(1,2): error TS7006: …. It reports whether there are few of that rule.
func (x *runReader) place(files *tally, n int, text []byte) bool {
	if at := bytes.IndexAny(text, ":("); at > 0 && isDigit(byteAt(text, at+1)) && !isIndented(text) {
		files.add(text[:at], n)
	} else if x.file != "" && isIndented(text) {
		files.add([]byte(x.file), n)
	}
	found := ruleName().FindSubmatch(head(text, 500))
	if found == nil {
		return true
	}
	rule := found[0]
	if len(found[2]) > 0 {
		rule = found[2]
	}
	return x.rules.add(rule, n) <= 2
}

// plainColour is line without the escape sequences of terminals.
func plainColour(line []byte) []byte {
	out := make([]byte, 0, len(line))
	for i := 0; i < len(line); {
		if j := skipColour(line, i); j > i {
			i = j
			continue
		}
		out = append(out, line[i])
		i++
	}
	return out
}
