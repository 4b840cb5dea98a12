package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rlmproxy/internal/busytest"
)

// A wrong is a call that does its worst with an engine.
type wrong struct {
	name string
	tool string
	args map[string]any // without its source
	on   string         // the kind of result; 10 MB of it
	code string         // of the error; "" is an answer; "*" either, within the time
}

func nested(open, inner, shut string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
}

func wrongs() []wrong {
	mb := strings.Repeat("ab1 ", 1<<18)
	var paths []string
	for i := range 100_000 {
		paths = append(paths, fmt.Sprintf("a%d.b.c", i))
	}
	type m = map[string]any
	search := func(name, on, code, pattern string, more m) wrong {
		args := m{"pattern": pattern}
		for k, v := range more {
			args[k] = v
		}
		return wrong{"search " + name, "proxy_search", args, on, code}
	}
	var all []wrong
	for _, on := range []string{"line", "prose", "rows"} {
		all = append(all,
			search("1 MB of regex", on, "bad_pattern", mb, nil),
			search("1 MB of fuzzy", on, "bad_pattern", mb, m{"mode": "fuzzy"}),
			search("1 MB of bm25", on, "*", mb, m{"mode": "bm25"}),
			search("1 MB of context", on, "bad_pattern", mb, m{"mode": "context"}),
			search("1 MB without a word", on, "*", strings.Repeat("- ", 1<<19), m{"mode": "bm25"}),
			search("repeats of repeats", on, "bad_pattern", `((a{100}){100}){100}`, nil),
			search("a thousand any", on, "*", `(.{0,30}){0,30}zz`, nil),
			search("stars", on, "*", `(.*)*x`, nil),
			search("stars that never end", on, "*", `(.*)*(.*)*(.*)*\x00`, nil),
			search("stars before what is not there", on, "*", `(.*)*(.*)*(.*)*[^\x00-\x{10fffe}]`, nil),
			search("long classes", on, "*", `[a-z0-9 ,_]{0,900}[A-Z]`, nil),
			search("every position", on, "*", `.*.*.*.*.*.*.*.*\x01`, nil),
			search("empty", on, "*", `()*`, nil),
			search("one byte", on, "*", `.`, nil),
			search("word ends", on, "*", `\b`, nil),
			search("folded", on, "*", `(?i)`+strings.Repeat("ſkelvin", 120), nil),
			search("folded prefix", on, "*", `(?i)o[a-z]{0,200}_lock_irq99`, nil),
			search("alternatives", on, "*", strings.Repeat("other_lock_irq1[0-9]x|", 40)+"zz", nil),
			search("required and far", on, "*", `o.*_lock_irq99`, nil),
			search("required and everywhere", on, "*", `[^ ]*.*o.*\x01`, nil),
			search("classes", on, "*", strings.Repeat(`[\pL\pN\pM]`, 90), nil),
			search("groups", on, "*", nested("(", "a", ")", 480), nil),
			search("too deep", on, "bad_pattern", nested("(?:", "a", ")*", 1200), nil),
			search("open class", on, "bad_pattern", strings.Repeat("[", 900), nil),
			search("not UTF-8", on, "*", "caf\xe9", nil),
			search("NUL", on, "*", "\x00", nil),
			search("all of it in context", on, "*", `o`, m{"mode": "context", "context_type": "section"}),
			search("lines about one line", on, "*", `o`, m{"context_lines": 1000, "max_results": 10_000}),
			search("sentences", on, "*", `o`, m{"mode": "context", "context_type": "sentence", "max_results": 10_000}),
			search("every fuzzy word", on, "*", "o", m{"mode": "fuzzy", "threshold": 0.0001, "max_results": 10_000}),
			search("a long fuzzy phrase", on, "*", strings.Repeat("other lok ", 20), m{"mode": "fuzzy", "threshold": 0.01}),
			search("threshold over", on, "bad_arguments", "x", m{"mode": "fuzzy", "threshold": 1e308}),
			search("threshold under", on, "bad_arguments", "x", m{"mode": "fuzzy", "threshold": -1}),
			search("threshold NaN", on, "bad_arguments", "x", m{"mode": "fuzzy", "threshold": "NaN"}),
			search("huge max_results", on, "bad_arguments", "x", m{"max_results": math.MaxInt64}),
			search("huge top_k", on, "bad_arguments", "x", m{"mode": "bm25", "top_k": math.MaxInt32}),
			search("least context_lines", on, "bad_arguments", "x", m{"context_lines": math.MinInt64}),
			search("a number too large", on, "bad_arguments", "x", m{"max_results": json.RawMessage("1e999")}),
			search("behind all fields", on, "*", "x", m{"fields": paths}),
			wrong{"explore deep", "proxy_explore", m{"max_depth": math.MaxInt64}, on, "*"},
			wrong{"explore least", "proxy_explore", m{"max_depth": math.MinInt64}, on, "bad_arguments"},
			wrong{"explore a path of dots", "proxy_explore", m{"path": strings.Repeat("a.", 500_000)}, on, "*"},
			wrong{"explore a path of brackets", "proxy_explore", m{"path": nested("[", "0", "]", 500_000)}, on, "*"},
			wrong{"explore a path of indexes", "proxy_explore", m{"path": strings.Repeat("[0]", 300_000)}, on, "*"},
			wrong{"filter a hundred thousand fields", "proxy_filter", m{"fields": paths}, on, "*"},
			wrong{"exclude a hundred thousand fields", "proxy_filter", m{"exclude": paths}, on, "*"},
			wrong{"filter a field of depth", "proxy_filter", m{"fields": []string{strings.Repeat("a.", 500_000) + "b"}}, on, "*"},
			wrong{"filter far", "proxy_filter", m{"offset": math.MaxInt64, "limit": math.MaxInt64}, on, "*"},
			wrong{"filter before", "proxy_filter", m{"offset": math.MinInt64}, on, "bad_arguments"},
			wrong{"filter from the end", "proxy_filter", m{"offset": 10, "limit": -1}, on, "bad_arguments"},
			wrong{"filter as a table", "proxy_filter", m{"format": "table"}, on, "*"},
			wrong{"filter as CSV", "proxy_filter", m{"format": "csv", "limit": math.MaxInt32}, on, "*"},
			wrong{"filter by another's block", "proxy_filter", m{"block": math.MaxInt64}, on, "bad_arguments"},
		)
	}
	return append(all,
		search("behind jq that is slow", "rows", "limit_time", "x", m{"jq": "last(repeat(1))"}),
		search("behind jq that grows", "rows", "*", "x", m{"jq": `[range(50) | "abcdefgh" * 3e7] | length`}),
		search("behind jq that recurses", "rows", "*", "x", m{"jq": "def f: [.] | f; f"}),
		search("behind jq of depth", "rows", "*", "x", m{"jq": "reduce range(3e6) as $i (null; [.]) | tojson"}),
		search("behind long jq", "rows", "bad_jq", "x", m{"jq": strings.Repeat("[", 9000)}),
	)
}

