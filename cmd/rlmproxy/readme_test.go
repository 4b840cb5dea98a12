package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/rpc"
	"rlmproxy/pipeline/tokens"
)

// The tests in this file hold README.md and docs/ against the program.

// A page is README.md or a file of docs/.
type page struct{ path, text string }

// pages returns README.md, docs/tools.md, whose first reply has the cache ID of all calls that
// the pages show, and then docs/ by name.
func pages(t *testing.T) []page {
	t.Helper()
	root := filepath.Join("..", "..")
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files in docs: %v", len(files), err)
	}
	var all []page
	tools := filepath.Join(root, "docs", "tools.md")
	files = slices.DeleteFunc(files, func(f string) bool { return f == tools })
	for _, file := range append([]string{filepath.Join(root, "README.md"), tools}, files...) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		path, _ := filepath.Rel(root, file)
		all = append(all, page{filepath.ToSlash(path), string(b)})
	}
	return all
}

// A fence is a fenced block of a page.
type fence struct {
	lang, text string
	at         place // of its first line
}

type place struct {
	path string
	line int
}

func (p place) down(lines int) place { return place{p.path, p.line + lines} }

func (p place) String() string { return fmt.Sprintf("%s:%d", p.path, p.line) }

func docsFences(t *testing.T, langs ...string) []fence {
	t.Helper()
	var all []fence
	for _, p := range pages(t) {
		var open *fence
		for i, line := range strings.Split(p.text, "\n") {
			lang, isFence := strings.CutPrefix(line, "```")
			switch {
			case isFence && open == nil:
				open = &fence{lang: lang, at: place{p.path, i + 2}}
			case isFence:
				if slices.Contains(langs, open.lang) {
					all = append(all, *open)
				}
				open = nil
			case open != nil:
				open.text += line + "\n"
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("no block of %v", langs)
	}
	return all
}

// pageTable returns the rows of the table with this head, without backticks.
func pageTable(t *testing.T, file, head string) [][]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "\n"+head+"\n")
	if !ok {
		t.Fatalf("%s has no table %s", file, head)
	}
	var rows [][]string
	for i, line := range strings.Split(rest, "\n") {
		if !strings.HasPrefix(line, "| ") {
			break
		}
		if i == 0 {
			continue // | --- |
		}
		line = strings.ReplaceAll(line, `\|`, "\x00")
		line = strings.ReplaceAll(strings.TrimSuffix(line, " |"), "`", "")
		var row []string
		for _, cell := range strings.Split(strings.TrimPrefix(line, "|"), " |") {
			row = append(row, strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|"))
		}
		rows = append(rows, row)
	}
	return rows
}

func TestReadmeSettings(t *testing.T) {
	for _, row := range pageTable(t, "README.md", "| setting | default | what it does |") {
		i := slices.IndexFunc(config.Settings(), func(s config.Setting) bool { return s.Name == row[0] })
		if i < 0 || config.Settings()[i].Default != row[1] {
			t.Errorf("README.md: %s is not %q by default", row[0], row[1])
		}
	}
}

// variableStrings returns the string literals of a package variable.
func variableStrings(t *testing.T, file, name string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != name {
			return true
		}
		for _, v := range spec.Values {
			list = append(list, literals(v)...)
		}
		return false
	})
	if list == nil {
		t.Fatalf("%s has no variable %s", file, name)
	}
	return list
}

func literals(n ast.Node) []string {
	var list []string
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				list = append(list, s)
			}
		}
		return true
	})
	return list
}

func TestReadmeErrorCodes(t *testing.T) {
	var got []string
	for _, row := range pageTable(t, "docs/errors.md", "| code | meaning | what helps |") {
		got = append(got, row[0])
	}
	want := errorCodes(t, "../../middleware", "../../middleware/shape", "../../middleware/tools", "../../pipeline/doc", "../../pipeline/records", "../../pipeline/find", "../../pipeline/jq", "../../pipeline/script", "../../container")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes (-code +docs):\n%s", diff)
	}
}

