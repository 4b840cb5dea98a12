package jq

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"
	"pgregory.net/rapid"

	"rlmproxy/internal/busytest"
)

// loopForms are programs that rewrite changes, and some like them that it must leave.
var loopForms = strings.Split(strings.TrimSpace(`
INDEX(.k)
INDEX(.k, .n)
INDEX(.[]; .n)
INDEX(empty)
reduce .[] as $x ({}; .[$x.k] = $x)
reduce .[] as $x ({}; .[$x.k] = ($x.n, 5))
reduce .[] as $x ({}; .[$x.k, "q"] = 1)
reduce .[] as $x ({}; .[$x.k] = .[$x.k])
reduce .[] as $x ({}; .["\($x.n)"] = length)
reduce .[] as $x ({}; .[$x.n | tostring] = $x.k)
reduce .[] as {k: $k, n: $n} ({}; .[$k] = {$n, a: 1})
reduce .[] as [$a] ({}; .[$a] += 1)
reduce .[] as $x ({}; .[$x.k] += 1)
reduce .[] as $x ({}; .[$x.k] += $x.n)
reduce .[] as $x ({}; .[$x.k] += [$x.n])
reduce .[] as $x ({}; .[$x.k] = (.[$x.k] // 0) + 1)
reduce .[] as $x ({}; .[$x.k] = ((.[$x.k] // []) + [$x]))
reduce .[] as $x ({}; .[$x.k] |= (. // 0) + $x.n)
reduce .[] as $x ({}; .[$x.k] |= . + [$x.n])
reduce .[] as $x ({}; .[$x.k] -= 1)
reduce .[] as $x ({"a": 1}; .[$x.k] += 1)
reduce .[] as $x ({}; .[$x.k].n += 1)
reduce .[] as $x ({}; .t += $x.n)
reduce .[] as $x ([]; . + [$x.n])
reduce .[] as $x ([]; . + [$x | .k, .n])
reduce .[] as $x ({}; . + {($x.k): $x.n})
reduce .[] as $x ({}; . += {a: $x.n})
reduce .[] as $x (0; . + $x.n)
reduce .[] as $x (""; . + $x.k)
reduce .[] as $x (0; . + 1 + $x.n)
reduce (.[] | select(.n == 1)) as $x (0; . + 1)
[.[].n] as $l | map(.n | IN($l[]))
[.[].k] as $l | map(select(.k as $k | any($l[]; . == $k)))
[.[].k] as $l | map(select(.k as $k | any($l[]; $k == .)))
{l: [.[].n]} as $d | map(IN($d.l[]))
{a: 1, b: "a"} as $l | map(IN($l[]))
[1, 1.0, "1", null, [1]] as $l | map(.n | IN($l[]))
[range(40), 1.5, null, [2], 1e20, "1"] as $l | [1, 1.0, 2.5, 1.5, null, [2], 1e20, 100000000000000000000, 39, 40, "1", false] | map(IN($l[])), map(. as $x | $l | index($x))
[.[].k] | index("b"), index(null), index(["a", "b"])
def add: 7; reduce .[] as $x (0; . + $x.n)
def IN(x): 7; [1] as $l | 1 | IN($l[])
map(.k | tostring | gsub("a"; "x"))
map(.k | tostring | sub("[ab]"; "é"; "g"))
. as $d | $d[1:], $d[:-1], .[1:3], .[:1][0]?
.[0:2] |= map(1)
[paths] | .[0:2]
`), "\n")

// TestRewrite: a program that is rewritten gives what gojq gives. Errors need only come
// for the same inputs.
func TestRewrite(t *testing.T) {
	for _, form := range loopForms {
		sameOver(t, form, []any{}, []any{object("a", 1), object("b", 2), object("a", 1.0), object("", nil)}, []any{object(nil, 1)}, []any{[]any{"a"}, []any{"b"}, []any{"a"}}, "text", nil)
	}
}

func TestRewriteProperty(t *testing.T) {
	values := rapid.SampledFrom([]any{nil, 1, 2, 1.5, "a", "b", "", true, []any{1}, map[string]any{"a": 1}})
	rapid.Check(t, func(t *rapid.T) {
		var list []any
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			list = append(list, object(values.Draw(t, "k"), values.Draw(t, "v")))
		}
		sameOver(t, rapid.SampledFrom(loopForms).Draw(t, "form"), list)
	})
}

func object(k, n any) any { return map[string]any{"k": k, "n": n} }

func sameOver(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, source string, inputs ...any) {
	for _, in := range inputs {
		var got [2]string
		for i, compile := range []func(*gojq.Query) (*gojq.Code, error){compileWithBuiltins, func(q *gojq.Query) (*gojq.Code, error) { return gojq.Compile(q) }} {
			query, err := gojq.Parse(source)
			if err != nil {
				t.Fatalf("%s: %v", source, err)
			}
			code, err := compile(query)
			if err != nil {
				t.Fatalf("%s: %v", source, err)
			}
			for values := code.Run(in); ; {
				v, ok := values.Next()
				if _, failed := v.(error); failed {
					got[i] += "error"
					break
				}
				if !ok {
					break
				}
				b, _ := gojq.Marshal(v)
				got[i] += string(b) + "\n"
			}
		}
		if got[0] != got[1] {
			t.Errorf("%s over %v:\n%s\ngojq:\n%s", source, in, got[0], got[1])
		}
	}
}

