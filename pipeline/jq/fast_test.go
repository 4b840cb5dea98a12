package jq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// stopAfter is a stop that ends a program that takes too long for a test.
func stopAfter(d time.Duration) *stop {
	s := newStop()
	time.AfterFunc(d, func() { s.now.Store(true) })
	return s
}

// outcome is what a run gave, in words.
func outcome(out Output, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprintf("%d: %s", out.N, out.Data)
}

// Ways that a fast program may go.
const (
	noForm = "no fast form"
	handed = "handed to gojq"
	fastly = "fast"
)

// differs runs source over doc as a fast program and in gojq, and returns how
// it went, and a difference or "".
func differs(source string, tree *Tree, limit time.Duration) (way, diff string) {
	p, err := compile(source)
	if err != nil || p.fast == nil {
		return noForm, ""
	}
	got, err := p.fast.run(stopAfter(limit), tree.value)
	if err == errStuck || err == errGiveUp {
		return handed, ""
	}
	if errors.Is(err, context.Canceled) {
		return noForm, ""
	}
	maps, mapsErr := tree.maps(newStop())
	if mapsErr != nil {
		return noForm, mapsErr.Error()
	}
	want, wantErr := p.interpret(stopAfter(limit), maps)
	if errors.Is(wantErr, context.Canceled) {
		return noForm, ""
	}
	if g, w := outcome(got, err), outcome(want, wantErr); g != w {
		return fastly, fmt.Sprintf("%s\nfast: %.2000s\ngojq: %.2000s", source, g, w)
	}
	return fastly, ""
}

// fastDocs have each kind of value where another is expected.
var fastDocs = []string{
	`[{"a":1,"b":"x","c":[1,2,3],"d":{"e":null}},{"a":2.5,"b":"yX","c":[],"d":{"e":true}},{"b":"x","a":-3,"z":0}]`,
	`{"items":[{"id":1,"name":"n1","tags":["p","q"],"price":19.90},{"id":2,"name":"n2","tags":[],"price":1e3},{"id":3,"name":null,"price":5}],"total":3}`,
	`[1,2.5,-0,1.0,1e400,9007199254740993,18446744073709551616,"1",null,true,false,[],{},[1],{"a":1}]`,
	`[9223372036854775807,1,-9223372036854775808,-1,0,1e17]`,
	`["b","a","ab","","é","😀",null]`,
	`[[3,"c"],[1,"a"],[2,"b"],[1,"A"],[1.0,"f"]]`,
	`{"b":{"x":1},"a":{"x":2,"y":[{"x":3}]},"a b":null}`,
	`[{"k":"b","v":1},{"k":"a","v":2},{"k":"b","v":3},{"k":"c"},{"k":"a","v":null}]`,
	`[{"k":2,"v":1},{"k":1,"v":2},{"k":2,"v":3}]`,
	`[{"key":"a","value":1},{"name":"b","Value":2},{"Key":"c"},{"key":"a","value":false}]`,
	`"some text, with, commas"`, `null`, `[]`, `{}`, `0`, `[null,null]`, `[0.1,0.2,0.3,1]`, `[[1,[2]],[3],4,[[[5]]]]`,
}