// errorCodes returns what the packages' sources give to a field Code, sorted.
func errorCodes(t *testing.T, dirs ...string) []string {
	t.Helper()
	constants := map[string]string{}
	var used []ast.Expr
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					// Protocol errors have numbers, not our codes.
					sel, ok := n.Type.(*ast.SelectorExpr)
					return !ok || sel.X.(*ast.Ident).Name != "jsonrpc"
				case *ast.ValueSpec:
					for i, v := range n.Values {
						if s := literals(v); len(s) == 1 {
							constants[n.Names[i].Name] = s[0]
						}
					}
				case *ast.KeyValueExpr:
					if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
						used = append(used, n.Value)
					}
				case *ast.AssignStmt:
					for i, l := range n.Lhs {
						if sel, ok := l.(*ast.SelectorExpr); ok && sel.Sel.Name == "Code" && len(n.Rhs) == len(n.Lhs) {
							used = append(used, n.Rhs[i])
						}
					}
				}
				return true
			})
		}
	}
	var codes []string
	for _, e := range used {
		switch e := e.(type) {
		case *ast.Ident:
			codes = append(codes, constants[e.Name])
		case *ast.SelectorExpr:
			if e.Sel.Name != "Code" { // that is another error's
				codes = append(codes, constants[e.Sel.Name])
			}
		default:
			codes = append(codes, literals(e)...)
		}
	}
	if slices.Contains(codes, "") {
		t.Fatal("a Code is not a constant that this test can read")
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// alone has the output of commands that were run, by their arguments: the demo
// takes seconds under the race detector, and two tests want it.
var alone = map[string]string{}

// runAlone runs the program in this process and returns what it prints.
func runAlone(t *testing.T, args ...string) string {
	t.Helper()
	key := strings.Join(args, "\x00")
	if out, ok := alone[key]; ok {
		return out
	}
	var stdout, stderr bytes.Buffer
	if code := run(args, strings.NewReader(""), &stdout, &stderr); code != exitOK {
		t.Fatalf("rlmproxy %q: exit code %d: %s", args, code, &stderr)
	}
	alone[key] = stdout.String()
	return alone[key]
}

var cacheID = regexp.MustCompile(`\b[a-z2-7]{16}\b`)

// withoutIDs replaces cache IDs, which are random in each process.
func withoutIDs(s string) string { return cacheID.ReplaceAllString(s, "ID") }

// TestReadmeDemo finds the excerpts in what the demo prints. Token counts of
// replies that hold a cache ID may differ by what the ID costs.
func TestReadmeDemo(t *testing.T) {
	demo := strings.Split(withoutIDs(runAlone(t, "demo")), "\n")
	step := regexp.MustCompile(`^\d\. `)
	excerpts := 0
	for _, f := range docsFences(t, "text") {
		first, _, _ := strings.Cut(f.text, "\n")
		if !step.MatchString(first) && !strings.Contains(first, "the whole task") {
			continue
		}
		excerpts++
		lines := strings.Split(strings.TrimRight(withoutIDs(f.text), "\n"), "\n")
		at := slices.Index(demo, lines[0])
		if at < 0 {
			t.Errorf("%v: the demo does not print %q", f.at, lines[0])
			continue
		}
		for i, line := range lines {
			if at+i >= len(demo) || !sameDemoLine(line, demo[at+i]) {
				t.Errorf("%v: %q\nthe demo prints:\n%s", f.at.down(i), line, strings.Join(demo[at:min(at+len(lines), len(demo))], "\n"))
				break
			}
		}
	}
	if excerpts != 2 {
		t.Errorf("there are %d excerpts of the demo, want the first step and the table", excerpts)
	}
}

var (
	number    = regexp.MustCompile(`\d[\d,]*(\.\d+)?`)
	countsIDs = regexp.MustCompile(`^ *[\d,]+ tokens read$|^ *with it: |^ *saved `)
)

func sameDemoLine(a, b string) bool {
	if a == b || !countsIDs.MatchString(a) {
		return a == b
	}
	blank := func(s string) string { return number.ReplaceAllString(s, "N") }
	if strings.Join(strings.Fields(blank(a)), " ") != strings.Join(strings.Fields(blank(b)), " ") {
		return false
	}
	x, y := numbers(a), numbers(b)
	for i := range x {
		// An ID has 5 to 16 tokens, the demo prints five.
		if math.Abs(x[i]-y[i]) > min(55, y[i]/10) {
			return false
		}
	}
	return true
}

func numbers(s string) []float64 {
	var list []float64
	for _, n := range number.FindAllString(s, -1) {
		f, _ := strconv.ParseFloat(strings.ReplaceAll(n, ",", ""), 64)
		list = append(list, f)
	}
	return list
}

// TestReadmeSum checks that the table of the demo adds up: its lines were copied
// from one run.
func TestReadmeSum(t *testing.T) {
	for _, f := range docsFences(t, "text") {
		if !strings.Contains(f.text, "the whole task") {
			continue
		}
		lines := strings.Split(f.text, "\n")
		without, with, own, saved := numbers(lines[1])[0], numbers(lines[2])[1], numbers(lines[3])[0], numbers(lines[4])
		if without-with-own != saved[0] || math.Abs(100*saved[0]/without-saved[1]) > 0.05 {
			t.Errorf("%v: %v - %v - %v is not %v", f.at, without, with, own, saved)
		}
		return
	}
	t.Error("no page has the table of the demo")
}

// TestReadmeAnswers plays the calls of the pages ("→ tool {arguments}") against
// the demo's server. Lines may be left out where a line "…" stands, and
// shortened to a final "…".
func TestReadmeAnswers(t *testing.T) {
	cfg, err := config.Single(config.Server{Name: "data", Command: "in-process"}, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var sent tally
	s, err := start(cfg, slog.New(slog.DiscardHandler), map[string]*mcp.Server{"data": demoServer(&sent)}, nobody, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := s.settle(t.Context(), nil, slog.New(slog.DiscardHandler), nil); err != nil {
		t.Fatal(err)
	}
	conn, hangUp, err := s.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hangUp()

	var cut answer // the first reply, which the other calls are about
	seen := map[string]bool{}
	for _, f := range docsFences(t, "text") {
		if !strings.HasPrefix(f.text, "→ ") {
			continue
		}
		for _, part := range strings.Split(f.text, "→ ")[1:] {
			call, said, _ := strings.Cut(strings.TrimRight(part, "\n"), "\n")
			tool, args, _ := strings.Cut(call, " ")
			seen[tool] = true
			for _, mode := range []string{"regex", "bm25", "fuzzy", "context", "exclude"} {
				seen[mode] = seen[mode] || strings.Contains(args, `"mode":"`+mode+`"`)
			}
			args = cacheID.ReplaceAllString(args, cut.cacheID)
			// A repair of a program is tried for a second, which may be too short on a
			// machine that runs other tests too.
			var a answer
			for try := 0; try == 0 || try < 5 && !shortened(withoutIDs(said), withoutIDs(a.text)); try++ {
				a, err = invoke(t.Context(), conn, toolCall{tool, json.RawMessage(args)})
				if err != nil {
					t.Fatalf("%s: %v", call, err)
				}
			}
			if cut.cacheID == "" {
				cut = a
			}
			if got, want := withoutIDs(a.text), withoutIDs(said); !shortened(want, got) {
				t.Errorf("%v: %s answers\n%s\nnot\n%s", f.at, call, got, want)
			}
		}
	}
	for _, want := range []string{"proxy_explore", "proxy_filter", "proxy_search", "exclude", "bm25", "fuzzy", "context"} {
		if !seen[want] {
			t.Errorf("no page shows a call of %s", want)
		}
	}
	t.Run("meta", func(t *testing.T) { testReadmeMeta(t, cut) })
}

// testReadmeMeta holds the example of _meta against that of a cut reply.
func testReadmeMeta(t *testing.T, cut answer) {
	type facts map[string]map[string]any
	var real struct {
		Meta facts `json:"_meta"`
	}
	if err := json.Unmarshal(cut.raw, &real); err != nil {
		t.Fatal(err)
	}
	var shown facts
	for _, f := range docsFences(t, "json") {
		if strings.Contains(f.text, `"rlmproxy/result"`) {
			if err := json.Unmarshal([]byte(f.text), &shown); err != nil {
				t.Fatal(err)
			}
		}
	}
	near := cmp.FilterPath(func(p cmp.Path) bool { return strings.Contains(p.GoString(), "shown_tokens") },
		cmp.Comparer(func(a, b any) bool { return math.Abs(a.(float64)-b.(float64)) < 55 }))
	anyID := cmp.Transformer("withoutIDs", withoutIDs)
	if diff := cmp.Diff(real.Meta, shown, near, anyID); diff != "" {
		t.Errorf("_meta (-reply +docs):\n%s", diff)
	}
}

// shortened reports whether short is text with parts left out.
func shortened(short, text string) bool {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	skip := false
	for _, s := range strings.Split(strings.TrimRight(short, "\n"), "\n") {
		if s == "…" {
			skip = true
			continue
		}
		at := slices.IndexFunc(lines, func(line string) bool {
			head, cut := strings.CutSuffix(s, "…")
			return line == s || cut && strings.HasPrefix(line, head)
		})
		if at < 0 || at > 0 && !skip {
			return false
		}
		lines, skip = lines[at+1:], false
	}
	return skip || len(lines) == 0
}

func TestShortened(t *testing.T) {
	for _, c := range []struct {
		short, text string
		want        bool
	}{
		{"a\nb", "a\nb\n", true},
		{"a", "a\nb", false},
		{"a\n…", "a\nb", true},
		{"a\n…\nd", "a\nb\nc\nd", true},
		{"a\nd", "a\nb\nc\nd", false},
		{"a\nlo…", "a\nlong", true},
		{"a\nlo", "a\nlong", false},
		{"x\n…", "a\nb", false},
	} {
		if got := shortened(c.short, c.text); got != c.want {
			t.Errorf("shortened(%q, %q) = %t", c.short, c.text, got)
		}
	}
}

// A command is one line of shell in a page, as words, and what it prints.
type command struct {
	words  []string
	output string
	at     place
}

func docsCommands(t *testing.T) []command {
	t.Helper()
	var all []command
	for _, f := range docsFences(t, "sh", "console") {
		var list []command
		for i, line := range strings.Split(strings.TrimRight(strings.ReplaceAll(f.text, "\\\n", " "), "\n"), "\n") {
			text, typed := strings.CutPrefix(line, "$ ")
			if f.lang == "console" && !typed {
				if list == nil {
					t.Fatalf("%v: output before a command", f.at)
				}
				list[len(list)-1].output += line + "\n"
				continue
			}
			words, err := shellWords(text)
			if err != nil {
				t.Fatalf("%v: %v: %s", f.at.down(i), err, text)
			}
			list = append(list, command{words: words, at: f.at.down(i)})
		}
		all = append(all, list...)
	}
	return all
}

// shellWords splits a line as a shell does, as far as the pages need it.
func shellWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, inWord := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		case r == '\\':
			return nil, fmt.Errorf("no backslashes here")
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("open quote")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// arguments returns what follows rlmproxy in a command.
func arguments(words []string) ([]string, bool) {
	for i, w := range words {
		if w == "rlmproxy" || w == "./cmd/rlmproxy" && i >= 2 && slices.Equal(words[i-2:i], []string{"go", "run"}) {
			return words[i+1:], true
		}
	}
	return nil, false
}

// checkArguments finds the command and parses its flags, and runs nothing.
func checkArguments(args []string) (*cobra.Command, error) {
	c := &cli{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, log: terminal.NewLog(io.Discard)}
	defer c.log.Close()
	root := c.root()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return nil, err
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return nil, err
	}
	at := cmd.ArgsLenAtDash()
	switch before := cmd.Flags().Args(); {
	case cmd == root && len(before) > 0:
		return nil, fmt.Errorf("no command %q", before[0])
	case cmd.Name() == "wrap" && !cmd.Flags().Changed("url") && (at != 0 || len(before) == 0):
		return nil, fmt.Errorf("wrap needs a command after --, or --url")
	case cmd.Name() == "tools" && at != 0 && len(before) > 0:
		return nil, fmt.Errorf("tools takes no argument %q", before[0])
	case cmd.Name() == "call":
		if at >= 0 {
			before = before[:at]
		}
		_, err := parseCalls(before)
		return cmd, err
	}
	return cmd, cmd.ValidateArgs(cmd.Flags().Args())
}

func TestCheckArguments(t *testing.T) {
	for _, c := range []struct {
		line string
		ok   bool
	}{
		{"demo", true},
		{"serve --config mcp.json", true},
		{"wrap -- npx -y server .", true},
		{`call t '{"a":1}' -- npx server`, true},
		{"dmeo", false},
		{"demo now", false},
		{"serve --confg mcp.json", false},
		{"serve --max-response-tokens many", false},
		{"wrap npx server", false},
		{"wrap", false},
		{"wrap --url http://127.0.0.1/mcp", true},
		{"tools files", false},
		{`call t '{"a":1'`, false},
	} {
		args, err := shellWords(c.line)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := checkArguments(args); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.line, err)
		}
	}
}

