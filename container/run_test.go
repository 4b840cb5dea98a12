package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"rlmproxy/container/containertest"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/script"
)

// hostFunc is a host of one function.
type hostFunc func(ctx context.Context, function string, args []json.RawMessage) (json.RawMessage, error)

func (f hostFunc) Call(ctx context.Context, function string, args []json.RawMessage) (json.RawMessage, error) {
	return f(ctx, function, args)
}

var noHost = hostFunc(func(_ context.Context, function string, _ []json.RawMessage) (json.RawMessage, error) {
	return nil, fmt.Errorf("there is no function %s", function)
})

// engine starts an engine that ends with the test.
func engine(t *testing.T, opts Options) *Engine {
	t.Helper()
	containertest.Start(t)
	if opts.Image == "" {
		opts.Image = containertest.Image
	}
	e := New(opts)
	t.Cleanup(e.Close)
	return e
}

// code is that of an error of the program's.
func code(err error) string {
	if failed, ok := errors.AsType[*script.Error](err); ok {
		return failed.Code
	}
	return fmt.Sprintf("not the program's: %v", err)
}

// TestRun: what a program is given, and what becomes of it.
func TestRun(t *testing.T) {
	e := engine(t, Options{})
	for _, c := range []struct{ name, source, value, printed, state string }{
		{"a value", `return {sum: args.a + args.b, list: [1, null, "ü"]}`, `{"sum":3,"list":[1,null,"ü"]}`, "", ""},
		{"what JSON has not", `return [new Map([["a", 1n]]), new Set([2])]`, `[{"a":"1"},[2]]`, "", ""},
		{"nothing", `args.a = 5`, ``, "", ""},
		{"print", `print("a", {b: 1}, 2, undefined); console.log("%d of %s", 1, "x"); console.error("e"); process.stdout.write("raw\n"); return 1`,
			`1`, "a {\"b\":1} 2 undefined\n1 of x\ne\nraw\n", ""},
		{"state", `state.n = (state.n ?? 0) + 1; return state.n`, `8`, "", `{"n":8}`},
		{"state as it was", `state.n = 9; state.n = 7; return state.n`, `7`, "", ""},
		{"modules of Node", `const { createHash } = require("node:crypto"); const path = await import("node:path");
			return [createHash("sha1").update("x").digest("hex").slice(0, 6), path.basename("/a/b")]`, `["11f6ad","b"]`, "", ""},
		{"time passes", `await new Promise(r => setTimeout(r, 5)); return Date.now() > 1e12`, `true`, "", ""},
		{"a comment at the end", "return 1 // one", `1`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := e.Run(t.Context(), script.Program{Agent: "a", Source: c.source,
				Arguments: json.RawMessage(`{"a":1,"b":2}`), State: json.RawMessage(`{"n":7}`)}, noHost)
			if err != nil || string(out.Value) != c.value || string(out.Printed) != c.printed || string(out.State) != c.state {
				t.Errorf("%s %q %s %v", out.Value, out.Printed, out.State, err)
			}
		})
	}
}

// TestHost: calls go to the host, eight at a time, and what it refuses is an exception.
func TestHost(t *testing.T) {
	e := engine(t, Options{})
	eight := make(chan struct{})
	began := make(chan struct{}, 20)
	go func() {
		for range maxAtOnce {
			<-began
		}
		close(eight) // only then is the first answered
	}()
	h := hostFunc(func(ctx context.Context, function string, args []json.RawMessage) (json.RawMessage, error) {
		switch function {
		case "call":
			began <- struct{}{}
			<-eight
			return args[1], nil
		case "search":
			return nil, errors.New("bad_pattern: no ]")
		}
		if function == "lines" {
			return json.RawMessage(`"a\nb\r\n"`), nil
		}
		return json.RawMessage(fmt.Sprintf(`{"function":%q,"args":%d}`, function, len(args))), nil
	})
	out, err := e.Run(t.Context(), script.Program{Name: "mine", Source: `
		const all = await Promise.all(Array.from({length: 12}, (_, i) => call("t", {i})));
		let refused;
		try { await search("id", "]") } catch (e) { refused = e.message }
		return [all.map(a => a.i).join(), refused, await result("x"), await lines("x"), await callAll([]), await ask("q", [])]`}, h)
	want := `["0,1,2,3,4,5,6,7,8,9,10,11","bad_pattern: no ]",{"function":"result","args":1},["a","b"],` +
		`{"function":"callAll","args":1},{"function":"ask","args":2}]`
	if err != nil || string(out.Value) != want {
		t.Errorf("%s %v", out.Value, err)
	}

	_, err = e.Run(t.Context(), script.Program{Name: "mine", Source: "const a = 1\n  await search('id', ']')"}, h)
	if code(err) != doc.BadProgram || err.Error() != "mine: Error: bad_pattern: no ] (line 2, column 9)\n      await search('id', ']')\n            ^" {
		t.Errorf("%v", err)
	}
}

