package script

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	p := newPool(t, Options{})
	for _, tt := range []struct{ source, value, printed string }{
		{"return 1 + args.n", "4", ""},
		{"return args.id", `"9007199254740993"`, ""},
		{"", "", ""},
		{"return undefined", "", ""},
		{"return null", "null", ""},
		{"print('a', {b: [1]}, null, undefined, 2); console.log(1)", "", "a {\"b\":[1]} null undefined 2\n1\n"},
		{"return {m: new Map([['a', 1]]), s: new Set([1, 1]), n: NaN, b: 2n**70n}", `{"m":{"a":1},"s":[1],"n":null,"b":"1180591620717411303424"}`, ""},
		{"return jq([3, 1, 2], 'sort, length')", "[[1,2,3],3]", ""},
		{"return jq([1], 'empty')", "[]", ""},
		{"try { jq(1, '.a') } catch (e) { return e.code + ': ' + e.message.split('\\n')[0] }", `"bad_jq: jq: expected an object but got: number (1)"`, ""},
		{"return call('x')", `"x"`, ""},
		{"const r = await call({a: 1}); return r.a", "1", ""},
		{"return Promise.all([1, 2].map(async n => await call(n)))", "[1,2]", ""},
		{"return new Date('2025-06-01').getTime()", "1748736000000", ""},
		{"return new Date(2025, 5, 1).toISOString()", `"2025-06-01T00:00:00.000Z"`, ""},
		{"return [typeof require, typeof process, typeof setTimeout, typeof fetch, typeof WebAssembly, typeof Atomics]", `["undefined","undefined","undefined","undefined","undefined","undefined"]`, ""},
		{"return 'x'.padStart(3, '-') + 'ab'.repeat(2)", `"--xabab"`, ""},
		{"const p = (async () => { throw 1 })(); try { await p } catch (e) { return e }", "1", ""},
		{"const all = await Promise.allSettled([1, 2].map(async n => { throw n })); return all.map(s => s.reason)", "[1,2]", ""},
		{"i = 5; for (j of [1]) i += j; return i", "6", ""},
	} {
		value, printed, err := ran(t, p, tt.source, echo)
		if err != nil || value != tt.value || printed != tt.printed {
			t.Errorf("%s: %s, %q, %v; want %s, %q", tt.source, value, printed, err, tt.value, tt.printed)
		}
	}
}

// TestPlaces: an error names the place, and shows the line with a caret.
func TestPlaces(t *testing.T) {
	p := newPool(t, Options{Limit: 300 * time.Millisecond})
	for _, tt := range []struct{ source, want string }{
		{"const a = {}\nreturn a.b.c", "program: TypeError: Cannot read property 'c' of undefined (line 2, column 12)\n    return a.b.c\n               ^"},
		{"let x = ;", "program: SyntaxError: Unexpected token ; (line 1, column 9)\n    let x = ;\n            ^"},
		{"if (1) {", "program: SyntaxError: a bracket, brace or parenthesis is missing, or one too many (line 1, column 9)\n    if (1) {\n            ^"},
		{"const é = 'é'; return é.x.y", "program: TypeError: Cannot read property 'y' of undefined (line 1, column 27)\n    const é = 'é'; return é.x.y\n                              ^"},
		{"throw new Error('no')", "program: Error: no (line 1, column 7)"},
		{"throw 'no'", "program: no (line 1, column 1)"},
		{"await 1\nthrow new Error('no')", "program: Error: no (line 2, column 7)"},
		{"\n\nx.y", "ReferenceError: x is not defined (line 3, column 1)"},
		{"const result = result('a')", "hint: a variable may not have the name of a function"},
		{"const fs = require('fs')", "hint: there are no modules, files or"},
		{"import fs from 'fs'\nreturn 1", "hint: there are no modules, files or"},
		{"const r = await fetch('https://example.com')", "hint: there is no network: call(tool, arguments)"},
		{"await new Promise(r => setTimeout(r, 1))", "hint: there are no timers"},
		{"for await (const x of call('a')) print(x)", "hint: write for (const x of …), without await"},
		{"const t = JSON.parse(call({a: 1}))", "hint: what result and call return is parsed already"},
		{"interface F { name: string }\nreturn 1", "hint: the program is JavaScript: leave out the types"},
		{"const files: F[] = call('x')", "hint: the program is JavaScript: leave out the types"},
		{"return call('x').map((f: F) => f.name)", "hint: the program is JavaScript: leave out the types"},
		{"return call('x') as string[]", "hint: the program is JavaScript: leave out the types"},
		{"```js\nreturn 1\n```", "hint: send the program without the ``` around it"},
		{"async function main() {\n  throw new TypeError('lost')\n}\nmain()", "program: TypeError: lost (line 2, column 9)"},
		{"call('a', {a: 1n, toJSON() { throw new TypeError('mine') }})", "TypeError: mine (line 1, column"},
		{"return new Date()", "TypeError: there is no clock"},
		{"return Date.now()", "TypeError: there is no clock"},
		{"return Math.random()", "TypeError: there is no randomness (line 1, column"},
		{"await new Promise(() => {})", "it waits for a promise that nothing fulfils"},
		{"state = 3", "state must be an object"},
		{"delete globalThis.state", "state must be an object"},
		{"state.x = 'x'.repeat(300000)", "state has 300,"},
		{"let n = 0\nwhile (true) n++", "the program computed for longer than 300ms (line 2, column"},
		{"const f = () => f()\nf()", "calls nest deeper than 10,000 (line 1, column"},
		{"return 'x'.repeat(1e9)", "RangeError: a string of more than 67108864 characters (line 1, column 18)"},
		{"return jq(1, 'last(repeat(.))')", "computed for longer than 300ms (line 1, column 10)"},
		{"return /^(?=(a+)+$)(\\1|a)+$/.test('a'.repeat(40) + '!')", "computed for longer than 300ms (line 1, column"},
	} {
		_, _, err := ran(t, p, tt.source, echo)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q:\n%v\nwant\n%s", tt.source, err, tt.want)
		}
	}
}

