package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"rlmproxy/bench/corpus"
	"rlmproxy/middleware"
	"rlmproxy/pipeline/tokens"
)

const savingsGolden = "testdata/savings.golden"

func allTasks() []task {
	return slices.Concat(jsonTasks, deepTasks, tableTasks, textTasks, shortTasks)
}

func (t task) name() string { return t.file + ": " + t.question }

// headChars is how much of a result a client keeps that simply cuts it off.
const headChars = 8_000

// A score is what one task cost, in three ways to hand its result on.
type score struct {
	task
	course
	bytes     int  // of the result
	own       int  // tokens of our tools and instructions
	inlined   int  // tokens of the whole result
	exact     bool // inlined was counted, not estimated
	head      int  // tokens of its first headChars
	headFound bool
}

// cost is what the proxy's way costs: our tools, all replies, all follow-up
// calls. The first call is the same in all ways and is not counted.
func (s score) cost() int { return s.own + s.tokens }

func (s score) saved() float64 { return 100 * (1 - float64(s.cost())/float64(s.inlined)) }

// whole reports that the agent got all of the result at once.
func (s score) whole() bool { return !s.replies[0].cut }

// plays lets the agent do all tasks before a proxy with opts. Tasks of one file
// follow each other and share its first reply: the same call is answered with
// the same bytes.
func plays(tb testing.TB, opts middleware.Options) []score {
	tb.Helper()
	docs := documents(tb)
	// Results just over the limit and under it stand at the end of the table.
	slices.SortStableFunc(docs, func(a, b document) int { return cmp.Compare(rank(a.name), rank(b.name)) })
	conn := dialWith(tb, tool(docs), opts)
	own, err := ownTokens(conn)
	if err != nil {
		tb.Fatal(err)
	}
	tasks := allTasks()
	var scores []score
	for i, d := range docs {
		first, err := hear(conn, tool(docs).name(i), `{}`)
		if err != nil {
			tb.Fatal(err)
		}
		whole := score{own: own, bytes: len(d.text)}
		whole.inlined, whole.exact = d.count()
		head := d.text[:min(headChars, len(d.text))]
		whole.head, _ = tokens.Count(head)
		for _, t := range tasks {
			if t.file != d.name {
				continue
			}
			s, facts := whole, t.answer(d.text)
			s.task = t
			if s.course, err = t.play(conn, first, facts); err != nil {
				tb.Fatalf("%s: %v", t.name(), err)
			}
			s.headFound = len(head) == len(d.text) || !t.kind.ofAll() && t.told(facts, []reply{{text: string(head)}})
			scores = append(scores, s)
		}
	}
	if len(scores) != len(tasks) {
		tb.Errorf("%d of %d tasks were done", len(scores), len(tasks))
	}
	return scores
}

// rank is the place of a file in the corpus, or the place after it.
func rank(name string) int {
	if i := slices.IndexFunc(corpus.Files, func(f corpus.File) bool { return f.Name == name }); i >= 0 {
		return i
	}
	return len(corpus.Files)
}

// TestSavings holds that every answer is found, and compares what that cost
// with the golden file.
func TestSavings(t *testing.T) {
	scores := plays(t, middleware.Options{})
	for _, s := range scores {
		if !s.found {
			t.Errorf("%s: not found in %d calls (%q was not known):\n%s", s.name(), s.calls, s.missing, s.transcript())
		}
	}
	got := savingsTable(scores)
	if *update {
		if err := os.WriteFile(savingsGolden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(savingsGolden)
	if err != nil {
		t.Fatalf("%v\ngo test ./bench -run TestSavings -update writes it", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; if that is meant: go test ./bench -run TestSavings -update\ngot:\n%s", savingsGolden, got)
	}
}

// transcript is what was asked and answered, shortened.
func (s score) transcript() string {
	var b strings.Builder
	for i, r := range s.replies {
		if i > 0 {
			fmt.Fprintf(&b, "→ %s\n", s.asked[i-1])
		}
		fmt.Fprintf(&b, "%.600s\n", r.text)
	}
	return b.String()
}

// BenchmarkSavings prints the table, and times all tasks.
func BenchmarkSavings(b *testing.B) {
	var scores []score
	for b.Loop() {
		scores = plays(b, middleware.Options{})
	}
	printed.Do(func() { os.Stdout.Write(append([]byte{'\n'}, savingsTable(scores)...)) })
	sum := summarise(scores)
	b.ReportMetric(sum.median, "median-saved-%")
	b.ReportMetric(float64(sum.found), "found")
	b.ReportMetric(sum.alone(), "preview-alone-%")
}
