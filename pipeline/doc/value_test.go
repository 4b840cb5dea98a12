package doc

import (
	"strings"
	"testing"
)

func TestRecognise(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	long := "[" + strings.Repeat("1234,", 79) + "5]"
	for _, tt := range []struct {
		name, in string
		kind     Kind
		unit     string
		items    int
	}{
		{"empty", "", Text, "lines", 0},
		{"spaces", " \n ", Text, "lines", 2},
		{"array", " [1, 2,3]\n", JSON, "items", 3},
		{"empty array", "[]", JSON, "items", 0},
		{"object", `{"a":1,"b":{"c":2}}`, JSON, "fields", 2},
		{"lines", "{\"a\":1}\n\n{\"a\":2}\n", JSONLines, "lines", 2},
		{"lines, CRLF", "{\"a\":1}\r\n{\"a\":2}", JSONLines, "lines", 2},
		{"one record is JSON", "{\"a\":1}\n", JSON, "fields", 1},
		{"number", "42", Text, "lines", 1},
		{"string", `"plain"`, Text, "lines", 1},
		{"string with JSON", `"{\"a\":1,\"b\":[]}"`, JSON, "fields", 2},
		{"string with half of JSON", `"{\"a\":1"`, Text, "lines", 1},
		{"log", "[2024-01-01] a\n[2024-01-02] b\n", Text, "lines", 2},
		{"broken", `{"a":1,}`, Text, "lines", 1},
		{"NUL", "a\x00b\nc", Text, "lines", 2},
		{"invalid UTF-8 in JSON", "[\"\xff\"]", JSON, "items", 1},
		{"1,000 levels", strings.Repeat("[", 1000) + strings.Repeat("]", 1000), JSON, "items", 1},
		{"1,001 levels", strings.Repeat("[", 1001) + strings.Repeat("]", 1001), Text, "lines", 1},
		{"100,000 levels", deep, Text, "lines", 1},
		{"only opened", strings.Repeat("[", 6_000_000), Text, "lines", 1},
		{"byte-order mark", "\ufeff[1,2]", JSON, "items", 2},
		{"byte-order mark, lines", "\ufeff{\"a\":1}\n{\"a\":2}", JSONLines, "lines", 2},
		{"NaN", `{"a":NaN,"b":[-Infinity,"NaN"]}`, JSON, "fields", 2},
		{"NaN that is no value", `{"a":NaNs}`, Text, "lines", 1},
		{"NaN in a log", "[NaN] a\n[NaN] b\n", Text, "lines", 2},
		{"a sentence", "Found 3:\n\n" + long + "\n", JSON, "items", 80},
		{"a colon", "Result: " + long, JSON, "items", 80},
		{"a fence", "# R\n```json\n" + long + "\n```\nThat is [all].", JSON, "items", 80},
		{"brackets before", "[INFO] {1}\n[2] x\n" + long, JSON, "items", 80},
		{"two fences", "```json\n" + long + "\n```\n```json\n" + long + "\n```\n", Text, "lines", 6},
		{"short JSON", "Result:\n[1,2,3]\n", Text, "lines", 2},
		{"a statement", "const x = " + long, Text, "lines", 1},
		{"text behind in the line", long + " and so on", Text, "lines", 1},
		{"long prose around", strings.Repeat("word ", 300) + "\n" + long, Text, "lines", 2},
	} {
		v := Recognise([]byte(tt.in), nil)
		if v.Kind != tt.kind || v.Unit != tt.unit || v.Items != tt.items || v.Total != tt.items {
			t.Errorf("%s: %v, %d of %d %s; want %v, %d %s", tt.name, v.Kind, v.Items, v.Total, v.Unit, tt.kind, tt.items, tt.unit)
		}
	}
}

// TestWithin: the text around JSON, and numbers that JSON does not have, are not lost.
func TestWithin(t *testing.T) {
	long := "[" + strings.Repeat("1234,", 79) + "5]"
	for _, tt := range []struct{ in, data, before, behind, note string }{
		{"see:\n" + long + "\nbye", long, "see:\n", "\nbye", ""},
		{long, long, "", "", ""},
		{"\ufeff" + long, long, "", "", ""},
		{`[NaN, "NaN", -Infinity]`, `[null, "NaN", null]`, "", "", "2 numbers, NaN or Infinity, became null"},
	} {
		v := Recognise([]byte(tt.in), nil)
		before, behind := v.Beside()
		if string(v.Data) != tt.data || string(before) != tt.before || string(behind) != tt.behind || v.Note != tt.note {
			t.Errorf("%.20s: %q %q %q %q", tt.in, v.Data, before, behind, v.Note)
		}
		if text := v.AsText(); v.Whole != nil && string(text.Data) != tt.in {
			t.Errorf("%.20s: as text %q", tt.in, text.Data)
		}
	}
}

func FuzzRecognise(f *testing.F) {
	long := "[" + strings.Repeat("1234,", 79) + "5]"
	f.Add([]byte("see:\n" + long + "\nbye"))
	f.Add([]byte(`[NaN, "NaN", -Infinity]`))
	f.Add([]byte("```json\n" + long + "\n```"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v := Recognise(data, nil)
		if v.Kind == JSON && !IsDocument(v.Data) || v.Kind == JSONLines && !IsLines(v.Data) {
			t.Fatalf("%v: %q", v.Kind, v.Data)
		}
		before, behind := v.Beside()
		if v.Whole != nil && !v.Mended && string(before)+string(v.Data)+string(behind) != string(data) {
			t.Fatalf("%q %q %q", before, v.Data, behind)
		}
	})
}