// TestPlainErrors: a mistake that is none of another place gets no advice for it.
func TestPlainErrors(t *testing.T) {
	p := newPool(t, Options{})
	for _, source := range []string{"return {a: 1, b: 2, c: [}", "const o = {a: x ? y : z", "return undefinedName", "const a = [1,2,3\nreturn a", "JSON.stringify("} {
		if _, _, err := ran(t, p, source, echo); err == nil || strings.Contains(err.Error(), "hint:") {
			t.Errorf("%q: %v", source, err)
		}
	}
}

func TestState(t *testing.T) {
	p := newPool(t, Options{})
	run := func(source string) string {
		out, err := p.Run(t.Context(), Program{Agent: "a", Source: source, State: json.RawMessage(`{"seen": 1, "b":2}`)}, nil)
		if err != nil {
			t.Error(err)
		}
		return string(out.State)
	}
	for source, want := range map[string]string{
		"state.seen++":           `{"seen":2,"b":2}`,
		"return state.seen":      "",
		"state = {a: [1]}":       `{"a":[1]}`,
		"const state = 1":        "",
		"state.seen = 1":         "",
		"delete state.seen":      `{"b":2}`,
		"state.f = function(){}": "",
	} {
		if got := run(source); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
	if out, err := p.Run(t.Context(), Program{Source: "state.a = 1; throw 1"}, nil); err == nil || out.State != nil {
		t.Errorf("state of a program that failed: %s, %v", out.State, err)
	}
}

// TestHostErrors: what the host says of an error is an exception; the end of ctx is none.
func TestHostErrors(t *testing.T) {
	p := newPool(t, Options{Limit: 200 * time.Millisecond})
	h := &fakeHost{answer: func(_ context.Context, function string, _ []json.RawMessage) (json.RawMessage, error) {
		if function == "ask" {
			return nil, errors.New("plain")
		}
		return nil, &Error{Code: "rate_limited", Text: "slow", Hint: "wait"}
	}}
	value, _, err := ran(t, p, "const got = []; for (const f of [call, ask]) try { f('x') } catch (e) { got.push(e.code, e.message) }; return got", h)
	if want := `["rate_limited","slow (wait)",null,"plain"]`; value != want || err != nil {
		t.Errorf("%s, %v; want %s", value, err, want)
	}
	if _, _, err := ran(t, p, "\ncall('x')", h); code(err) != "bad_program" || !strings.Contains(err.Error(), "Error: slow (wait) (line 2, column 5)") {
		t.Error(err)
	}
	// Waiting does not count as computing; it ends with ctx.
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := p.Run(ctx, Program{Agent: "a", Source: "try { call(1) } catch (e) { return 2 }"}, &fakeHost{answer: func(ctx context.Context, _ string, _ []json.RawMessage) (json.RawMessage, error) {
			close(waits)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		ended <- err
	}()
	<-waits
	time.AfterFunc(time.Second, cancel) // five times the limit
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	p := newPool(t, Options{})
	if err := p.Check(t.Context(), Program{Name: "mine", Source: "return call(1)"}); err != nil {
		t.Error(err)
	}
	if err := p.Check(t.Context(), Program{Name: "mine", Source: "return ]"}); code(err) != "bad_program" || !strings.Contains(err.Error(), "mine: SyntaxError") || !strings.Contains(err.Error(), "^") {
		t.Error(err)
	}
	for _, bad := range []Program{{Source: strings.Repeat(" ", 70_000)}, {Arguments: json.RawMessage("{")}, {Packages: []string{"left-pad"}}} {
		if err := p.Check(t.Context(), bad); code(err) != "bad_program" {
			t.Error(err)
		}
	}
}

func TestExact(t *testing.T) {
	for in, want := range map[string]string{
		`[1,-9007199254740991,9007199254740992,"9007199254740993",1.5e300,-12345678901234567890]`: `[1,-9007199254740991,"9007199254740992","9007199254740993",1.5e300,"-12345678901234567890"]`,
		`{"12345678901234567890":0}`: `{"12345678901234567890":0}`,
		"18446744073709551615":       `"18446744073709551615"`,
		"0.12345678901234567890":     "0.12345678901234567890",
	} {
		if got := string(exact([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
