package transport

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestHeaderValue(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a b": "a b", "é": "=?base64?w6k=?=", " a": "=?base64?IGE=?=", "a\n": "=?base64?YQo=?=",
		"=?base64?x?=": "=?base64?PT9iYXNlNjQ/eD89?=", "=?base64?x": "=?base64?x",
	} {
		if got := headerValue(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestParamHeadersAreBounded: a schema may be as wide and deep as it likes.
func TestParamHeadersAreBounded(t *testing.T) {
	var wide []string
	for i := range 1000 {
		wide = append(wide, `"p`+strings.Repeat("x", i)+`":{"x-mcp-header":"H"}`)
	}
	deep := strings.Repeat(`{"properties":{"a":`, 400) + `{"x-mcp-header":"H"}` + strings.Repeat(`}}`, 400)
	odd := `{"properties":{"a":{"x-mcp-header":"a b"},"b":{"x-mcp-header":7},"c":[],"d":{"x-mcp-header":""}}}`
	p := new(paramHeaders)
	p.learn(map[string]json.RawMessage{
		"wide": json.RawMessage(`{"properties":{` + strings.Join(wide, ",") + `}}`), "deep": json.RawMessage(deep), "odd": json.RawMessage(odd), "none": nil,
	})
	if len(p.tools["wide"]) != maxParamHeaders || len(p.tools["deep"]) != 0 || len(p.tools["odd"]) != 0 {
		t.Errorf("headers %v", p.tools)
	}
}
