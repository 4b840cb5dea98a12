package jsonscan

import (
	"encoding/json"
	"testing"

	"rlmproxy/bench/corpus"
)

// FuzzUnquoted: strings are decoded as the standard library does it.
func FuzzUnquoted(f *testing.F) {
	for _, s := range []string{
		``, `a`, `\"`, `12345678\n`, `1234567\n8`, `\\\\\\\\`, `{\n  \"a\": \"b\\n\"\n}`, "caf\u00e9 \\u00e9\u2028",
		`\u0000\u001f\/\b\f\n\r\t`, `\ud83d\ude00`, `\ud83d`, `\ud83d\ud83d\ude00`, `\ude00\ud83dx`, `\ud83d\n`, `\ud83d\u0041`,
		`\uDBFF\uDFFF\uFFFD\uABCD\uabcd`, "\xff\xc3\\u00a9\xed\xa0\x80", "\\n\xc3\\n\xa9", `1234567]1234567\t`, "01234567\x80]\\\"\xdc",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, inside []byte) {
		quoted := append(append([]byte{'"'}, inside...), '"')
		var want string
		if json.Unmarshal(quoted, &want) != nil {
			t.Skip()
		}
		before := string(quoted)
		if got := string(AppendUnquoted([]byte("before "), quoted)); got != "before "+want {
			t.Errorf("%q: %q, want %q", quoted, got, want)
		}
		if got := Unquote(quoted); got != want {
			t.Errorf("%q: %q, want %q", quoted, got, want)
		}
		if string(quoted) != before {
			t.Errorf("%q has become %q", before, quoted)
		}
	})
}

// BenchmarkUnquoted shows its time as a share of the standard library's, for the
// texts that tools return: JSON, which is escaped every few bytes, and Markdown.
func BenchmarkUnquoted(b *testing.B) {
	for _, name := range []string{"flights.json", "webhooks.json", "changelog.md"} {
		data, err := corpus.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		quoted, err := json.Marshal(string(data))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(quoted)))
			b.ReportAllocs()
			for b.Loop() {
				AppendUnquoted(nil, quoted)
			}
		})
		b.Run(name+"/yardstick=json", func(b *testing.B) {
			b.SetBytes(int64(len(quoted)))
			b.ReportAllocs()
			for b.Loop() {
				var s string
				if err := json.Unmarshal(quoted, &s); err != nil {
					b.Fatal(err)
				}
				_ = []byte(s)
			}
		})
	}
}
