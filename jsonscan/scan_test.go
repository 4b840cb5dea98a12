package jsonscan

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rlmproxy/bench/corpus"
)

// FuzzValid: what is JSON is so for the standard library, and what is sliced out of
// objects and arrays is what it decodes.
func FuzzValid(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `{"a":[1,-2.5e+3,true,false,null,"\u00e9\ud83d\ude00"],"a":{"b":{}}}`, " [ 1 , {\t} ]\r\n", `[1,]`, `{"a"}`, `{"a":1,}`, `01`, `-`, `1.`, `1e`, `nul`,
		`"\x"`, "\"\x01\"", "\"\xff\"", `"a`, `[[[[`, `]`, `{"a":1}}`, `1 2`, ``, ` `, `"\u12G4"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		valid := Valid(b, 1000)
		if valid != json.Valid(b) {
			t.Fatalf("%q: valid is %v", b, valid)
		}
		switch members := map[string]json.RawMessage(nil); {
		case json.Unmarshal(b, &members) == nil && members != nil:
			got := map[string]json.RawMessage{}
			err := Members(b, func(key string, value json.RawMessage) error {
				got[key] = value
				return nil
			})
			if err != nil || len(got) != len(members) {
				t.Fatalf("%q: %d members, %v", b, len(got), err)
			}
			for key, want := range members {
				if string(got[key]) != string(want) {
					t.Errorf("%q: %q is %q, want %q", b, key, got[key], want)
				}
			}
		case Members(b, func(string, json.RawMessage) error { return nil }) == nil:
			t.Fatalf("%q is no object", b)
		}
		switch elements := []json.RawMessage(nil); {
		case json.Unmarshal(b, &elements) == nil && elements != nil:
			i := 0
			err := Elements(b, func(value json.RawMessage) error {
				if string(value) != string(elements[i]) {
					t.Errorf("%q: element %d is %q, want %q", b, i, value, elements[i])
				}
				i++
				return nil
			})
			if err != nil || i != len(elements) {
				t.Fatalf("%q: %d elements, %v", b, i, err)
			}
		case Elements(b, func(json.RawMessage) error { return nil }) == nil:
			t.Fatalf("%q is no array", b)
		}
	})
}

func TestDepth(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat("}]", n/2)) }
	for _, limit := range []int{2, 64, 1000, 1024} {
		if !Valid(nested(limit), limit) || Valid(nested(limit+2), limit) {
			t.Errorf("limit %d", limit)
		}
	}
	if Valid(nested(2), 1) || !Valid([]byte("1"), 0) || Valid([]byte("[]"), 0) {
		t.Error("low limits")
	}
	none := func(json.RawMessage) error { return nil }
	if err := Elements(nested(MaxDepth), none); err != nil {
		t.Error(err)
	}
	if err := Elements(nested(MaxDepth+2), none); !errors.Is(err, ErrTooDeep) {
		t.Error(err)
	}
	if n := testing.AllocsPerRun(10, func() { Valid(nested(0), 1000) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

// oneByOne is what str does, without looking at several bytes at once.
func oneByOne(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return -1
	}
	for i := 1; i < len(b); i++ {
		switch {
		case b[i] == '"':
			if !json.Valid(b[:i+1]) {
				return -1
			}
			return i + 1
		case b[i] == '\\':
			i++
		}
	}
	return -1
}

func TestStr(t *testing.T) {
	part := rapid.SampledFrom([]string{`\"`, `\n`, `\\`, `\/`, `\u00e9`, `\uD800`, `\u12`, `\x`, `\`, `"`, "n", "u", "a", "abcdefgh", "\x1f", "\x00", " ", "!", "#", "[", "]", "\x7f", "\x80", "\xff", "\xdc", "\xa2", "é"})
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(rapid.SampledFrom([]string{`"`, `"`, `"`, ""}).Draw(t, "begin") +
			strings.Join(rapid.SliceOfN(part, 0, 40).Draw(t, "parts"), "") +
			rapid.SampledFrom([]string{`"`, `"`, ``, `",1,"a\`}).Draw(t, "end"))
		if got, want := str(b, 0), oneByOne(b); got != want {
			t.Fatalf("%q: %d, want %d", b, got, want)
		}
	})
}

// BenchmarkValid shows its time beside the standard library's.
func BenchmarkValid(b *testing.B) {
	for _, name := range []string{"flights.json", "webhooks.json", "stripe.json"} {
		data, err := corpus.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		for yardstick, valid := range map[string]func([]byte) bool{"ours": func(b []byte) bool { return Valid(b, 1000) }, "yardstick=json": json.Valid} {
			b.Run(name+"/"+yardstick, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					if !valid(data) {
						b.Fatal("not valid")
					}
				}
			})
		}
	}
}
