package script

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"rlmproxy/pipeline/worker"
)

// TestAbuse: each program ends with one clear error, what it printed before is there, and the
// next one works.
func TestAbuse(t *testing.T) {
	opts := Options{Limit: time.Second, Worker: worker.Options{MaxBytes: 384 << 20}}
	p := newPool(t, opts)
	const late, memory = "limit_time", "limit_memory"
	for _, tt := range []struct{ name, source, codes, text string }{
		{"loop", "for (;;);", late, "computed for longer than 1s (line"},
		{"recursion", "const f = n => f(n + 1) + 1; f(0)", memory, "calls nest deeper"},
		{"recursion in built-ins", "const o = {toString() { return [o].join() }}; '' + o", memory + late + "bad_program", ""},
		{"recursion by proxy", "const o = new Proxy({}, {get(t, k, r) { return r[k] }}); o.x", memory + late, ""},
		{"array", "const a = []; for (;;) a.push([a.length])", memory + late, ""},
		{"giant array", "new Array(4e9).fill(0)", memory + late + "bad_program", ""},
		{"large array", "new Array(1e8).fill({})", memory + late, ""},
		{"doubling", "let s = 'x'; for (;;) s += s", memory + late, ""},
		{"joined", "new Array(1e6).join('x'.repeat(1e4))", memory + late, ""},
		{"buffer", "new ArrayBuffer(1e12)", memory + late + "bad_program", ""},
		{"buffers", "const a = []; for (;;) a.push(new Uint8Array(1e8).fill(1))", memory + late, ""},
		{"map", "const m = new Map(); for (let i = 0; ; i++) m.set(i, {i})", memory + late, ""},
		{"repeat", "'x'.repeat(2 ** 30)", "bad_program", "RangeError"},
		{"bigint", "let n = 3n; for (;;) n *= n", memory + late, ""},
		{"exploding regexp", "/^(?=(a+)+$)(\\1|a)+$/.test('a'.repeat(40) + '!')", late, "(line 2, column"},
		{"exploding regexp with lookahead", "/^(?!x)(a|aa|a+)+$/.test('a'.repeat(100) + 'b')", late, ""},
		{"long regexp", "new RegExp('(a?){1000}'.repeat(1000) + 'x').test('a'.repeat(1e5))", late + memory + "bad_program", ""},
		{"million calls", "for (let i = 0; i < 1e6; i++) try { call(1) } catch (e) {}", "bad_program", "a program may call tools 1,000 times"},
		{"million calls at once", "callAll(new Array(1e5).fill(['x']))", "bad_program", "1,000 times"},
		{"million results", "for (;;) result(1)", "bad_program" + late, "(line 2, column"},
		{"giant argument", "call('x', {a: 'x'.repeat(5e6)})", "bad_program", "4,194,304 are allowed"},
		{"giant value", "return 'x'.repeat(4e7)", memory, ""},
		{"finally", "try { for (;;); } finally { for (;;); }", late, ""},
		{"catch", "for (;;) try { for (;;); } catch (e) {}", late, ""},
		{"promises", "const f = () => Promise.resolve().then(f); f(); await new Promise(() => {})", late + memory, ""},
		{"generator", "function* g() { for (;;) yield 1 }; [...g()]", memory + late, ""},
		{"getter", "return {get a() { for (;;); }}", late, ""},
		{"toJSON", "return {toJSON() { for (;;); }}", late, ""},
		{"cycle", "const o = {}; o.o = o; return o", "bad_program", "TypeError"},
		{"deep value", "let v = []; for (let i = 0; i < 1e6; i++) v = [v]; return v", memory + late + "bad_program", ""},
		{"deep source", strings.Repeat("[", 30_000), memory + "bad_program", ""},
		{"sort", "[3, 2, 1].sort(() => { for (;;); })", late, ""},
		{"stack of an error", "throw {get stack() { for (;;); }, toString() { for (;;); }}", late + "bad_program", ""},
		{"jq", "jq(null, '[range(1e9)]')", memory + late, ""},
	} {
		begun := time.Now()
		_, printed, err := ran(t, p, "print('before');\n"+tt.source, echo)
		took := time.Since(begun)
		t.Logf("%s: %v: %s: %.200v", tt.name, took.Round(time.Millisecond), code(err), err)
		slow := code(err) == late || raceDetector && code(err) == "bad_program" // a busy machine takes longer, and no address is refused to the race detector
		if err == nil || code(err) == "" || !slow && (!strings.Contains(tt.codes, code(err)) || !strings.Contains(err.Error(), tt.text)) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if !strings.HasPrefix(printed, "before\n") && tt.name != "deep source" {
			t.Errorf("%s printed %q", tt.name, printed)
		}
		if value, _, err := ran(t, p, "return 1", nil); value != "1" || err != nil {
			t.Errorf("after %s: %s, %v", tt.name, value, err)
		}
	}
}

// TestNothingOfTheHost: constructors and prototypes lead nowhere, and nothing is left for the
// next program.
func TestNothingOfTheHost(t *testing.T) {
	p := newPool(t, Options{})
	for source, want := range map[string]string{
		"return call.constructor('return typeof process + typeof require')()":                                                           `"undefinedundefined"`,
		"return (0, eval)('this').constructor.constructor('return typeof global')()":                                                    `"undefined"`,
		"Object.prototype.leak = 1; Array.prototype.push = null; JSON.parse = JSON.stringify = () => 'x'; call = 1; return result('a')": `"a"`,
		"return [typeof ({}).leak, [].push(1), JSON.stringify(1), call('b')]":                                                           `["undefined",1,"1","b"]`,
		"Error = function () { throw 1 }; try { jq(1, ']') } catch (e) { return e.code }":                                               `"bad_jq"`,
		"return Object.keys(globalThis).filter(k => !['args'].includes(k)).sort()":                                                      `["ask","call","callAll","console","jq","lines","print","result","search","state"]`,
		"args.__proto__.x = 1; state.__proto__ = {toJSON: null}; return 1":                                                              "1",
	} {
		if got, _, err := ran(t, p, source, echo); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", source, got, err, want)
		}
	}
}

// TestPoolEnds: nothing is left of programs that ran, or were stopped.
func TestPoolEnds(t *testing.T) {
	before := runtime.NumGoroutine()
	p := newPool(t, Options{Limit: 200 * time.Millisecond})
	ran(t, p, "return call(1)", echo)
	ran(t, p, "for (;;);", echo)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := p.Run(ctx, Program{Agent: "b", Source: "call(1)"}, &fakeHost{answer: func(ctx context.Context, _ string, _ []json.RawMessage) (json.RawMessage, error) {
		cancel()
		return nil, ctx.Err()
	}})
	if err != context.Canceled {
		t.Error(err)
	}
	p.Close()
	for since := time.Now(); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Since(since) > 10*time.Second {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
	if children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", os.Getpid(), os.Getpid())); err == nil && len(children) > 0 {
		t.Errorf("processes are left: %s", children)
	}
}

// TestOnce: a program that has called something is not begun anew when its worker ends.
func TestOnce(t *testing.T) {
	p := newPool(t, Options{Worker: worker.Options{MaxBytes: 128 << 20}})
	h := &fakeHost{answer: echo.answer}
	_, printed, err := ran(t, p, "call(1); print('a'); new ArrayBuffer(1e12)", h)
	if h.calls != 1 || printed != "a\n" || err == nil {
		t.Errorf("%d calls, %q, %v", h.calls, printed, err)
	}
}