// TestReadmeCommands parses every rlmproxy command, and runs those that need
// nothing but Go. One with output beside it is run too, where the server that it
// names is installed for the end-to-end tests.
func TestReadmeCommands(t *testing.T) {
	seen, ran := 0, 0
	for _, c := range docsCommands(t) {
		args, ok := arguments(c.words)
		if !ok {
			continue
		}
		seen++
		cmd, err := checkArguments(args)
		if err != nil {
			t.Errorf("%v: rlmproxy %q: %v", c.at, args, err)
			continue
		}
		needsGo := cmd.Name() == "demo" || cmd.Name() == "version" || slices.Contains(args, "--help")
		switch {
		case needsGo:
			if runAlone(t, args...) == "" {
				t.Errorf("%v: rlmproxy %q prints nothing", c.at, args)
			}
			ran++
		case c.output != "":
			t.Run(cmd.Name(), func(t *testing.T) { testReadmeOutput(t, c, args) })
		}
	}
	if seen < 5 || ran == 0 {
		t.Errorf("there are %d commands, %d of them run", seen, ran)
	}
}

func testReadmeOutput(t *testing.T, c command, args []string) {
	node, err := exec.LookPath("node")
	script, _ := filepath.Abs("../../e2e/node_modules/.bin/mcp-server-filesystem")
	if err == nil {
		_, err = os.Stat(script)
	}
	switch {
	case err != nil && os.Getenv("RLMPROXY_E2E") == "required":
		t.Fatalf("required: %v (npm ci in e2e/)", err)
	case err != nil:
		t.Skipf("%v (npm ci in e2e/)", err)
	}
	at := slices.Index(args, "npx")
	if at < 0 || !slices.Equal(args[at:at+3], []string{"npx", "-y", "@modelcontextprotocol/server-filesystem"}) {
		t.Fatalf("%v: this test knows one server, not that of %q", c.at, args)
	}
	t.Chdir("../..") // where a reader stands
	args = slices.Concat(args[:at], []string{node, script}, args[at+3:])
	var stdout, stderr bytes.Buffer
	if code := run(args, strings.NewReader(""), &stdout, &stderr); code != exitOK {
		t.Fatalf("%v: exit code %d: %s%s", c.at, code, &stdout, &stderr)
	}
	if got, want := withoutIDs(stdout.String()), withoutIDs(c.output); !shortened(want, got) {
		t.Errorf("%v: the command prints\n%s\nnot\n%s", c.at, got, want)
	}
}

