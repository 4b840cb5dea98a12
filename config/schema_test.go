package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tailscale/hujson"
)

// resolved is the schema, ready to validate.
func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fits is nil if the schema takes a file.
func fits(t *testing.T, r *jsonschema.Resolved, file []byte) error {
	t.Helper()
	plain, err := hujson.Standardize(file)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var v any
	if err := json.Unmarshal(plain, &v); err != nil {
		t.Fatal(err)
	}
	return r.Validate(v)
}

// TestSchemaKeys: each key that the reader knows is in the schema, and the other way round.
func TestSchemaKeys(t *testing.T) {
	var s struct {
		Properties struct {
			ProxySettings struct{ Properties map[string]any }
		}
		Defs struct {
			Server struct{ Properties map[string]any }
			Tool   struct{ Properties map[string]any }
			Rights struct{ Properties map[string]any }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	notes := []string{"comment", "_comment", "//"}
	settings := slices.Concat(rightsSections, []string{subModelSection}, notes)
	for _, s := range Settings() {
		if !s.EnvOnly() {
			settings = append(settings, s.Name)
		}
	}
	auth, _ := s.Defs.Server.Properties["auth"].(map[string]any)["properties"].(map[string]any)
	for _, tt := range []struct {
		name      string
		want      []string
		have      map[string]any
		described bool
	}{
		{"proxySettings", settings, s.Properties.ProxySettings.Properties, false},
		{"server", slices.Concat(serverKeys, slices.Collect(maps.Keys(otherSpellings)), slices.Collect(maps.Keys(notRead)), foreignKeys), s.Defs.Server.Properties, true},
		{"tool", slices.Concat(toolKeys, foreignKeys), s.Defs.Tool.Properties, true},
		{"auth", slices.Concat(authKeys, slices.Collect(maps.Keys(authOther))), auth, true},
		{"rights", slices.Concat(rightsKeys, notes), s.Defs.Rights.Properties, false},
	} {
		slices.Sort(tt.want)
		if diff := cmp.Diff(slices.Compact(tt.want), slices.Sorted(maps.Keys(tt.have))); diff != "" {
			t.Errorf("%s (-reader +schema):\n%s", tt.name, diff)
		}
		for key, v := range tt.have {
			if about, _ := v.(map[string]any); tt.described && about["description"] == nil {
				t.Errorf("%s.%s has no form", tt.name, key)
			}
		}
	}
}

// TestSchemaAgrees: of values of every kind under every key, the schema refuses those that the
// reader refuses for their kind, and no other.
func TestSchemaAgrees(t *testing.T) {
	r := resolved(t)
	reads := func(file string) error {
		_, err := load("mcp.json", "/mcp.json", []byte(file), Options{})
		return err
	}
	check := func(file string) {
		t.Helper()
		if read, fit := reads(file), fits(t, r, []byte(file)); (read == nil) != (fit == nil) {
			t.Errorf("%s\nreader: %v\nschema: %v", file, read, fit)
		}
	}
	values := []string{`null`, `true`, `false`, `"no number or word"`, `2000`, `1.5`, `{}`, `[]`, `["text"]`, `[3000]`, `{"a": 3000}`, `[null]`}
	wants := map[string]string{ // a text has more to it than its kind
		"type": `"sse"`, "isolation": `"agent"`, "redact": `"on"`, "timeout": `"2m"`, "jq": `"."`, "env": `{"A": "b"}`, "headers": `{"A": "b"}`, "tools": `{"t": {}}`,
	}
	for _, key := range slices.Concat(serverKeys, slices.Sorted(maps.Keys(otherSpellings))) {
		ours := key
		if s, ok := otherSpellings[key]; ok {
			ours = s
		}
		for _, value := range append(values, wants[ours]) {
			isText := value == `"no number or word"`
			if value == "" || ours == "command" || ours == "url" || isText && ours == "timeout" || ours == "auth" && value == "{}" {
				continue
			}
			server := `"command": "x"`
			if ours == "type" || ours == "auth" {
				server = `"url": "http://127.0.0.1/"`
			}
			check(fmt.Sprintf(`{"mcpServers": {"a": {%s, %q: %s}}}`, server, key, value))
		}
	}
	for _, key := range toolKeys {
		for _, value := range append(values, wants[key]) {
			if value != "" && !(value == `"no number or word"` && (key == "timeout" || key == "jq")) {
				check(fmt.Sprintf(`{"mcpServers": {"a": {"command": "x", "tools": {"t": {%q: %s}}}}}`, key, value))
			}
		}
	}
	for _, s := range Settings() {
		for _, value := range values {
			isText := value == `"no number or word"` || value == `["text"]`
			number := value == `2000` || value == `1.5`
			if s.EnvOnly() || isText && (s.textual() || s.Unit == "bytes" || s.Unit == "seconds") || number && (s.Unit == "seconds" || s.Unit == "bytes" || s.Unit == "files" || s.Unit == "characters") {
				continue // whether it can be meant goes by more than its kind
			}
			if s.Name == "quarantine" || s.Name == "pinTools" || value == `{"a": 3000}` {
				continue
			}
			check(fmt.Sprintf(`{"mcpServers": {"a": {"command": "x"}}, "proxySettings": {%q: %s}}`, s.Name, value))
		}
	}
	for _, file := range []string{
		`{}`, `{"mcpServers": {}}`, `{"mcpServers": []}`, `{"mcpServers": {"a": {}}}`, `{"mcpServers": {"": {"command": "x"}}}`, `{"mcpServers": {"a": {"command": "x", "url": "http://a/"}}}`,
		`{"mcpServers": {"a": {"command": "x", "url": null, "serverUrl": null}}}`, `{"mcpServers": {"a": {"serverUrl": "http://a/"}}}`,
		`{"mcpServers": {"a": {"command": "x", "tools": {"t": {"field": []}}}}}`, `{"mcpServers": {"a": {"command": "x", "alwaysAllow": 7, "envFile": "x"}}}`,
		`{"mcpServers": {"a": {"command": "x"}}, "proxySettings": {"maxResponseToken": 3000}}`,
		`{"mcpServers": {"a": {"command": "x"}}, "proxySettings": {"agents": {"ann": {"allow": ["x_*"], "comment": 1}, "*": {}}}}`,
		`{"mcpServers": {"a": {"command": "x"}}, "proxySettings": {"agents": {"ann": {"alow": []}}}}`,
		`{"mcpServers": {"a": {"command": "x"}}, "proxySettings": {"agents": null}}`,
		`{"mcpServers": {"a": {"command": "x"}}, "proxySettings": {"agents": {"ann": {"allow": null}}}}`,
		`{"mcpServers": {"a": {"command": "x"}}, "proxySettings": {"maxResponseTokensByKind": {"log": 500}}}`,
		`{"mcpServers": {"a": {"command": "x"}}, "proxySettings": {"maxResponseTokensByKind": {"logs": 500}}}`,
		`{"$schema": "mcp.schema.json", "mcpServers": {"a": {"command": "x"}}, "theirs": 1}`,
	} {
		check(file)
	}
}

// TestSchemaExample: the example that we ship is one.
func TestSchemaExample(t *testing.T) {
	file, err := os.ReadFile("../mcp.json.example")
	if err != nil {
		t.Fatal(err)
	}
	if err := fits(t, resolved(t), file); err != nil {
		t.Error(err)
	}
}
