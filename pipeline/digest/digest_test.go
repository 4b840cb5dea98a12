package digest

import (
	"fmt"
	"slices"
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
		if got := string(mask(nil, []byte(tt.in))); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestBadWords: what is counted as bad is found by the search suggested for it.
func TestBadWords(t *testing.T) {
	for word := range slices.Values(badWords) {
		if !soundsBad([]byte("it " + strings.ToUpper(word) + " so")) {
			t.Errorf("%q does not sound bad", word)
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
		if got := levelOf([]byte(tt.in), 0); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.in, levelNames[got], levelNames[tt.want])
		}
	}
}

func TestDefinitions(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"func f(x int) int {", "functions"}, {"func (t *T) m() {", "methods"}, {"type T struct {", "types"}, {"\treturn f(x)", ""}, {"\tfunc() {", ""}, {"const x = 1", "constants"},
		{"def f(x):", "functions"}, {"    async def g(self):", "methods"}, {"class A(B):", "classes"}, {"class of things", ""}, {"x = f(y)", ""},
		{"export interface A {", "interfaces"}, {"  m(a: string): void;", "methods"}, {"  return m(a);", ""}, {"  type: string;", ""}, {"app.use = function use(fn) {", "functions"},
		{"const f = async (x) => {", "functions"}, {"const x = require('x');", ""}, {"  if (x) {", ""}, {"  constructor(x) {", "methods"}, {"describe('x', () => {", ""},
		{"public class A extends B {", "classes"}, {"    private static void f(int x) throws E {", "methods"}, {"    } else if (x) {", ""}, {"int main(void)", "functions"}, {"static void f(int x) {", "functions"},
		{"struct a {", "structs"}, {"struct a;", ""}, {"pub(crate) fn f() -> X {", "functions"}, {"impl<T> A for B<T> {", "impls"}, {"  def x?", "methods"}, {"module A", "modules"},
		{"    public function f($x) {", "methods"}, {"CREATE TABLE a (", "statements"}, {"f() {", "functions"}, {".a > .b {", ""}, {"all: a b", ""}, {"CC := gcc", ""},
		{"data class A(val x: Int)", "classes"}, {`resource "a" "b" {`, "resources"}, {"FROM golang:1.26", ""}, {"sub f {", "functions"},
	} {
		if got := definitionOf([]byte(tt.in)).kind; got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestTemplatesBounded: lines all different do not cost memory each.
func TestTemplatesBounded(t *testing.T) {
	ts := templates{masked: map[string]*template{}, near: map[group][]*template{}}
	for i := range 100_000 {
		line := fmt.Appendf(nil, "%s %s %s", letters(i), letters(i*7), letters(i*13))
		ts.add(infoLevel, false, Line{i, line}, line, nil)
	}
	total := 0
	for _, c := range ts.list {
		total += c.count
	}
	if len(ts.list) > maxTemplates+int(numLevels) || total != 100_000 {
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