// TestAbuse: each call that does its worst ends with its code, or an answer,
// within the deadline and half a second; calls of another stream are answered
// within a second meanwhile. All of them at once get two and a half seconds, and
// the calls beside them, too. The memory goes back.
func TestAbuse(t *testing.T) {
	const timeout, slack = 300 * time.Millisecond, 500 * time.Millisecond
	s := proxy(t, "serve", "--config", configure(t, map[string][]string{"s": nil}), "--jq-timeout", "300ms", "--search-timeout", "300ms")
	ids := map[string]string{}
	for i, kind := range []string{"line", "prose", "rows"} {
		ids[kind] = s.big(10, kind, i)
	}
	clock := busytest.NewClock(t)
	var calm atomic.Int64 // how long a call of the other stream may take
	calm.Store(int64(2 * slack))
	small := s.read("s_rows", `{}`).Meta.Result.CacheID
	stop := make(chan struct{})
	var wg sync.WaitGroup
	n := 0
	wg.Go(func() {
		for ; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			for _, c := range []struct{ tool, args, want string }{
				{"s_x", `{}`, "s/x"},
				{"proxy_search", fmt.Sprintf(`{"cache_id":%q,"pattern":"1"}`, small), "9,001 matches"},
			} {
				begun := clock.Now()
				raw, err := s.try(c.tool, c.args)
				within := time.Duration(calm.Load())
				if took := clock.Since(begun); err != nil || !strings.Contains(string(raw), c.want) || took > within {
					t.Errorf("meanwhile: %s: %.200s, %v after %v", c.tool, raw, err, took)
				}
			}
			time.Sleep(time.Millisecond)
		}
	})
	try := func(w wrong, within time.Duration, codes ...string) {
		codes = append(codes, w.code)
		w.args["cache_id"] = ids[w.on]
		args, err := json.Marshal(w.args)
		if err != nil {
			t.Fatal(err)
		}
		var raw json.RawMessage
		var took time.Duration
		var code string
		right := false
		for n := 0; n < 3 && !right && err == nil; n++ { // others may use the machine: late three times is a fault
			begun := clock.Now()
			raw, err = s.try(w.tool, string(args))
			took = clock.Since(begun)
			var r reply
			if err == nil {
				err = json.Unmarshal(raw, &r)
			}
			code = r.Meta.Error.Code
			right = took <= within && (w.code == "*" || slices.Contains(codes, code))
		}
		switch {
		case err != nil:
			t.Errorf("%s on %s: %v", w.name, w.on, err)
		case !right, code == "internal", len(raw) > 100_000:
			t.Errorf("%s on %s: %q, want %q, %d bytes after %v: %.300s", w.name, w.on, code, w.code, len(raw), took, raw)
		}
		if testing.Verbose() {
			t.Logf("%6.0f ms %-14s %s on %s", took.Seconds()*1000, code, w.name, w.on)
		}
	}
	var slow []wrong
	for _, w := range wrongs() {
		begun := time.Now()
		try(w, timeout+slack)
		if time.Since(begun) > timeout/2 {
			slow = append(slow, w)
		}
	}
	// All of those that had work to do, at once: they share two cores or so.
	calm.Store(int64(5 * slack))
	atOnce(len(slow), func(i int) { try(slow[i], timeout+5*slack, "limit_time") }) // before its fault is found
	close(stop)
	wg.Wait()
	t.Logf("%d rounds meanwhile", n)
	if runtime.GOOS != "linux" {
		return
	}
	for since := time.Now(); s.status("VmRSS") > 500_000_000; time.Sleep(50 * time.Millisecond) {
		if time.Since(since) > 10*time.Second {
			t.Fatalf("%d bytes long after it", s.status("VmRSS"))
		}
	}
	t.Logf("resident %d MB, at the peak %d MB", s.status("VmRSS")/1e6, s.status("VmHWM")/1e6)
}
