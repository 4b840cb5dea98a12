package doc

import (
	"strings"
	"testing"
)

func TestRecognise(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
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
	} {
		v := Recognise([]byte(tt.in), nil)
		if v.Kind != tt.kind || v.Unit != tt.unit || v.Items != tt.items || v.Total != tt.items {
			t.Errorf("%s: %v, %d of %d %s; want %v, %d %s", tt.name, v.Kind, v.Items, v.Total, v.Unit, tt.kind, tt.items, tt.unit)
		}
	}
}
