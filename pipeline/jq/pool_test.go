package jq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"rlmproxy/internal/busytest"
	"rlmproxy/pipeline/worker"
)

func runPool(t *testing.T, p *Pool, q Query) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out, err := p.Run(ctx, q)
	if err != nil {
		t.Errorf("%.80s: %v", q.Program, err)
	}
	return string(out.Data)
}

func code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

func TestPool(t *testing.T) {
	p := newPool(t, worker.Options{})
	const doc = `{"items":[{"id":9007199254740993,"x":1.50,"z":-0},{"id":2,"x":1e400}]}`
	for _, tt := range []struct{ program, want string }{
		{".items[0].id", "9007199254740993\n"},
		{".items[].x", "1.50\n1e400\n"},
		{".items[0].z", "-0\n"},
		{"del(.items[0]) | .items | length", "1\n"},
		{".items | length", "2\n"},
		{"empty", ""},
		{".items[0].id + 1", "9007199254740994\n"},
	} {
		if got := runPool(t, p, Query{"a", "doc", JSON, []byte(doc), tt.program}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.program, got, tt.want)
		}
	}
	if got := runPool(t, p, Query{"a", "", Lines, []byte("{\"a\":1}\n\n{\"a\":2}"), "map(.a)"}); got != "[1,2]\n" {
		t.Errorf("lines: %s", got)
	}
	if got := runPool(t, p, Query{"b", "doc", Text, []byte("one\ntwo"), "."}); got != `"one\ntwo"`+"\n" {
		t.Errorf("another agent's key: %s", got)
	}
	if _, err := p.Run(t.Context(), Query{"a", "doc", JSON, []byte(doc), ".items[]]"}); code(err) != Bad || !strings.Contains(err.Error(), "^") {
		t.Error(err)
	}
}

// An abuse must end with one of codes.
type abuse struct {
	name, doc, program string
	codes              string
}

// abuses is what FuzzJQ and experiments found that harms an interpreter in our
// own process: races, overflows, memory, and functions without end.
var abuses = func() []abuse {
	big := `"` + strings.Repeat("ab ", 10<<20/3) + `"`
	rows := "[" + strings.Repeat(`{"id":1,"user":{"name":"n","tags":[1,2,3]}},`, 2000) + "1]"
	return []abuse{
		{"nested-program", "null", strings.Repeat("[", 1_000_000), Bad},
		{"nested-within-length", "null", strings.Repeat("[", 4_900), Bad},
		{"minus", "null", strings.Repeat("-", 9_999), Bad},
		{"pipes", "null", strings.Repeat(".|", 4_999) + "error", Bad},
		{"nested-value", "null", "reduce range(3e6) as $i (null; [.]) | tojson", LimitMemory + LimitTime},
		{"nested-path", "null", `[range(3e6) | "a"] as $p | null | setpath($p; 1) | tojson`, LimitMemory + LimitTime},
		{"nested-output", "null", "reduce range(5000) as $i (null; [.])", LimitMemory},
		{"recursion", "null", "def f: [.] | f; f", LimitMemory + LimitTime},
		{"repeat", "null", "last(repeat([.]))", LimitMemory + LimitTime},
		{"repeat-heeds", "null", "last(repeat(.))", LimitTime},
		{"endless", "null", "[range(1e12)] | length", LimitMemory + LimitTime},
		{"exponential", "null", `reduce range(60) as $i ([1]; . + .)`, LimitMemory + LimitTime},
		{"exponential-shared", "null", `reduce range(60) as $i ([1]; [., .])`, LimitMemory + LimitTime},
		{"exponential-shared-walk", "null", `reduce range(40) as $i ([1]; [., .]) | [..] | length`, LimitMemory + LimitTime},
		{"repeated-string", "null", `"a" * 1e9`, LimitMemory + LimitTime},
		{"bignum", "null", `reduce range(40) as $i (9007199254740993; . * .) | tostring | length`, LimitMemory + LimitTime},
		{"match-all", big, `[match("a"; "g")] | length`, LimitMemory + LimitTime},
		{"gsub", big, `gsub("a"; "b") | length`, LimitMemory + LimitTime},
		{"test", "null", `"abc" * 2e8 | test("c$")`, LimitMemory + LimitTime},
		{"split", big, `[limit(50; repeat(split("")))] | length`, LimitMemory + LimitTime},
		{"many-outputs", "null", "range(1000000)", LimitMemory},
		{"large-output", "null", `[range(40) | "x" * 1000000]`, LimitMemory},
		{"cartesian", rows, `[.[] as $a | .[] as $b | .[] as $c | [$a, $b, $c]] | length`, LimitMemory + LimitTime},
		{"implode", "null", `[range(3e7)] | map(65) | implode | length`, LimitMemory + LimitTime},
		{"getpath-deep", "null", `[range(5e6) | "a"] as $p | getpath($p) | [paths] | length`, LimitTime},
		{"input", "null", "input", Bad},
		{"ltrimstr-loop", big, `until(. == "x"; ltrimstr("b"))`, LimitTime},
		{"env", "null", `if (env|length) + ($ENV|length) == 0 then error("closed") else . end`, Bad},
	}
}()

// TestAbuse: each program ends with its code within the deadline and 500 ms,
// while another agent's calls all succeed within a second, and what a busy
// machine adds.
func TestAbuse(t *testing.T) {
	p := newPool(t, worker.Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	const deadline = 300 * time.Millisecond
	clock := busytest.NewClock(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var worst time.Duration // of the other agent's calls, less what the machine adds
	calls := 0
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			begun := clock.Now()
			out, err := p.Run(ctx, Query{"other", "doc", JSON, []byte(`[{"a":1},{"a":2}]`), "map(.a) | add"})
			cancel()
			calls++
			worst = max(worst, clock.Since(begun))
			if err != nil || string(out.Data) != "3\n" {
				t.Errorf("the other agent: %q, %v", out.Data, err)
			}
		}
	})
	for _, tt := range abuses {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			begun := clock.Now()
			out, err := p.Run(ctx, Query{"abuser", tt.name, JSON, []byte(tt.doc), tt.program})
			took := clock.Since(begun)
			t.Logf("%v: %v, %.100v", took.Round(time.Millisecond), code(err), err)
			if err == nil {
				t.Errorf("put out %d bytes", len(out.Data))
			} else if !strings.Contains(tt.codes+LimitTime, code(err)) { // a busy machine may take longer
				t.Errorf("%v, want %s", err, tt.codes)
			}
			if took > deadline+500*time.Millisecond {
				t.Errorf("took %v", took)
			}
		})
	}
	close(stop)
	wg.Wait()
	t.Logf("the other agent: %d calls, the longest %v", calls, worst)
	if worst > time.Second {
		t.Errorf("the other agent waited %v", worst)
	}
	p.Close()
}
