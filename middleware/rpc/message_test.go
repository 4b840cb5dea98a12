package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/jsonscan"
)

func TestParse(t *testing.T) {
	tests := []struct {
		line string
		want Message
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{"a":1.0}}`, Message{ID: []byte(`1`), Result: []byte(`{"a":1.0}`)}},
		{`{"result":{"n":9007199254740993},"id":"x","jsonrpc":"2.0"}`, Message{ID: []byte(`"x"`), Result: []byte(`{"n":9007199254740993}`)}},
		{` { "method" : "m" , "params" : [ ] } `, Message{Method: "m", Params: []byte(`[ ]`)}},
		{`{"\u0069d":7,"method":"a\/b"}`, Message{ID: []byte(`7`), Method: "a/b"}},
		{`{"id":1,"id":2}`, Message{ID: []byte(`2`)}},
		{`{"error":{"code":-1},"id":null}`, Message{ID: []byte(`null`), Error: []byte(`{"code":-1}`)}},
		{`{}`, Message{}},
	}
	for _, tt := range tests {
		got, err := Parse([]byte(tt.line))
		if err != nil {
			t.Errorf("Parse(%s): %v", tt.line, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Parse(%s): -want +got\n%s", tt.line, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []string{
		``, `[]`, `"x"`, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":01}`, `{"a":1} x`, `{"a":"\x"}`, `{"a":"` + "\x01" + `"}`,
		`{"a":[1,]}`, `{"a":tru}`, `{"a":1.}`, `{"a":-}`, `{"a":1e}`, `{"method":1}`, `{a:1}`, `{"a":[}`, `{"a":{]}`, `{"a":"\u12"}`,
	}
	for _, line := range tests {
		if m, err := Parse([]byte(line)); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", line, m)
		}
	}
	deep := `{"result":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`
	if _, err := Parse([]byte(deep)); !errors.Is(err, jsonscan.ErrTooDeep) {
		t.Errorf("100,000 levels: %v, want ErrTooDeep", err)
	}
}

// FuzzParse compares the scanner with encoding/json: both accept the same
// lines, and what Parse slices out decodes to the same values.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"a":[1,2.5e-3,"\u00e9",null,true,false,{}]}}`, `{"id":`, `{"a":"\ud800"}`,
		`{"params":{"x":[[[]]]},"method":"tools/call"}`, "{\"a\":\"\xff\"}", `{"id":-0}`, `{"ID":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := Parse(line)
		if errors.Is(err, jsonscan.ErrTooDeep) {
			return
		}
		trimmed := bytes.TrimLeft(line, " \t\r\n")
		object := json.Valid(line) && len(trimmed) > 0 && trimmed[0] == '{'
		if err == nil && !object {
			t.Fatalf("Parse accepts %q", line)
		}
		if !object {
			return
		}
		var ref map[string]json.RawMessage
		if json.Unmarshal(line, &ref) != nil {
			return
		}
		if err != nil {
			if raw := ref["method"]; raw != nil && raw[0] != '"' {
				return // valid JSON, but no message
			}
			t.Fatalf("Parse(%q): %v", line, err)
		}
		for key, got := range map[string]json.RawMessage{"id": m.ID, "params": m.Params, "result": m.Result, "error": m.Error} {
			if want := ref[key]; !bytes.Equal(got, want) {
				t.Fatalf("%s of %q = %q, want %q", key, line, got, want)
			}
		}
	})
}
