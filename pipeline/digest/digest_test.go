package digest

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

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

// TestBadWords: what is counted as bad is found by the search suggested for it.
func TestBadWords(t *testing.T) {
	for word := range strings.SplitSeq(badWords, "|") {
		if !soundsBad([]byte("it " + strings.ToUpper(word) + " so")) {
			t.Errorf("%q does not sound bad", word)
		}
	}
}

func TestWithoutLinks(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"# Title", "# Title"},
		{"## [7.8.1](https://x.y/compare/7.8.0...7.8.1) (2023-04-26)", "## 7.8.1 (2023-04-26)"},
		{"## [a](x) and [b](y)", "## a and b"},
		{"# [![Build](https://b/x.svg)](https://b) Tool", "# Build Tool"},
		{"# ![logo](x.png)", "# logo"},
		{"# [a](x(1)) b", "# a b"},
		{"# [[1]](x)", "# [1]"},
		{"# f(x)[0] and [ref][1]", "# f(x)[0] and [ref][1]"},
		{"# `a[0](x)` [b](y)", "# `a[0](x)` b"},
		{"# \\[a](x)", "# \\[a](x)"},
		{"# [a](x", "# [a](x"},
		{"# ](x) [", "# ](x) ["},
	} {
		if got := string(withoutLinks([]byte(tt.in))); got != tt.want {
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

// TestLogSpan: the span is the range of the times, in whatever order they come.
func TestLogSpan(t *testing.T) {
	line := func(day int) string { return fmt.Sprintf("2024-03-%02dT10:00:00Z INFO served\n", day) }
	for want, text := range map[string]string{
		"span: 2024-03-01T10:00:00Z .. 2024-03-20T10:00:00Z":               line(3) + line(20) + line(1) + line(11),
		"span: 2024-03-02T10:00:00Z .. 2024-03-09T10:00:00Z, newest first": line(9) + line(5) + line(2),
		"span: 23:59:58 .. 00:00:01":                                       "23:59:58 INFO a\n23:59:59 INFO b\n00:00:01 INFO c\n",
	} {
		d, err := Of(context.Background(), []byte(text))
		if err != nil || len(d.Parts) == 0 || d.Parts[0].Words != want {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
}