// fastPrograms have a fast form. Each runs over all of fastDocs.
var fastPrograms = strings.Split(strings.TrimSpace(`
.
.a
.a.b
.["a"]
."a b"
.[0]
.[-1].a
.[1:]
.[:2]
.[-2:]
.[1:3][0]
.[0:2][]?
.[]
.[]?
.[].a
.[].a?
.[]?.a?
.[]?.c?[0]?
.[] | .a, .b
.items[].tags[0]
.items[] | select(.id > 1) | .name
.items[] | select(.tags | length > 0) | {id, name}
[.items[] | {id, t: .tags[]}]
.items | map(.price) | add
.items | map(.price) | min, max
.items | map({(.name // "none"): .id}) | add
[.[] | select(.a > 1) | .b]
map(.a)
map(select(.b == "x"))
map(.a?) | sort
map(.k?)
map(select(.b | startswith("x")))
map(select(.b? | tostring | test("x"; "i")))
map(.b | ascii_downcase)
map(.b? // "none")
map(.a + 1)
map(.a * 2 - 1)
map(.a / 2)
map(.a % 2)
map(-.a)
map(. + 1)?
map(try (. + 1))
map(. == 1), map(. != null), map(. < 2), map(. >= "a")
[.[]? | numbers | . + 1, . - 1, . * 3]
[.[]? | numbers | (. / 3)?]
[.[]? | numbers | (. % 3)?]
[.[]? | numbers | -.]
add
length
map(length?)
[.[] | length?]
keys
to_entries
from_entries
with_entries(.value |= tostring)
with_entries(select(.value != null))
to_entries | map(.key)
to_entries | map("\(.key)=\(.value)") | join("&")
sort
sort_by(.a)
sort_by(.k)
sort_by(.k, .v)
sort_by(-.v)
sort_by(.[0])
group_by(.k)
group_by(.k) | map({k: .[0].k, n: length, sum: (map(.v) | add)})
group_by(.[0]) | map(length)
unique
unique_by(.k)
unique_by(length)
min_by(.v), max_by(.v)
min, max
any, all
any(.a?; . == 1)
any(.[]?; . == null), all(.[]?; . != null)
all(.[]; .a)
any(. == 1)?
first, last
first(.[]), last(.[])
first(.[]?), last(.[]?)
[limit(2; .[]?)]
[limit(0; .[])]
[.[] | limit(1; .a?, 2)]
[first(range(10;0;-1), 1)]
[range(5)], [range(2;4)]
isempty(.[]?), isempty(empty)
flatten
reverse
join(",")
join("-")?
map(tostring)
map(tojson)
map(type)
map(tonumber?)
map(not)
[.[] | values], [.[] | strings], [.[] | arrays, objects]
[..]
[.. | numbers]
[.. | .x?]
[.. | objects | keys]
if . == null then 1 elif length > 2 then "long" else .[0]? end
map(if .a? == 1 then "one" else "other" end)
[.[] | if (true, false) then 1 else 2 end]
.a // "none"
[.[]? // 1]
(.[]? // empty) as $x | $x
[.[]? | (.a? // .k? // "d")]
. as $d | [.[]? | [., ($d | length)]]
[.[]? as $x | .[]? as $y | [$x, $y]] | length
reduce .[] as $x (0; . + ($x.a? // 0))
reduce .[]? as $x (null; $x)
reduce .[]? as $x (0; empty)
reduce (1, 2) as $x (0; . + $x, . * 10)
[(1, 2) + (10, 20)]
[(1, 2) as $x | (3, 4) as $y | {a: $x, b: $y}]
{a: (1, 2), b: (3, 4)}
{("a", "b"): 1}
{"x": 1, "y": .}
{"a b", a}?
{$__loc__}?
[1, 2, 3] | {a: .[0], a: .[1]}
. as $x | {$x}
{a: 1} + {b: 2}, {a: 1} * {a: {b: 1}}
[1, 2, 2] - [2]
"a" + "b", "a" * 3, "a,b" / ","
[true and (true, false)], [(true, false) or (false, true)]
contains("a")?
map(contains("x")?)
contains([1])?
[.[]? | has("a")?]
[.[]? | has(0)?]
[.[]? | inside("abc")?]
[.[]? | IN(1, null, "a")]
[.[]? | split(",")?]
[.[]? | ltrimstr("a")?], [.[]? | rtrimstr("b")?]
[.[]? | endswith("b")?]
[.[]? | ascii_upcase?]
[.[]? | trim?, ltrim?, rtrim?]
[.[]? | numbers | floor, sqrt, abs, round]
map_values(. + 1)?
map_values(empty)
map_values(length?)
map_values(select(. != null))
[.[]? | @json]
[.[]? | @text "a\(.)b"]
[.[]? | getpath(["a"])?]
[.[]? | tostring | gsub("a"; "b")]
[.[]? | strings | capture("(?<x>[a-z])")]
[.[]? as [$a, $b] | $a]
[.[]? | objects | del(.a)]
[.[]? | objects | .a = 1 | .b |= tostring]
map(select(.a? | IN(1, 2)))
[splits(", ")?]
nan < nan, ([nan] | sort), ([nan, 1, nan] | min, max)
[nan, 1] | map(. == .), group_by(.)
[infinite, -infinite, 1] | sort | map(tostring)
[.[]? | select(type == "number" and . > 1 and (. < 3 or . == 9007199254740993))]
.[]? |= empty
[.[] | error]?
[.[]? | try error("x")]
label $out | .[]? | if . == null then break $out else . end
def f(x): x + 1; [.[]? | numbers | f(.)]
[.[]? | ascii?]
"\(1; 2)"?
[.[:1], .[1:2]]?
.[1.7]?, .["a", "b"]?
.[null]?
.[[1]]?
.[{"start": 1, "end": 2}]?
"abcdé"[1:3], "abc"[1:][:1]
[.[]? | .[1:]?]
ltrimstr("x"), ltrimstr(1)?
[.[] | 1 + null, null + .?]
env | length
halt
[.[]? | if . == null then halt else . end]
`), "\n")

func mustParse(tb interface{ Fatalf(string, ...any) }, doc string) *Tree {
	tree, err := Parse(context.Background(), JSON, []byte(doc))
	if err != nil {
		tb.Fatalf("%.100s: %v", doc, err)
	}
	return tree
}

// TestFast: a fast program gives what gojq gives, and where gojq has an answer,
// it is seldom handed over.
func TestFast(t *testing.T) {
	ways := map[string]int{}
	for _, source := range fastPrograms {
		some := map[string]int{}
		for _, doc := range fastDocs {
			way, diff := differs(source, mustParse(t, doc), 5*time.Second)
			some[way]++
			ways[way]++
			if diff != "" {
				t.Errorf("%s: %s", doc, diff)
			}
		}
		if some[fastly] == 0 {
			t.Logf("%s: %v", source, some)
		}
	}
	t.Log(ways)
}