// TestParts: a part of a long text is that of gojq, wherever it begins and ends.
func TestParts(t *testing.T) {
	long := strings.Repeat("aé😀b\n", 4000)
	for _, bounds := range []string{"0:3", "999:1003", "-7:", ":-19990", "5:2", "19999:30000", "30000:", "1.5:2.5", "null:2", ":", `"a":2`, "-50000:-19999"} {
		if bounds == ":" {
			continue
		}
		sameOver(t, ". as $t | $t["+bounds+"], .["+bounds+"]", long, "aéb", []any{1, 2, 3}, nil)
	}
	sameOver(t, `. as $t | [match("b"; "g").offset] | map($t[. - 2 : . + 2]) | unique`, long)
}

// TestNear: what is found around a required string is what matching every character finds.
func TestNear(t *testing.T) {
	lines := strings.Repeat("one two three four five\nerror: x failed é😀 at 12\nok\n\nWARN error error\n", 60)
	for _, pattern := range []string{
		`.{0,10}error.{0,10}`, `[\s\S]{0,9}error[\s\S]{0,9}`, `(?i).{0,5}(ERROR|warn).{0,3}`, `.{0,4}error`, `error.{0,4}$`, `(?m)^.{0,8}error.{0,30}$`,
		`\b.{0,3}fail\w{1,5}\b`, `.?error.?`, `(..){0,2}error (x|e)`, `.{1,3}?error`, `(?s).{0,40}error.{0,40}?`, `[^x]{0,6}nowhere`, `.{0,2}é.{0,2}`, `\w{1,3}error`,
	} {
		for _, form := range []string{"match(R; \"g\")", "scan(R)", "test(R)", "sub(R; \"-\")", "[splits(R)] | length", "capture(R)"} {
			sameOver(t, fill(form, pattern, ""), lines, "x"+strings.Repeat("e\n", 1500)+"an error", strings.Repeat("error", 700))
		}
	}
}

// TestInTime: what agents write over a list of 30,000 records, or around what they find
// in a text of 3.5 MB, takes a part of the time limit.
func TestInTime(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector is slow")
	}
	var rows, text strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&rows, `{"id":%d,"name":"n%d","cat":"c%d"}`+"\n", i, i, i%40)
		fmt.Fprintf(&text, "2025-06-01T00:00:%02dZ %s [worker-%d] request GET /api/v1/items/%d took %d ms, %s\n", i%60, []string{"INFO", "WARN", "ERROR"}[i%3], i%16, i, i*31%977, strings.Repeat("x", 40))
	}
	clock := busytest.NewClock(t)
	in := func(kind Kind, data string, programs ...string) {
		for _, source := range programs {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			begun := clock.Now()
			_, err := Eval(ctx, kind, []byte(data), source)
			took := clock.Since(begun)
			cancel()
			t.Logf("%s: %v", source, took.Round(time.Millisecond))
			if err != nil || took > 2*time.Second {
				t.Errorf("%s: %v after %v", source, err, took)
			}
		}
	}
	in(Lines, rows.String(), `INDEX(.id) | length`, `reduce .[] as $x ({}; .[$x.name] = $x) | length`, `reduce .[] as $x ({}; .[$x.id | tostring] += 1) | length`,
		`reduce .[] as $x ({}; .[$x.name] = (.[$x.name] // 0) + 1) | length`, `reduce .[] as $x ([]; . + [$x.id]) | length`, `reduce .[] as $x ({}; . + {($x.name): $x.id}) | length`,
		`[.[].id] as $ids | map(select(.id | IN($ids[]))) | length`, `[.[].name] as $l | map(select(.cat as $n | any($l[]; . == $n))) | length`,
		`[.[].name] as $l | map(.name as $n | $l | index($n)) | add`, `group_by(.cat) | length`, `unique_by(.name) | length`, `map({(.name): .id}) | add | length`,
		`map({key: .name, value: .id}) | from_entries | to_entries | length`)
	in(Text, text.String(), `[scan(".{0,100}ERROR.{0,100}")] | length`, `[scan("[\\s\\S]{0,200}took 976 ms[\\s\\S]{0,200}")] | length`, `[match("(?i).{0,80}error.{0,80}"; "g").offset] | length`,
		`. as $t | [match("ERROR"; "g").offset] | map($t[. - 50 : . + 50]) | length`, `split("\n") | map(select(test(".{0,60}ERROR.{0,60}"))) | length`, `gsub("[0-9]+"; "N") | length`,
		`split("\n")[] | select(startswith("2025-06-01T00:00:59Z ERROR")) | length`, `split("\n") | map(capture("(?<l>[A-Z]+) \\[(?<w>[^]]+)")?) | group_by(.l) | map(length)`)
}
