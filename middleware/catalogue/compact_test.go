package catalogue

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corpus "rlmproxy/bench/catalogue"
	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/tokens"
)

// TestCompactKeepsTheMeaning: of the schemas of real tools, what is compact takes and refuses
// the same arguments, made at random along the schema and then broken in all kinds of ways.
func TestCompactKeepsTheMeaning(t *testing.T) {
	servers, err := corpus.Servers()
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	valid, invalid, before, after := 0, 0, 0, 0
	for _, s := range servers {
		for _, raw := range s.Tools {
			name := s.Name + "/" + jsonscan.StringMember(raw, "name")
			compact := Compact(raw)
			if !json.Valid(compact) || jsonscan.StringMember(compact, "name") != jsonscan.StringMember(raw, "name") {
				t.Fatalf("%s became %s", name, compact)
			}
			if again := Compact(compact); string(again) != string(compact) {
				t.Errorf("%s becomes shorter still:\n%s\n%s", name, compact, again)
			}
			m, _ := tokens.Count(raw)
			n, _ := tokens.Count(compact)
			before, after = before+m, after+n
			if n > m {
				t.Errorf("%s has %d tokens, and had %d", name, n, m)
			}
			for _, member := range []string{"inputSchema", "outputSchema"} {
				whole := jsonscan.Member(raw, member)
				if whole == nil {
					continue
				}
				was, err := compile(whole)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				is, err := compile(jsonscan.Member(compact, member))
				if err != nil {
					t.Errorf("%s, compact: %v", name, err)
					continue
				}
				var doc map[string]any
				if err := json.Unmarshal(whole, &doc); err != nil {
					t.Fatal(err)
				}
				g := generator{rnd, doc}
				for range 50 {
					value := g.value(doc, 6)
					if rnd.IntN(2) == 0 {
						value = g.broken(value)
					}
					a, b := was.Validate(value), is.Validate(value)
					if (a == nil) != (b == nil) {
						t.Fatalf("%s %s: %v\n%v\n%v", name, member, value, a, b)
					}
					if a == nil {
						valid++
					} else {
						invalid++
					}
				}
			}
		}
	}
	t.Logf("%d arguments are taken, %d refused; %d tokens become %d", valid, invalid, before, after)
	if valid < 5000 || invalid < 5000 {
		t.Errorf("%d arguments are taken, %d refused: too few to tell", valid, invalid)
	}
}

// A generator makes values at random that a schema may take.
type generator struct {
	*rand.Rand
	root map[string]any
}

// value is one for a schema, nested no deeper than depth.
func (g generator) value(schema any, depth int) any {
	s, _ := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		var root any = g.root
		raw, _ := json.Marshal(root)
		var target any
		if json.Unmarshal(at(raw, ref), &target) == nil {
			return g.value(target, depth-1)
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			return g.value(list[g.IntN(len(list))], depth)
		}
	}
	if list, ok := s["enum"].([]any); ok && g.IntN(8) > 0 {
		return list[g.IntN(len(list))]
	}
	if value, ok := s["const"]; ok {
		return value
	}
	kind := s["type"]
	if list, ok := kind.([]any); ok {
		kind = list[g.IntN(len(list))]
	}
	switch kind {
	case "object", nil:
		object := map[string]any{}
		required := map[string]bool{}
		list, _ := s["required"].([]any)
		for _, name := range list {
			required[fmt.Sprint(name)] = true
		}
		properties, _ := s["properties"].(map[string]any)
		for name, of := range properties {
			if depth > 0 && (required[name] || g.IntN(3) == 0) {
				object[name] = g.value(of, depth-1)
			}
		}
		if g.IntN(10) == 0 {
			object["more"] = g.scalar()
		}
		return object
	case "array":
		var list []any
		for range g.IntN(3) {
			if depth > 0 {
				list = append(list, g.value(s["items"], depth-1))
			}
		}
		return append([]any{}, list...)
	case "string":
		return []string{"", "a", "2026-01-02", "https://example.com/", "abc-def-0123456789"}[g.IntN(5)]
	case "integer":
		return float64(g.IntN(200) - 10)
	case "number":
		return g.Float64() * 100
	case "boolean":
		return g.IntN(2) == 0
	}
	return nil
}

func (g generator) scalar() any {
	return []any{nil, true, 1.5, -1.0, 1e9, "", "x", []any{}, map[string]any{}}[g.IntN(9)]
}

// broken is a value with something else in a place of it.
func (g generator) broken(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			switch g.IntN(3 * len(v)) {
			case 0:
				delete(v, name)
				return v
			case 1:
				v[name] = g.broken(inner)
				return v
			}
		}
	case []any:
		if len(v) > 0 && g.IntN(2) == 0 {
			v[0] = g.broken(v[0])
			return v
		}
	}
	return g.scalar()
}

// TestCompact: what goes, and what only looks as if it could.
func TestCompact(t *testing.T) {
	for _, tc := range []struct{ schema, want string }{
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`, `{"type":"object"}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`, `{"type":"object"}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, ``},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/properties/b","type":"string"}}}`, ``},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, ``},
		{`{"properties":{"userName":{"title":"User Name","type":"string"},"title":{"type":"string"},"x":{"title":"Other"}}}`, `{"properties":{"userName":{"type":"string"},"title":{"type":"string"},"x":{"title":"Other"}}}`},
		{`{"enum":[{"title":"a"}],"default":{"description":"a "},"const":{"required":[]}}`, ``},
		{`{"additionalProperties":true,"required":[]}`, `{}`},
		{`{"additionalProperties":false,"required":["a"]}`, ``},
		{`{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}}}`},
		{`{"properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"$ref":"#/definitions/B"},"B":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}}}`},
		{`{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"a":{"$ref":"#/$defs/A"}}}}}`, ``},
		{`{"properties":{"a":{"$ref":"#/$defs/A","description":"x"}},"$defs":{"A":{"type":"string"}}}`, ``},
		{`{"properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/properties/a"}},"$defs":{"A":{"type":"string"}}}`, ``},
		{`{"properties":{"a":{"description":"  one\n\n\n  two  \n"}}}`, `{"properties":{"a":{"description":"one\n\n  two"}}}`},
		{`[1, 2]`, ``},
		{`"x"`, ``},
		{`true`, ``},
	} {
		if tc.want == "" {
			tc.want = tc.schema
		}
		if got := string(CompactSchema(json.RawMessage(tc.schema))); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.schema, got, tc.want)
		}
	}
}

// TestCompactIsBounded: definitions stay where to put them in would take long, and where
// something else refers to them.
func TestCompactIsBounded(t *testing.T) {
	var defs []string
	for n := range 2000 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"string"}`, n))
	}
	long := `{"$defs":{` + strings.Join(defs, ",") + `}}`
	if got := string(CompactSchema(json.RawMessage(long))); got != long {
		t.Errorf("2000 definitions become %.200s", got)
	}
	referred := `{"definitions":{"e":{"type":"string"}},"dependencies":{"a":{"$ref":"#/definitions/e"}}}`
	if got := string(CompactSchema(json.RawMessage(referred))); got != `{"dependencies":{"a":{"type":"string"}}}` {
		t.Errorf("%s becomes %s", referred, got)
	}
}