// genJSON draws a document.
func genJSON(t *rapid.T, depth int) string {
	kinds := 9
	if depth == 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case 1, 2:
		return fmt.Sprint(rapid.IntRange(-3, 3).Draw(t, "int"))
	case 3:
		return rapid.SampledFrom([]string{"1.0", "2.50", "0.1", "-0", "1e3", "1e400", "9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "0.30000000000000004"}).Draw(t, "number")
	case 4, 5, 6:
		return rapid.SampledFrom([]string{`""`, `"a"`, `"b"`, `"ab"`, `"B"`, `"1"`, `"é\n"`, `"a,b"`, `"\u0000\u007f"`}).Draw(t, "text")
	case 7:
		items := make([]string, rapid.IntRange(0, 4).Draw(t, "items"))
		for i := range items {
			items[i] = genJSON(t, depth-1)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	members := make([]string, rapid.IntRange(0, 4).Draw(t, "members"))
	for i := range members {
		members[i] = rapid.SampledFrom([]string{`"a":`, `"b":`, `"c":`, `"key":`, `"value":`, `"name":`}).Draw(t, "key") + genJSON(t, depth-1)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// forms are programs with holes: P for a program, N for a small number.
var forms = strings.Split(strings.TrimSpace(`
.
.a
.b
.a.b
.[]
.[]?
.a?
.a[]?
.[N]
.[N]?
.[N:]
.[:N]?
.["a"]
.[P]?
..
N
"a"
null
true
1.50
9007199254740993
[]
{}
(P | P)
(P | P)
(P | P)
(P, P)
(P + P)
(P - P)
(P * P)
(P / P)
(P % P)
(P == P)
(P < P)
(P >= P)
(P != P)
(P and P)
(P or P)
(P // P)
(-P)
(try P)
(P)?
[P]
[P]
{a: P}
{a: P, b: P}
{a, b}
{(P): P}
{"key": P, "value": P}
"x\(P)y"
if P then P else P end
if P then P end
map(P)
[.[]? | P]
select(P)
add
add(P)
any
all
any(P)
all(P; P)
first(P)
last(P)
limit(N; P)
isempty(P)
first
last
length
keys
type
not
tostring
tojson
tonumber?
reverse?
flatten?
sort?
unique?
min?
max?
sort_by(P)
group_by(P)
unique_by(P)
min_by(P)
max_by(P)
to_entries
from_entries
with_entries(P)
map_values(P)
has("a")?
has(N)?
contains(P)?
inside(P)?
startswith("a")?
test("a|b")
split(",")?
join(",")
join(P)?
ascii_downcase?
ltrimstr("a")
floor
abs
values
strings
numbers
objects
scalars
IN(P)
(P as $x | P)
(. as $x | $x)
reduce P as $x (P; P)
(reduce .[]? as $y (0; . + 1))
range(N)
empty
error
del(.a)?
(.a = P)?
(.a |= P)?
getpath(["a"])?
@json
@base64?
paths
(P as [$x] | P)
nan
infinite
`), "\n")

// genProgram draws a program of the grammar.
func genProgram(t *rapid.T, depth int) string {
	n := len(forms)
	if depth == 0 {
		n = 21
	}
	form := forms[rapid.IntRange(0, n-1).Draw(t, "form")]
	var b strings.Builder
	for i := 0; i < len(form); i++ {
		alone := (i == 0 || !letter(form[i-1])) && (i+1 == len(form) || !letter(form[i+1]))
		switch {
		case form[i] == 'P' && alone:
			b.WriteString(genProgram(t, depth-1))
		case form[i] == 'N' && alone:
			fmt.Fprint(&b, rapid.IntRange(0, 3).Draw(t, "n"))
		default:
			b.WriteByte(form[i])
		}
	}
	return b.String()
}

func letter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// TestFastProperty: programs of the grammar over documents of any form.
func TestFastProperty(t *testing.T) {
	ways := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		tree := mustParse(t, genJSON(t, 3))
		for range 30 {
			way, diff := differs(genProgram(t, 3), tree, time.Second)
			ways[way]++
			if diff != "" {
				t.Fatal(diff)
			}
		}
	})
	t.Log(ways)
}

func FuzzFast(f *testing.F) {
	for i, source := range fastPrograms {
		f.Add(source, []byte(fastDocs[i%len(fastDocs)]))
	}
	f.Fuzz(func(t *testing.T, source string, doc []byte) {
		if bytes.Count(doc, []byte("["))+bytes.Count(doc, []byte("{")) > maxDepth || len(source) > 300 {
			return
		}
		tree, err := Parse(context.Background(), JSON, doc)
		if err != nil {
			return
		}
		if _, builds := sourceTraits(source); builds {
			return // may overflow the stack of either
		}
		if _, diff := differs(source, tree, 200*time.Millisecond); diff != "" {
			t.Error(diff)
		}
	})
}

func sourceTraits(source string) (writes, builds bool) {
	p, err := compile(source)
	if err != nil {
		return false, false
	}
	return p.writes, p.builds
}
