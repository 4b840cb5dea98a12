package pipeline

import (
	"fmt"
	"strings"
	"testing"
)

// TestTextPreviews holds what a preview of each kind must tell.
func TestTextPreviews(t *testing.T) {
	filler := strings.Repeat("some words to make it long\n", 400)
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"log", string(serviceLog(20_000)), []string{
			"log, 20,004 lines, ", "\nspan: 2026-03-05T00:00:00.", " .. 2026-03-05T05:33:19.", "\nlevels: FATAL 1, ERROR ", "lines inside entries 4",
			"INFO [worker-<*>] request <*> from <*> took <*>ms", "; 3 more seen once:", "FATAL [main] out of disk space", "java.lang.IllegalStateException: pool closed", "Caused by: java.net.ConnectException: refused", "configuration reloaded by admin"}},
		{"access log", strings.Repeat("10.0.0.1 - - [05/Mar/2026:00:00:00 +0000] \"GET /items/7?x=1 HTTP/1.1\" 200 5 \"-\" \"a b\"\n", 300) + "10.0.0.1 - - [05/Mar/2026:00:00:09 +0000] \"POST /users/7 HTTP/1.1\" 503 5 \"-\" \"a b\"\n", []string{
			"statuses: 2xx 300, 5xx 1", "300× 1  GET /items/<*> 200", "301: 10.0.0.1"}},
		{"diff", "diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,3 @@\n a\n--- b\n+++ c\n d\ndiff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,300 @@\n" + strings.Repeat("+line\n", 300) + "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\ndiff --git a/o b/q\nrename from o\nrename to q\n", []string{
			"4 files, +301 −1", "1  +1 −1 x.go\n", "9  +300 −0 n (new)", " +0 −0 p.png (binary)", " q (renamed from o)", "4: @@ -1,3 +1,3 @@"}},
		{"source", "// Copyright\n// Licence\n\npackage a\n\nimport (\n\t\"b\"\n)\n\ntype T struct {\n\tx int\n}\n\nfunc (t *T) M() {\n}\n\nfunc f() {\n" + strings.Repeat("\tb.Call()\n", 800) + "}\n", []string{
			"looks like Go", "10: type T struct\n", "14: func (t *T) M()\n", "17: func f()\n", "818: }"}},
		{"Markdown", "# Title\n\n" + filler + "## Part\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n```go\n# no heading\n```\n\n### Deep\n", []string{
			"1 code block (go 1), 1 table, 3 headings", "403: ## Part\n", "405  | a | b |  (2 rows)"}},
		{"HTML", "<!DOCTYPE html>\n<html><head><title>A &amp; B</title><script>if (a<b) x()</script></head>\n<body><h1>One</h1>\n" + strings.Repeat("<p>Words <b>bold</b> &lt;x&gt; <a href=\"/\">a link</a></p>\n", 300) + "<h2>Two</h2></body></html>\n", []string{
			"title: A & B\n", "300 links", "3  h1 One\n", "304    h2 Two\n", "4  Words bold <x> a link\n"}},
		{"XML", "<?xml version=\"1.0\"?>\n<list>\n" + strings.Repeat("<item id=\"1\"><name>x</name></item>\n", 300) + "</list>\n", []string{
			"601 elements", "list ×1  2\n", "  item ×300  3  @id\n", "    name ×300  3  e.g. x\n"}},
		{"YAML", "name: CI\njobs:\n  build:\n    steps:\n" + strings.Repeat("      - run: |\n          echo: x\n", 300), []string{
			"1  name: CI\n", "2  jobs  1 key, 603 lines\n", "4      steps  300 items, 601 lines"}},
		{"page", "- Page URL: http://x/\n- main [ref=e1]:\n  - heading \"Top\" [level=1] [ref=e2]\n  - textbox \"Name\" [ref=e3]\n  - button \"Go\" [ref=e4]\n" + strings.Repeat("  - link \"More\" [ref=e5]:\n    - /url: /x\n", 300), []string{
			"Page URL: http://x/", "roles: link 300, main 1", "3: heading \"Top\" [level=1] [ref=e2]", "4: textbox \"Name\" [ref=e3]", "5: button \"Go\" [ref=e4]"}},
		{"Java", "java.lang.RuntimeException: a\n" + strings.Repeat("\tat org.springframework.X.y(X.java:1)\n", 300) + "\tat com.acme.Main.main(Main.java:9)\nCaused by: java.io.IOException: the reason\n\tat java.base/java.io.F.g(F.java:3)\n\tat com.acme.Db.open(Db.java:77)\n" + strings.Repeat("\tat org.apache.X.y(X.java:1)\n", 300), []string{
			"cause:\n1: java.lang.RuntimeException: a\n303: Caused by: java.io.IOException: the reason\n", "302: \tat com.acme.Main.main(Main.java:9)", "305: \tat com.acme.Db.open(Db.java:77)"}},
		{"goroutines", "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/a.go:3 +0x1\n\n" + strings.Repeat("goroutine 7 [chan receive, 5 minutes]:\nmain.worker(0x1)\n\t/x/a.go:9 +0x1\ncreated by main.main in goroutine 1\n\t/x/a.go:2 +0x1\n\n", 60), []string{
			"61 goroutines in 2 groups of equal stacks", "1: panic: boom", "60× 7  [chan receive] main.worker", "1× 3  [running] main.main"}},
		{"plain", "INTRODUCTION\n\n" + filler + "\nThe second part\n---------------\n\n" + filler, []string{"lines like headings:\n1: INTRODUCTION\n404: The second part\n"}},
		{"matches", strings.Repeat("a/b.go:12:\tfoo(bar) and so on\n", 200) + "c.go:3:func foo(x int) {\n", []string{"2 files", "200× 1  a/b.go\n", "1× 201  c.go"}},
		{"files", strings.Repeat("/r/src/a.go\n/r/src/b.go\n/r/doc/c.md\n", 200), []string{"all under /r/", "names end in: .go 400, .md 200", "400× 1  src/"}},
		{"broken JSON", "{\n" + strings.Repeat("\"a\": [1, 2, 3],\n", 300) + "oops\n}", []string{"broken JSON", "invalid character 'o' looking for beginning of object key string at byte 4,803, line 302", "302: oops"}},
		{"cut at both ends", strings.Repeat("word ", 5000), []string{"1: word word", " bytes left out, up to byte ", "word"}},
	} {
		text, _ := Preview(Recognise([]byte(tt.in), nil), 1000)
		for _, want := range tt.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", tt.name, want, text)
			}
		}
	}
}