// TestMistakes: the program's mistakes are shown where they are, with what it had printed.
func TestMistakes(t *testing.T) {
	e := engine(t, Options{})
	for _, c := range []struct{ name, source, code, text string }{
		{"an exception", "print('before')\nlet x\nx.y()", doc.BadProgram, "mine: TypeError: Cannot read properties of undefined (reading 'y') (line 3, column 3)\n    x.y()\n      ^"},
		{"later", "print('before')\nsetTimeout(() => { throw new Error('late') })\nawait new Promise(r => setTimeout(r, 1e6))", doc.BadProgram,
			"mine: Error: late (line 2, column 26)\n    setTimeout(() => { throw new Error('late') })\n                             ^"},
		{"a rejection that nobody handles", "print('before')\nPromise.reject(new Error('lost'))\nawait new Promise(r => setTimeout(r, 1e6))", doc.BadProgram,
			"mine: Error: lost (line 2, column 16)\n    Promise.reject(new Error('lost'))\n                   ^"},
		{"no error", "print('before')\nthrow {a: 1}", doc.BadProgram, "mine: thrown: { a: 1 }"},
		{"waits for nothing", "print('before')\nawait new Promise(() => {})", doc.BadProgram, "mine: Error: the program waits for a promise that nothing will settle"},
		{"the end of the process", "print('before')\nprocess.exit(3)", doc.BadProgram, "mine: the process ended with exit code 3 before the program returned"},
		{"a circle", "print('before')\nconst a = []\na.push(a)\nreturn a", doc.BadProgram, "mine: TypeError: Converting circular structure to JSON\n"},
		{"too large", "print('before')\nreturn 'x'.repeat(20e6)", doc.BadProgram, "mine: RangeError: 20000025 bytes at once; 16777216 are allowed"},
		{"too deep", "print('before')\nlet v = 1\nfor (let i = 0; i < 2000; i++) v = [v]\nreturn v", doc.BadProgram, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := e.Run(t.Context(), script.Program{Name: "mine", Source: c.source}, noHost)
			if code(err) != c.code || !strings.HasPrefix(err.Error(), c.text) || !strings.HasPrefix(string(out.Printed), "before\n") {
				t.Errorf("%q %v", out.Printed, err)
			}
		})
	}
	for _, c := range []struct{ source, text string }{
		{"const a = 1\nconst b = ;", "mine: SyntaxError: Unexpected token ';' (line 2, column 11)\n    const b = ;\n              ^"},
		{"if (args) {", "mine: SyntaxError: a bracket, brace or parenthesis is missing, or one too many (line 1, column 12)\n    if (args) {\n               ^"},
		{"import x from 'y'", "mine: SyntaxError: Cannot use import statement outside a module (line 1, column 1)\n    import x from 'y'\n    ^"},
	} {
		if err := e.Check(t.Context(), script.Program{Name: "mine", Source: c.source}); code(err) != doc.BadProgram || err.Error() != c.text {
			t.Errorf("%s: %v", c.source, err)
		}
	}
	if err := e.Check(t.Context(), script.Program{Name: "mine", Source: "throw new Error('was run')"}); err != nil {
		t.Error(err)
	}
}

