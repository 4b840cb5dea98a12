// Package runs knows what programs that test and build print: which of their lines say
// that something failed, where and why, and which sum up.
//
//	=== RUN   TestPop            Usual
//	--- FAIL: TestPop (0.00s)    Failed
//	    queue_test.go:9: got 1   Why
//	FAIL	example.com/queue     Sum
//
// What lines say is read by how they begin; a tool's lines are only read in a text that
// the tool has written.
package runs

import (
	"bytes"
	"regexp"
	"slices"
	"sync"
)

// A Mark is what a line says.
type Mark int

const (
	None    Mark = iota
	Usual        // only this tool prints such a line; it says little
	Frame        // a line of the source below an error, as several tools print it
	Passed       // a test that passed
	Skipped      // a test that did not run
	Failed       // what failed
	Error        // a place and what is wrong there
	Warning      // the same, less grave
	Why          // why what stands around it failed
	Sum          // counts, at the end
)

// A Tool is a program that tests or builds.
type Tool struct {
	Name  string
	Tests bool
	Next  int // lines behind one that is Failed or Error say why
	marks []mark
}

// A mark is how lines begin that say something.
type mark struct {
	Mark
	word string // that is in each of them, so that few lines meet the expression
	expr func() *regexp.Regexp
}

func m(k Mark, word, expr string) mark {
	return mark{k, word, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}

var place = `^(\./|\.\./|/)?[\w@+-][\w./@+-]*\.\w+`

// The compiler of C, and others that write as it does.
var compiler = &Tool{"compiler", false, 0, []mark{
	m(Error, "rror: ", place+`:\d+(:\d+)?: (fatal )?error: `), m(Warning, "arning: ", place+`:\d+(:\d+)?: warning: `), m(Usual, ": ", place+`:\d+:\d+: note: `), m(Frame, "In ", `^\S+: In (member )?function `), m(Frame, "|", `^ *\d* \|( |$)`), m(Error, "undefined reference", `undefined reference to`)}}

// Unittest of Python says FAIL: or ERROR:, the test and its class, then a trace and why.
var Unittest = &Tool{"unittest", true, 0, []mark{
	m(Failed, ": ", `^(FAIL|ERROR): \w+ \(.+\)`), m(Passed, "... ok", `\.\.\. ok$`), m(Skipped, "... skipped", `\.\.\. skipped '`), m(Usual, " ... ", `^\w+ \(.+\) \.\.\. (FAIL|ERROR)$`),
	m(Why, "E", `^[\w.]*(Error|Exception)(: |$)`), m(Sum, "Ran ", `^Ran \d+ tests? in `), m(Sum, "=", `^FAILED \(.*=\d+.*\)$`)}}

// tools are asked in this order.
var tools = []*Tool{
	{"go test", true, 0, []mark{
		m(Failed, "--- FAIL: ", `^\s*--- FAIL: `), m(Passed, "--- PASS: ", `^\s*--- PASS: `), m(Skipped, "--- SKIP: ", `^\s*--- SKIP: `),
		m(Usual, "=== ", `^=== (RUN|PAUSE|CONT|NAME)  `), m(Why, ".go:", `^\s+\w+_test\.go:\d+: `), m(Why, "panic: ", `^panic: `),
		m(Sum, "FAIL\t", `^FAIL\t\S+`), m(Usual, "ok  \t", `^ok  \t\S+\t`), m(Usual, "[no test files]", `^\?\s+\t`)}},
	{"pytest", true, 0, []mark{
		m(Usual, "test session starts", `^=+ test session starts =+$`), m(Failed, "::", `^(FAILED|ERROR) \S+::`), m(Failed, "ERROR ", `^ERROR \S+\.py\b`),
		m(Passed, " PASSED", `^\S+::.* PASSED\b`), m(Skipped, " SKIPPED", `^\S+::.* SKIPPED\b`), m(Usual, "%]", `^\S+.*\[ *\d+%\]$`),
		m(Why, "E  ", `^E   +\S`), m(Why, ".py:", `^\S+\.py:\d+: \w+`), m(Sum, " in ", `^=+ .*(passed|failed|errors?|no tests ran)\b.* in [\d.:]+.*=+$`)}},
	Unittest,
	{"jest", true, 5, []mark{
		m(Failed, "● ", `^\s+● \S`), m(Passed, "✓ ", `^\s+✓ \S`), m(Skipped, "○ ", `^\s+○ \S`), m(Usual, "✕ ", `^\s+✕ \S`), m(Usual, "PASS ", `^PASS \S+\.\w+( |$)`), m(Usual, "FAIL ", `^FAIL \S+\.\w+( |$)`),
		m(Sum, "total", `^(Tests|Test Suites|Snapshots): +\d.* total$`)}},
	{"vitest", true, 2, []mark{
		m(Usual, " RUN ", `^ RUN  v\d`), m(Failed, " FAIL ", `^ FAIL  \S`), m(Passed, "✓ ", `^ +✓ \S`), m(Skipped, "↓ ", `^ +↓ \S`), m(Usual, "× ", `^ +× \S`), m(Sum, "Test", `^ +(Test Files|Tests)  \d`)}},
	{"node --test", true, 0, []mark{ // and all that write TAP
		m(Usual, "TAP version", `^TAP version \d+`), m(Failed, "not ok ", `^\s*not ok \d+`), m(Passed, "ok ", `^\s*ok \d+( |$)`), m(Why, "error: ", `^\s+error: ['"|]`), m(Why, "location: ", `^\s+location: `), m(Failed, "✖ ", `^\s*✖ .*\(\d[\d.]*ms\)$`), m(Passed, "✔ ", `^\s*✔ .*\(\d[\d.]*ms\)$`),
		m(Sum, "# ", `^# (tests|pass|fail|cancelled|skipped) \d+$`), m(Sum, "ℹ ", `^ℹ (tests|pass|fail|cancelled|skipped) \d+$`)}},
	{"mocha", true, 5, []mark{
		m(Sum, "ing", `^  \d+ (passing|failing|pending)( \(.*\))?$`), m(Failed, ") ", `^  \d+\) \S`), m(Passed, "✔ ", `^\s+[✔✓] \S`), m(Skipped, "- ", `^\s{4,}- \S`)}},
	{"cargo", false, 0, []mark{
		m(Usual, "Compiling ", `^\s+Compiling \S+ v\d`), m(Usual, "running ", `^running \d+ tests?$`), m(Failed, "FAILED", `^test \S+( - .*)? \.\.\. FAILED$`), m(Passed, "... ok", `^test \S+( - .*)? \.\.\. ok$`), m(Skipped, "... ignored", `^test \S+ \.\.\. ignored`),
		m(Why, "panicked at", `^thread '.*panicked at `), m(Why, "eft: ", `^  left: `), m(Why, "ight: ", `^ right: `), m(Sum, "test result: ", `^test result: `), m(Sum, "could not compile", `^error: could not compile`), m(Sum, "generated", `^warning: .* generated \d+ warnings?`),
		m(Error, "error", `^error(\[E\d+\])?: `), m(Warning, "warning: ", `^warning: `), m(Why, "--> ", `^\s+--> \S+:\d+:\d+$`), m(Frame, "|", `^ *\d* *\|( |$)`), m(Usual, "= ", `^\s+= (note|help): `)}},
	{"tsc", false, 0, []mark{m(Error, "error TS", `^\S.*(\(\d+,\d+\)|:\d+:\d+)(:| -) error TS\d+: `), m(Sum, "Found ", `^Found \d+ errors?`)}},
	{"eslint", false, 0, []mark{m(Error, "error", `^\s+\d+:\d+\s+error\s+\S`), m(Warning, "warning", `^\s+\d+:\d+\s+warning\s+\S`), m(Sum, "problem", `^✖ \d+ problems?`)}},
	{"ninja", false, 0, []mark{m(Usual, "/", `^\[\d+/\d+\] \S`), m(Failed, "FAILED: ", `^FAILED: `), m(Sum, "ninja: ", `^ninja: `)}},
	{"make", false, 0, []mark{m(Failed, "*** ", `^g?make(\[\d+\])?: \*\*\* `), m(Usual, "make", `^g?make(\[\d+\])?: `), m(Usual, " -", `^(\S*/)?(gcc|cc|g\+\+|c\+\+|clang|clang\+\+|ar|ld)( \S+)* -\w`)}},
	compiler,
	{"go build", false, 0, []mark{m(Usual, "# ", `^# [\w.-]+(/[\w.-]+)+( \[.*\])?$`), m(Error, ".go:", `^(vet: )?[\w./-]+\.go:\d+:\d+: `)}},
	{"npm", false, 0, []mark{m(Error, "npm ", `^npm (ERR!|error)( |$)`), m(Warning, "npm ", `^npm (WARN|warn) `), m(Usual, "npm ", `^npm (http|info|notice|verb|verbose|sill|silly|timing) `), m(Sum, "packages", `^(added|removed|changed|up to date).* packages?`), m(Sum, "vulnerabilities", `^\d+ .*vulnerabilities`)}},
	{"Maven", false, 0, []mark{m(Usual, "[INFO] ", `^\[INFO\] `), m(Error, "[ERROR] ", `^\[ERROR\] \S`), m(Warning, "[WARNING] ", `^\[WARNING\] \S`), m(Sum, "BUILD ", `^\[INFO\] BUILD `), m(Sum, "Tests run: ", `^\[(INFO|ERROR)\] Tests run: `)}},
	{"Gradle", false, 3, []mark{m(Usual, "> Task ", `^> Task :\S+`), m(Failed, "FAILED", `^> Task :\S+ FAILED$`), m(Failed, " FAILED", `^\S+ > .* FAILED$`), m(Sum, "BUILD ", `^BUILD (FAILED|SUCCESSFUL) in `)}},
}

// Mark says what a line is for t.
func (t *Tool) Mark(line []byte) Mark {
	for i := range t.marks {
		if k := &t.marks[i]; bytes.Contains(line, []byte(k.word)) && k.expr().Match(line) {
			return k.Mark
		}
	}
	return None
}

// Find returns the tools that have written lines, the first of a text, and last, its last:
// those with two lines, if all their lines are a fifth of what is there or a tool says its
// name first. What passes is no sign of one tool, as all tick it off.
func Find(lines, last [][]byte) (found []*Tool) {
	lines = slices.DeleteFunc(slices.Clone(lines), func(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 })
	marked := map[int]bool{}
	names := false
	for _, t := range tools {
		n, telling := 0, 0
		var mine []int
		for i, line := range lines {
			k := t.Mark(line)
			if k == None {
				continue
			}
			n++
			if mine = append(mine, i); k != Passed && k != Skipped && k != Why && k != Frame {
				telling++
				names = names || i < 3 && (k == Usual && t.Tests)
			}
		}
		for _, line := range last {
			if k := t.Mark(line); k == Sum || k == Failed {
				n++
				telling++
			}
		}
		if n < 2 || telling == 0 || taken(mine, marked) {
			continue
		}
		found = append(found, t)
		for _, i := range mine {
			marked[i] = true
		}
	}
	for _, t := range found {
		if calls := t.Name == "make" || t.Name == "ninja"; calls && !slices.Contains(found, compiler) {
			found = append(found, compiler) // whose errors may be in the middle
			break
		}
	}
	if !names && 5*len(marked) < len(lines) {
		return nil
	}
	return found
}

// taken reports that nearly all lines belong to other tools.
func taken(lines []int, marked map[int]bool) bool {
	n := 0
	for _, i := range lines {
		if marked[i] {
			n++
		}
	}
	return n > 0 && 10*n >= 9*len(lines)
}
