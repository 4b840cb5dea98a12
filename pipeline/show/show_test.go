package show

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"rlmproxy/jsonscan"
)

func TestShow(t *testing.T) {
	long := strings.Repeat("é", 50)
	for _, tt := range []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1204), "1,204"}, {Count(-1204), "-1,204"}, {Count(-204), "-204"}, {Count(1000000), "1,000,000"},
		{Plural(0, "items"), "0 items"}, {Plural(1, "items"), "1 item"}, {Plural(1, "matches"), "1 match"}, {Plural(1204, "bytes"), "1,204 bytes"}, {Plural(1, "code blocks"), "1 code block"},
		{Clip("abc", 3), "abc"}, {Clip("abcd", 3), "ab…"}, {Clip("日本語x", 3), "日本…"}, {Clip("", 0), ""},
		{ClipBytes("abc", 3), "abc"}, {ClipBytes("abcd", 3), "abc…"}, {ClipBytes("日本", 4), "日…"},
		{Printable("a\x00b\xff\xfe"), "a�b�"}, {Printable([]byte("é")), "é"},
		{Line([]byte("abc\r\n"), 5), "abc"}, {Line([]byte(long), 5), "éééé… (100 bytes)"}, {Line([]byte("a…"), 5), "a…"}, {Line([]byte("a\xff\x00"), 5), "a��"}, {Line(bytes.Repeat([]byte{0x95}, 100), 5), "�… (100 bytes)"},
		{Numbered(0, []byte("x\n"), 5), "1: x"}, {Numbered(1203, []byte("x"), 5), "1204: x"},
		{Quote("<a>\n\"b\""), `"<a>\n\"b\""`}, {string(jsonscan.AppendQuote([]byte("k="), "v")), `k="v"`},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}

// FuzzLine: whatever the line, what is shown of it is one line of UTF-8 and
// says so if something is missing.
func FuzzLine(f *testing.F) {
	f.Add([]byte("a\xff\x00\r\n"), 3)
	f.Add([]byte("\x95\x95\x95\xa7\xa7\x95\x95\x950"), 1) // eight bytes, one U+FFFD
	f.Fuzz(func(t *testing.T, line []byte, limit int) {
		if i := strings.IndexByte(string(line), '\n'); i >= 0 {
			line = line[:i+1]
		}
		limit = max(min(limit, 1000), 1)
		s := Line(line, limit)
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\n\x00") {
			t.Fatalf("%q of %q", s, line)
		}
		if whole := Printable(strings.TrimRight(string(line), "\r\n")); s != whole && !strings.Contains(s, "…") {
			t.Fatalf("%q of %q does not say that it is cut", s, line)
		}
	})
}

// TestQuoteReference compares with encoding/json.
func TestQuoteReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{"a", "\"", "\\", "\n", "\b", "\f", "\t", "\r", "\x00", "\x1f", "\x7f", "<", "é", "😀", "\u2028", "\u2029", "\ufffd", "\xe2\x80", "\xed\xa0\x80", "\xff"})), func(l []string) string { return strings.Join(l, "") }),
		).Draw(t, "s")
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got := Quote(s) + "\n"; got != want.String() {
			t.Fatalf("%q is %s, want %s", s, got, want.String())
		}
	})
}