// TestBounds: what a program takes has an end, and the next one runs.
func TestBounds(t *testing.T) {
	e := engine(t, Options{Memory: 96 << 20, Compute: 2 * time.Second, Timeout: 15 * time.Second})
	long := json.RawMessage(`"` + strings.Repeat("y", 1<<20) + `"`)
	large := hostFunc(func(_ context.Context, _ string, args []json.RawMessage) (json.RawMessage, error) {
		if len(args) > 0 {
			return long, nil
		}
		return nil, nil
	})
	for _, c := range []struct{ name, source, code, text string }{
		{"a loop", `for (;;);`, doc.LimitTime, "the program computed for longer than 2s"},
		{"a regular expression", `return /^(a+)+$/.test("a".repeat(40) + "b")`, doc.LimitTime, "the program computed"},
		{"a heap", `const a = []; for (;;) a.push({a: [a.length]})`, doc.LimitMemory, "the program needed more memory than the 96 MiB of its container"},
		{"buffers", `const a = []; for (;;) { a.push(Buffer.alloc(1 << 20, 1)); await null }`, "", ""},
		{"both pipes full", `const fs = require("fs"); const b = Buffer.from(JSON.stringify({call: 1, function: "call", arguments: ["x".repeat(1000)]}) + "\n"); for (let i = 0; i < 9000; i++) fs.writeSync(1, b)`, doc.LimitTime, "the time limit passed"},
		{"recursion", `function f() { return f() + 1 } return f()`, doc.BadProgram, "mine: RangeError: Maximum call stack size exceeded (line 1, column 16)"},
		{"files", `require("fs").writeFileSync("/tmp/x", Buffer.alloc(65 << 20))`, "", ""},
		{"processes", `const { spawn } = require("child_process"); const all = []
			for (let i = 0; i < 200; i++) { const p = spawn("sleep", ["100"]); p.on("error", () => {}); all.push(p) }
			await new Promise(r => setTimeout(r, 200)); return all.filter(p => p.pid).length < 64`, "", ""},
		{"a line without an end", `const fs = require("fs"); const b = Buffer.alloc(1 << 20, 120); for (;;) fs.writeSync(1, b)`, doc.LimitMemory, "the program sent more than 16 MiB at once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := e.Run(t.Context(), script.Program{Name: "mine", Source: c.source}, large)
			switch {
			case c.name == "files", c.name == "buffers": // by one bound or another
				if err == nil {
					t.Error("it was done")
				}
			case c.code == "":
				if err != nil {
					t.Error(err)
				}
			case code(err) != c.code || !strings.HasPrefix(err.Error(), c.text):
				t.Errorf("%v", err)
			}
		})
	}
}

// TestCalls: how often a program calls its host has an end.
func TestCalls(t *testing.T) {
	e := engine(t, Options{})
	for _, source := range []string{
		`for (let i = 0; i < 2000; i++) await call("t").catch(() => {})`,
		`for (let i = 0; i < 2000; i++) call("t").catch(() => {}); await call("t")`,
		`await callAll(new Array(1001).fill(["t", {}]))`,
	} {
		if _, err := e.Run(t.Context(), script.Program{Source: source}, noHost); code(err) != doc.BadProgram || !strings.HasPrefix(err.Error(), "a program may call tools 1,000 times") {
			t.Errorf("%s: %v", source, err)
		}
	}
	if _, err := e.Run(t.Context(), script.Program{Source: `for (let i = 0; i <= 10000; i++) await result("x").catch(() => {})`}, noHost); code(err) != doc.BadProgram || !strings.Contains(err.Error(), "10,000 times") {
		t.Error(err)
	}
}

// TestPrinted: what is printed has a bound, and what is missing is said.
func TestPrinted(t *testing.T) {
	e := engine(t, Options{})
	out, err := e.Run(t.Context(), script.Program{Name: "mine", Source: `for (let i = 0; i < 3000; i++) print("x".repeat(99)); require("fs").writeSync(1, "no message\n"); return 1`}, noHost)
	end := fmt.Sprintf("\n… %s bytes more were printed, which are not kept\n", "234,475")
	if err != nil || string(out.Value) != "1" || len(out.Printed) != maxPrintedBytes+len(end) || !strings.HasSuffix(string(out.Printed), end) {
		t.Errorf("%d %.200s %v", len(out.Printed), out.Printed[max(0, len(out.Printed)-200):], err)
	}
}