// TestReadmeJSON reads every JSON block; those with servers as the proxy would,
// and what they start as a command line.
func TestReadmeJSON(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(config.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	configs := 0
	for _, f := range docsFences(t, "json") {
		if !json.Valid([]byte(f.text)) {
			t.Errorf("%v: not JSON:\n%s", f.at, f.text)
			continue
		}
		if !strings.Contains(f.text, `"mcpServers"`) {
			continue
		}
		configs++
		var v any
		if err := json.Unmarshal([]byte(f.text), &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%v: %v", f.at, err)
		}
		path := filepath.Join(t.TempDir(), "mcp.json")
		if err := os.WriteFile(path, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(config.Options{Path: path})
		if err != nil {
			t.Errorf("%v: %v", f.at, err)
			continue
		}
		for _, w := range cfg.Warnings {
			t.Errorf("%v: warning: %s", f.at, w)
		}
		for _, s := range cfg.Servers {
			if s.Command != "rlmproxy" {
				continue
			}
			if _, err := checkArguments(s.Args); err != nil {
				t.Errorf("%v: %q: %v", f.at, s.Args, err)
			}
		}
	}
	if configs < 3 {
		t.Errorf("there are %d configurations", configs)
	}
}

// TestReadmeNames checks the flags and variables in running text.
func TestReadmeNames(t *testing.T) {
	known := map[string]bool{"RLMPROXY_CONFIG": true, "RLMPROXY_E2E": true}
	for _, s := range config.Settings() {
		known[s.Env()] = true
	}
	c := &cli{}
	root := c.root()
	for _, cmd := range append(root.Commands(), root) {
		cmd.InitDefaultHelpFlag()
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
	}
	name := regexp.MustCompile("RLMPROXY_[A-Z0-9_]+|`--[a-z-]+")
	named := 0
	for _, p := range pages(t) {
		for _, n := range name.FindAllString(p.text, -1) {
			if named++; !known[strings.TrimPrefix(n, "`")] {
				t.Errorf("%s names %s, which does not exist", p.path, n)
			}
		}
	}
	if named < 20 {
		t.Errorf("%d variables and flags are named", named)
	}
}

func TestReadmeLimits(t *testing.T) {
	exact := 64 << 10
	if _, ok := tokens.Count(make([]byte, exact)); !ok {
		t.Errorf("tokens of %d bytes are estimated", exact)
	}
	if _, ok := tokens.Count(make([]byte, exact+1)); ok {
		t.Errorf("tokens of %d bytes are counted exactly", exact+1)
	}
	want := [][]string{
		{"longest message", fmt.Sprintf("%d MiB", rpc.DefaultMaxBytes>>20)},
		{"deepest nesting of a message", fmt.Sprintf("%d levels", jsonscan.MaxDepth)},
		{"text whose tokens are counted exactly", fmt.Sprintf("%d KiB", exact>>10)},
	}
	if diff := cmp.Diff(want, pageTable(t, "docs/limits.md", "| limit | value |")); diff != "" {
		t.Errorf("limits (-code +docs):\n%s", diff)
	}
}

func TestReadmeExitCodes(t *testing.T) {
	var got []string
	for _, row := range pageTable(t, "docs/errors.md", "| code | meaning |") {
		got = append(got, row[0])
	}
	var want []string
	for _, code := range []int{exitOK, exitFailed, exitUsage} {
		want = append(want, strconv.Itoa(code))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exit codes (-code +docs):\n%s", diff)
	}
}