func TestMaskLine(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"took 12ms, 3.5 s", "took <*>ms, <*> s"},
		{"10.0.0.1:8080 2024-01-02T03:04:05.6Z", "<*> <*>Z"},
		{"id=550e8400-e29b-41d4-a716-446655440000 x", "id=<*> x"},
		{"deadbee5 0xff worker-12 utf8", "<*> <*> worker-<*> utf<*>"},
		{`user "ann lee" in`, `user "<*>" in`},
		{`msg="it failed" k="v w"`, `msg="it failed" k="<*>"`},
		{"\x1b[31mred\x1b[0m 1", "red <*>"},
		{"/api/v1/items/123/x", "/api/v<*>/items/<*>/x"},
	} {
		if got := string(maskLine(nil, []byte(tt.in))); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestLevelOf(t *testing.T) {
	for _, tt := range []struct {
		want level
		in   string
	}{
		{errorLevel, "ERROR main: x"}, {errorLevel, "[error] x"}, {errorLevel, "level=error msg=x"}, {errorLevel, `{"level":"error"}`}, {warnLevel, "main WARNING x"}, {infoLevel, "| INFO     | x"},
		{fatalLevel, "FATAL x"}, {errorLevel, "E/Tag: x"}, {errorLevel, "npm ERR! x"}, {errorLevel, "<err> x"}, {debugLevel, "\x1b[34mDEBUG\x1b[0m x"}, {errorLevel, "error: x"},
		{noLevel, "no error was found"}, {noLevel, "the information is here"}, {noLevel, "ERROR_CODE is 3"}, {noLevel, "errors=3"}, {noLevel, ""},
		{fatalLevel, "pAniC]"}, {noLevel, ":error"}, {errorLevel, "[error"},
	} {
		if got, _ := levelOf([]byte(tt.in), 0); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.in, levelNames[got], levelNames[tt.want])
		}
	}
}

