package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware"
	"rlmproxy/middleware/rpc"
	"rlmproxy/pipeline/script"
	"rlmproxy/pipeline/worker"
)

const programsGolden = "testdata/programs.golden"

// A way is how a task went in one of its two ways.
type way struct {
	calls, tokens int    // of arguments and replies, the first looks included
	answer        string // JSON, or what the last reply says
	transcript    string
}

// numbered is $1 and the like.
var numbered = regexp.MustCompile(`\$(\d+)`)

// follow makes calls one after the other, each "tool arguments".
func follow(conn *rpc.Conn, calls []string) (way, error) {
	var w way
	var ids []string
	for _, c := range calls {
		tool, args, ok := strings.Cut(c, " ")
		if !ok {
			continue
		}
		args = numbered.ReplaceAllStringFunc(args, func(s string) string {
			if n, _ := strconv.Atoi(s[1:]); n <= len(ids) && n > 0 {
				return ids[n-1]
			}
			return s
		})
		r, err := hear(conn, tool, args)
		if err != nil {
			return w, fmt.Errorf("%s %s: %w", tool, args, err)
		}
		if r.failed {
			return w, fmt.Errorf("%s %s: %s", tool, args, r.text)
		}
		if r.id != "" {
			ids = append(ids, r.id)
		}
		w.calls++
		w.tokens += cost(r.text) + cost(fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
		w.answer = lastLine(r.text)
		w.transcript += fmt.Sprintf("→ %.300s %.300s\n%.300s\n", tool, args, r.text)
	}
	return w, nil
}

// lastLine is the last line of a reply, minified if it is JSON.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := lines[len(lines)-1]
	var value any
	if json.Unmarshal([]byte(last), &value) == nil {
		small, _ := json.Marshal(value) // it was JSON
		return string(small)
	}
	return last
}

// programRow is a task in both ways.
type programRow struct {
	programTask
	jq, run way
}

func playPrograms(tb testing.TB) (rows []programRow, definition int) {
	tb.Helper()
	pool := script.NewPool(script.Options{Worker: worker.Options{Command: workerOf(roleScript)}})
	tb.Cleanup(pool.Close)
	// Each task is a conversation of its own, in each way.
	dial := func(programs script.Runner) *rpc.Conn {
		return dialWith(tb, theDesk(), middleware.Options{JQ: workers(), Programs: programs, Code: programs != nil})
	}
	without, err := ownTokens(dial(nil))
	if err != nil {
		tb.Fatal(err)
	}
	with, err := ownTokens(dial(pool))
	if err != nil {
		tb.Fatal(err)
	}
	for _, t := range programTasks {
		row := programRow{programTask: t}
		if row.jq, err = follow(dial(nil), slices.Concat(t.look, t.jq)); err != nil {
			tb.Errorf("%s, with jq: %v", t.question, err)
		}
		code := jsonscan.Object("code", jsonscan.Quote(t.run))
		if row.run, err = follow(dial(pool), append(slices.Clone(t.look), "proxy_run "+string(code))); err != nil {
			tb.Errorf("%s, with proxy_run: %v", t.question, err)
		}
		rows = append(rows, row)
	}
	return rows, with - without
}

// TestPrograms holds that both ways give the same answer to each task, and compares what they
// cost with the golden file.
func TestPrograms(t *testing.T) {
	rows, definition := playPrograms(t)
	if len(rows) != 30 {
		t.Errorf("%d tasks", len(rows))
	}
	for _, r := range rows {
		if a := r.run.answer; a == "" || a == "null" || a == "[]" || a == "0" || a != r.jq.answer {
			t.Errorf("%s:\njq   %s\nrun  %s\n%s\n%s", r.question, r.jq.answer, a, r.jq.transcript, r.run.transcript)
		}
	}
	got := programsTable(rows, definition)
	if *update {
		if err := os.WriteFile(programsGolden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(programsGolden)
	if err != nil {
		t.Fatalf("%v\ngo test ./bench -run TestPrograms -update writes it", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; if that is meant: go test ./bench -run TestPrograms -update\ngot:\n%s", programsGolden, got)
	}
}

// programsTable prints the golden file.
func programsTable(rows []programRow, definition int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `Tasks of several steps, with proxy_filter and jq alone, and with proxy_run. Calls and tokens of o200k: all
replies and all arguments, the first looks at the data included. proxy_run's definition costs %d tokens more in
each conversation, which are not in the rows. Both ways give the answer that stands at the end.

kind     jq: calls  tokens   run: calls  tokens   run/jq  question → answer
`, definition)
	type sum struct{ n, jqCalls, jqTokens, runCalls, runTokens, loses int }
	sums := map[string]*sum{}
	all := &sum{}
	for _, r := range rows {
		fmt.Fprintf(&b, "%-8s %9d %7d %12d %7d %8.2f  %s → %.60s\n", r.kind, r.jq.calls, r.jq.tokens, r.run.calls, r.run.tokens, float64(r.run.tokens)/float64(r.jq.tokens), r.question, r.run.answer)
		if sums[r.kind] == nil {
			sums[r.kind] = &sum{}
		}
		for _, s := range []*sum{all, sums[r.kind]} {
			s.n++
			s.jqCalls += r.jq.calls
			s.jqTokens += r.jq.tokens
			s.runCalls += r.run.calls
			s.runTokens += r.run.tokens
			if r.run.tokens > r.jq.tokens {
				s.loses++
			}
		}
	}
	sums["all"] = all
	b.WriteString("\n")
	for _, kind := range []string{"join", "pages", "compare", "top-n", "all"} {
		s := cmp.Or(sums[kind], &sum{})
		fmt.Fprintf(&b, "%-8s %2d tasks: jq %3d calls, %6d tokens; run %3d calls, %6d tokens; run costs more tokens in %d\n", kind, s.n, s.jqCalls, s.jqTokens, s.runCalls, s.runTokens, s.loses)
	}
	return b.Bytes()
}
