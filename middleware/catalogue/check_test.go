package catalogue

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const schema = `{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer","minimum":1},"e":{"enum":["a","b"]},
		"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}},"u":{"anyOf":[{"type":"string"},{"type":"number"}]},
		"d":{"type":"string","format":"date"}},"required":["path"],"additionalProperties":false}`
	for _, tc := range []struct{ schema, arguments, want string }{
		{schema, `{"path":"a","n":1.0,"e":"b","l":[{"x":""}],"u":3,"d":"soon"}`, ""},
		{schema, ``, "missing property 'path'"},
		{schema, `{"path":3,"n":0,"zz":1}`, `/n: minimum: got 0, want 1; /path: got number, want string; additional properties 'zz' not allowed`},
		{schema, `{"path":"a","e":"c"}`, "/e: value must be one of 'a', 'b'"},
		{schema, `{"path":"a","l":[{"x":"1"},{"y":2}]}`, "/l/1: missing property 'x'"},
		{schema, `{"path":"a","u":true}`, "/u: got boolean, want number, or /u: got boolean, want string"},
		{schema, `[]`, "got array, want object"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"d":{"format":"date"}}}`, `{"d":"soon"}`, ""},
		{`{"properties":{"a\u001b":{"type":"string"}}}`, `{"a\u001b":1}`, "/a\x1b: got number, want string"},
		// What cannot be used says nothing:
		{``, `{}`, ""},
		{`{"type":3}`, `{}`, ""},
		{`{"type":`, `{}`, ""},
		{`{"$ref":"file:///etc/passwd"}`, `{}`, ""},
		{`{"$ref":"https://example.com/schema"}`, `{}`, ""},
		{`{"$ref":"#/$defs/none"}`, `{}`, ""},
		{`{"$ref":"#"}`, `{}`, ""},
		{`{"properties":{"child":{"$ref":"#"}},"required":["x"]}`, `{}`, ""},
		{`{"$schema":"https://example.com/dialect","required":["x"]}`, `{}`, ""},
		{`{"required":["x"]}`, `{"n":1e999}`, ""},
		{`{"required":["x"],"minimum":1e999}`, `{}`, ""},
		{`{"properties":{"a":{"pattern":"(?<=x)y"}},"required":["x"]}`, `{}`, ""},
	} {
		if got := Check(json.RawMessage(tc.schema), json.RawMessage(tc.arguments)); got != tc.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", tc.schema, tc.arguments, got, tc.want)
		}
	}
}

// TestCheckIsBounded: what would take long is not begun. A schema of 60 definitions, each of
// them twice the next, is 2^60 schemas where it is used.
func TestCheckIsBounded(t *testing.T) {
	var defs []string
	for n := range 60 {
		ref := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, n+1)
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[%s,%s]}`, n, ref, ref))
	}
	doubling := `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `,"d60":{"required":["x"]}}}`
	// Likewise where references are found in other places than they seem to be, 2^17 each.
	twice := func(form, last string) string {
		var defs []string
		for n := range 17 {
			defs = append(defs, fmt.Sprintf(`"d%d":`, n)+strings.ReplaceAll(form, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, n+1)))
		}
		return `"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `,"d17":` + last + `}`
	}
	both, x := `{"allOf":[NEXT,NEXT]}`, `{"required":["x"]}`
	deep := strings.Repeat(`{"not":`, 5000) + `{}` + strings.Repeat(`}`, 5000)
	for name, tc := range map[string][2]string{
		"doubling":       {doubling, `{}`},
		"deep":           {deep, `{}`},
		"inner document": {`{"$defs":{"d0":{}},"properties":{"a":{"$id":"https://example.com/inner",` + twice(both, x) + `}}}`, `{"a":{}}`},
		"draft 7":        {`{"$schema":"http://json-schema.org/draft-07/schema#",` + twice(`{"dependencies":{"a":{"allOf":[NEXT,NEXT]}}}`, x) + `}`, `{"a":1}`},
		"given again":    {`{"$defs":{"d0":{}},` + twice(both, x) + `,"properties":{}}`, `{}`},
		"other letters":  {`{"$ref":"#/$defs/%61","$defs":{"%61":{},"a":{"required":["x"]}}}`, `{}`},
		"repetitions":    {`{"properties":{"a":{"pattern":"(x?y?z?a?){999}b"}}}`, `{"a":"` + strings.Repeat("a", 20_000) + `"}`},
		"many patterns":  {`{"required":["x"],"allOf":[` + strings.Repeat(`{"pattern":"(.{30}){30}"},`, 100) + `{}]}`, `{}`},
		"values":         {`{"items":{"enum":["` + strings.Repeat(`a","`, 10_000) + `b"]}}`, `[` + strings.Repeat(`"c",`, 1000) + `"c"]`},
		"arguments":      {`{"additionalProperties":{"pattern":"` + strings.Repeat("a?", 20_000) + `"}}`, `{"a":"` + strings.Repeat("a", 1<<20) + `"}`},
		"large":          {`{"required":["x"],"description":"` + strings.Repeat("a", maxSchemaBytes) + `"}`, `{}`},
	} {
		if wrong := Check(json.RawMessage(tc[0]), json.RawMessage(tc[1])); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
	}
	var alternatives []string
	for n := range 300 {
		alternatives = append(alternatives, fmt.Sprintf(`{"const":"%d%s"}`, n, strings.Repeat("b", 100)))
	}
	if wrong := Check(json.RawMessage(`{"anyOf":[`+strings.Join(alternatives, ",")+`]}`), json.RawMessage(`{}`)); wrong == "" || len(wrong) > 2*maxReasons {
		t.Errorf("%d bytes are said of alternatives", len(wrong))
	}
	var many []string
	for n := range 500 {
		many = append(many, fmt.Sprintf(`"p%d":1`, n))
	}
	wrong := Check(json.RawMessage(`{"additionalProperties":{"type":"string"}}`), json.RawMessage("{"+strings.Join(many, ",")+"}"))
	if !strings.HasSuffix(wrong, "; 490 more") || len(wrong) > maxWrong*maxReason {
		t.Errorf("too much is said: %s", wrong)
	}
}

// FuzzCatalogue: no definition takes the search, the signature or the check down.
func FuzzCatalogue(f *testing.F) {
	f.Add([]byte(`{"name":"a","description":"b. c","inputSchema":{"type":"object","properties":{"x":{"$ref":"#/$defs/A"}},"$defs":{"A":{"enum":[1]}}}}`), "a b", []byte(`{"x":1}`))
	f.Fuzz(func(t *testing.T, definition []byte, query string, arguments []byte) {
		if !json.Valid(definition) || !json.Valid(arguments) {
			return
		}
		line := Signature(definition)
		if strings.ContainsAny(line, "\n\r\x1b") {
			t.Errorf("%q", line)
		}
		New([]Tool{{Server: query, Own: "x", Definition: definition}}).Find(query, 3, func(int) bool { return true })
		if definition[0] == '{' {
			if compact := Compact(definition); !json.Valid(compact) {
				t.Errorf("%s", compact)
			}
		}
		Check(definition, arguments)
	})
}
