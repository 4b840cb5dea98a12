package jq

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rlmproxy/internal/busytest"
)

// TestFastForms: what agents write has a fast form, and does not need gojq for
// documents that fit.
func TestFastForms(t *testing.T) {
	tree := mustParse(t, `[{"id":1,"name":"n","tags":["a"],"user":{"login":"l"},"delay":5,"price":1.50},{"id":2,"name":"m","tags":[],"user":{"login":"k"},"delay":70,"price":2}]`)
	for _, source := range []string{
		".", "length", ".[0]", ".[:1]", ".[0] | keys", ".[].name", "map(.user.login) | unique", "[.[] | select(.delay > 60) | .name]",
		"map({id, login: .user.login})", "group_by(.name) | map({name: .[0].name, n: length})", "sort_by(-.delay) | .[0]", "map(.price) | add",
		"[.[].tags[]] | unique | length", `map(select(.name | test("^n"))) | length`, `.[] | "\(.id): \(.name)"`, "map(.delay) | min, max, add / length",
		"[.[] | .tags | length] | add", "map(has(\"id\")) | all", "first(.[] | select(.id == 2))", "[limit(1; .[])]", "map(.missing // \"none\")",
		"to_entries | map(.key)", "map(with_entries(select(.value | type == \"string\")))", "reduce .[] as $x (0; . + $x.id)", ".[] | if .id == 1 then .name else empty end",
		"map(select(.tags | index(\"a\")))", "map(.name | ascii_upcase) | join(\", \")", ".[0] | to_entries | from_entries", ".[1].user?.login?", "[.. | strings] | length",
		"map(.name | sub(\"n\"; \"x\"))", "map([.id, .name] | @csv)", "map(del(.user))", ". as $all | .[] | {id, of: ($all | length)}",
	} {
		p, err := compile(source)
		if err != nil || p.fast == nil {
			t.Errorf("%s: no fast form, %v", source, err)
			continue
		}
		if _, err := p.fast.run(newStop(), tree.value); err != nil {
			t.Errorf("%s: %v", source, err)
		}
		if way, diff := differs(source, tree, time.Second); way != fastly || diff != "" {
			t.Errorf("%s: %s", way, diff)
		}
	}
}

// TestFastEnds: a fast program heeds its end wherever it spends its time.
func TestFastEnds(t *testing.T) {
	clock := busytest.NewClock(t)
	tree := mustParse(t, "["+strings.Repeat(`{"a":1,"b":[1,2,3]},`, 20_000)+"null]")
	for _, source := range []string{
		"last(range(1000000000000))", "[.[] as $a | .[] as $b | $a == $b] | length", "reduce range(1000000000000) as $i (0; . + 1)",
		"first(range(1000000000000) | select(. < 0))", "[range(1000000000000) | tostring | select(false)]", "any(range(1000000000000); . < 0)",
		"[.[] | select(. == (range(1000000000000) | select(. < 0)))]", "[range(1000000000000) | @base64 | select(false)]", "range(1000000000000) | empty",
		". as $d | [range(1000000000000) | $d | sort | select(false)]", ". as $d | last(range(1000000000000) | $d | contains($d))", "limit(1; range(1000000000000) | .. | select(. < 0))",
	} {
		p, err := compile(source)
		if err != nil || p.fast == nil {
			t.Errorf("%s: no fast form, %v", source, err)
			continue
		}
		begun := clock.Now()
		_, err = p.run(stopAfter(30*time.Millisecond), input{tree.value, func() (any, error) { return nil, errors.New("not to be asked for") }})
		if took := clock.Since(begun); err != context.Canceled || took > 2*time.Second {
			t.Errorf("%s: %v after %v", source, err, took)
		}
	}
}

// TestFastLimits: what a fast program puts out is bounded as gojq's is, and
// what passes between both.
func TestFastLimits(t *testing.T) {
	for source, want := range map[string]string{
		"range(200000)":                        LimitMemory,
		`[range(40) | "x" * 1000000]`:          LimitMemory,
		"reduce range(2000) as $i (null; [.])": LimitMemory,
	} {
		p, err := compile(source)
		if err != nil || p.fast == nil {
			t.Fatalf("%s: no fast form, %v", source, err)
		}
		if _, err := p.fast.run(newStop(), nil); code(err) != want {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
	// Doubled forty times it is too large to pass to gojq.
	source := strings.Repeat("[., .] | ", 40) + "getpath([0]) | 1"
	p, err := compile(source)
	if err != nil || p.fast == nil {
		t.Fatalf("%v", err)
	}
	if _, err := p.fast.run(newStop(), nil); err != errGiveUp {
		t.Errorf("%v, want %v", err, errGiveUp)
	}
	if out, err := Eval(t.Context(), mustParse(t, "null"), source); err != nil || string(out.Data) != "1\n" {
		t.Errorf("%s, %v", out.Data, err)
	}
}

// TestFastDeep: a program of many parts compiles in time.
func TestFastDeep(t *testing.T) {
	clock := busytest.NewClock(t)
	for _, source := range []string{
		strings.Repeat(".|", 4900) + ".", strings.Repeat("[", 199) + strings.Repeat("]", 199),
		strings.Repeat("[", 190) + "." + strings.Repeat("|(.[]?|.[]?)?]", 190), strings.Repeat("(", 190) + "error" + strings.Repeat(")?", 190),
		strings.Repeat("map(", 190) + "." + strings.Repeat(")", 190), strings.Repeat("with_entries(", 190) + "." + strings.Repeat(")", 190),
		strings.Repeat("any(", 190) + "." + strings.Repeat(")", 190), "." + strings.Repeat("|error", 1500), "." + strings.Repeat("|@base64", 1000),
		strings.Repeat("if . then ", 300) + "1" + strings.Repeat(" else 2 end", 300),
	} {
		begun := clock.Now()
		_, err := compile(source)
		if took := clock.Since(begun); code(err) == LimitTime || took > 2*time.Second {
			t.Errorf("%.60s: %v after %v", source, err, took)
		}
	}
}