func TestDefinitions(t *testing.T) {
	for _, tt := range []struct{ lang, in, want string }{
		{"Go", "func f(x int) int {", "functions"}, {"Go", "func (t *T) m() {", "methods"}, {"Go", "type T struct {", "types"}, {"Go", "\treturn f(x)", ""}, {"Go", "\tfunc() {", ""}, {"Go", "const x = 1", "constants"},
		{"Python", "def f(x):", "functions"}, {"Python", "    async def g(self):", "methods"}, {"Python", "class A(B):", "classes"}, {"Python", "class of things", ""}, {"Python", "x = f(y)", ""},
		{"TypeScript", "export interface A {", "interfaces"}, {"TypeScript", "  m(a: string): void;", "methods"}, {"TypeScript", "  return m(a);", ""}, {"TypeScript", "  type: string;", ""}, {"JavaScript", "app.use = function use(fn) {", "functions"},
		{"JavaScript", "const f = async (x) => {", "functions"}, {"JavaScript", "const x = require('x');", ""}, {"JavaScript", "  if (x) {", ""}, {"JavaScript", "  constructor(x) {", "methods"}, {"JavaScript", "describe('x', () => {", ""},
		{"Java", "public class A extends B {", "classes"}, {"Java", "    private static void f(int x) throws E {", "methods"}, {"Java", "    } else if (x) {", ""}, {"C or C++", "int main(void)", "functions"}, {"C or C++", "static void f(int x) {", "functions"},
		{"C or C++", "struct a {", "structs"}, {"C or C++", "struct a;", ""}, {"Rust", "pub(crate) fn f() -> X {", "functions"}, {"Rust", "impl<T> A for B<T> {", "impls"}, {"Ruby", "  def x?", "methods"}, {"Ruby", "module A", "modules"},
		{"PHP", "    public function f($x) {", "methods"}, {"SQL", "CREATE TABLE a (", "statements"}, {"shell", "f() {", "functions"}, {"CSS", ".a > .b {", "rules"}, {"Makefile", "all: a b", "targets"}, {"Makefile", "CC := gcc", ""},
		{"Kotlin", "data class A(val x: Int)", "classes"}, {"Terraform", `resource "a" "b" {`, "resources"}, {"Dockerfile", "FROM golang:1.26", "stages"}, {"Perl", "sub f {", "functions"},
	} {
		if got, _ := definition([]byte(tt.in+"\n"), tt.lang); got != tt.want {
			t.Errorf("%s: %q: %q, want %q", tt.lang, tt.in, got, tt.want)
		}
	}
}

// TestTemplatesBounded: lines all different do not cost memory each.
func TestTemplatesBounded(t *testing.T) {
	ts := newTemplates()
	for i := range 100_000 {
		line := fmt.Appendf(nil, "%s %s %s", letters(i), letters(i*7), letters(i*13))
		ts.add(infoLevel, false, i, line, line, nil)
	}
	total := 0
	for _, c := range ts.merge(sameWords) {
		total += c.count
	}
	if len(ts.list) > 2*maxTemplates+10 || total != 100_000 {
		t.Errorf("%d templates of %d lines", len(ts.list), total)
	}
}

func letters(n int) string {
	b := []byte("aaaa")
	for i := range b {
		b[i] += byte(n % 26)
		n /= 26
	}
	return string(b)
}
