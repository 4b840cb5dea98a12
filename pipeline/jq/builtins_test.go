package jq

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"
	"pgregory.net/rapid"

	"rlmproxy/bench/corpus"
	"rlmproxy/internal/busytest"
)

// outcomes is what a program gives over each text, with our builtins or with gojq's.
func outcomes(t interface{ Fatalf(string, ...any) }, source string, texts []string, compile func(*gojq.Query) (*gojq.Code, error)) []string {
	query, err := gojq.Parse(source)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	code, err := compile(query)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	var list []string
	for _, text := range texts {
		var all strings.Builder
		for values := code.Run(text); ; {
			v, ok := values.Next()
			if !ok {
				break
			}
			if err, failed := v.(error); failed {
				fmt.Fprintf(&all, "error: %v", err)
				break
			}
			b, err := gojq.Marshal(v)
			if err != nil {
				t.Fatalf("%v", err)
			}
			fmt.Fprintf(&all, "%s\n", b)
		}
		list = append(list, all.String())
	}
	return list
}

func sameAsGojq(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, source string, texts ...string) {
	got, want := outcomes(t, source, texts, compileWithBuiltins), outcomes(t, source, texts, func(q *gojq.Query) (*gojq.Code, error) { return gojq.Compile(q) })
	for i, text := range texts {
		if got[i] != want[i] {
			t.Errorf("%s over %q:\n%s\ngojq:\n%s", source, text, got[i], want[i])
		}
	}
}

// textForms are programs that use builtinDefinitions, with holes: R for a pattern,
// F for flags.
var textForms = strings.Split(strings.TrimSpace(`
match(R)
match(R; F)
[match(R; "g") | .offset, .length]
match([R, F])
first(match(R; "g"))
capture(R)
capture(R; F)
capture([R])
scan(R)
scan(R; F)
scan([R, F])
[limit(2; scan(R))]
splits(R)
splits(R; F)
split(R; F)
split(R)
test(R)
test(R; F)
sub(R; "<\(.)>")
sub(R; "-"; F)
sub(R; .x // "none")
sub(R; "1", "2")
gsub(R; "\(.x)\(.y)")
gsub(R; "-"; F)
gsub(R; "a", "b", "c")
gsub(R; empty)
gsub(R; if .x == "a" then "1", "2" else "3" end)
gsub(R; if .x == "a" then empty else "3" end)
gsub(R; null)
gsub(R; 1)
gsub(R; .)
gsub(R, "b"; "x", "y"; F, "g")
[match(R, "b"; F, "g").string]
scan(R; "x", "g")
try scan(R; F) catch .
[.[1:] | match(R; "g")]
ascii_downcase | gsub(R; "")
def scan(x): 1; scan(R)
def match($a; $b): 2; scan(R)
split("a")[] | scan(R)
[match(R; "gg")] | length
1 | match(R)
1 | scan(R; F)
null | test(R)
null | sub(R; "x")
{} | splits(R)
[1] | gsub(R; "")
scan(1)
match("a"; 1)
match(null)
scan("("; "g")
gsub("[a"; "b"; "i")
splits("a{1001}")
indices(R), index(R), rindex(R)
indices("b"), indices("aba"), index("é"), rindex("a", "é")
[1, 2, 1] | indices(1), index(1), rindex([1]), index(3)
index(1)
1 | rindex("a")
null | indices("a")
split("") | group_by(.)
split("") | group_by(.x?, .)
split("") | group_by(. == "a", .)
split("") | group_by(empty)
[scan(R)] | group_by(.), group_by(length)
{a: .} | group_by(.)
group_by(.)
`), "\n")

var patterns = []string{
	"a", "b*", "", "(?<x>a)", "(?<x>a)|(?<y>b)", "(a)(b)?", "^", "$", `\b`, `\B`, "a*", "a*?", "a|", "|a", "(?m)^", "(?m)$", `\n`, `\w+`, `\W*`, ".", "(?s).", "[^a]*", "é", "(?<x>é|😀)+", "(?i)A", "a+|b", "(a|b*)*",
	`(?<x>\w)(?<y>\w*)`, "x*y", "a{0,2}", "a{2}", "(?:)", `\z`, `(?<x>a)?b`, "(^|b)", "b$", ".*", `.+?`, `\ba|\b`, "ab?", "B", "(?<x>)",
}

// TestBuiltins: our functions give what gojq's give.
func TestBuiltins(t *testing.T) {
	for _, form := range textForms {
		for _, pattern := range patterns {
			for _, flags := range []string{`"g"`, `""`} {
				source := fill(form, pattern, flags)
				if !strings.Contains(form, "R") && pattern != "" || !strings.Contains(form, "F") && flags == "" {
					continue
				}
				sameAsGojq(t, source, "", "abab", "aa b\nbé😀a")
			}
		}
	}
}

func fill(form, pattern, flags string) string {
	quoted, _ := json.Marshal(pattern)
	return strings.NewReplacer("R", string(quoted), "F", flags).Replace(form)
}

func TestBuiltinsProperty(t *testing.T) {
	texts := rapid.StringOfN(rapid.SampledFrom([]rune("aabbxyA é😀\n_-")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom(textForms).Draw(t, "form")
		pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom(patterns), 1, 3).Draw(t, "patterns"), rapid.SampledFrom([]string{"", "|"}).Draw(t, "between"))
		flags := rapid.SampledFrom([]string{`null`, `""`, `"g"`, `"i"`, `"m"`, `"gim"`, `"x"`, `"n"`, `"s"`, `"l"`, `1`}).Draw(t, "flags")
		if strings.Count(pattern, "?<x>") > 1 || strings.Count(pattern, "?<y>") > 1 {
			pattern = "a"
		}
		sameAsGojq(t, fill(form, pattern, flags), texts.Draw(t, "text"))
	})
}

// TestTextInTime: what agents ask of a text of 10 MB takes a part of the time limit.
func TestTextInTime(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector is slow")
	}
	part, err := corpus.Open("changelog.md")
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(strings.Repeat(string(part), 10_000_000/len(part)))
	clock := busytest.NewClock(t)
	for _, source := range []string{
		`[scan("Observable[^\n]*")] | length`, `[splits("\n+")] | length`, `[match("(?<a>\\w+) Observable"; "g").offset] | add`,
		`[scan("\\w+")] | group_by(.) | map([.[0], length]) | sort_by(-.[1])[:5]`, `indices("Observable") | length`,
		`gsub("(?<a>Observable)"; "<\(.a)>") | length`, `[capture("(?<a>\\w+) Observable"; "g")] | length`,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		begun := clock.Now()
		_, err := Eval(ctx, Text, text, source)
		took := clock.Since(begun)
		cancel()
		t.Logf("%s: %v", source, took.Round(time.Millisecond))
		if err != nil || took > 4*time.Second {
			t.Errorf("%s: %v after %v", source, err, took)
		}
	}
}
