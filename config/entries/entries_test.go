package entries

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/config"
)

// file has servers of an operator, with comments and secrets.
const file = `{
  // for all clients
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "files"], "deny": ["write*"]}, // the one we use most
    /* with a token */
    "github": {
      "command": "github-mcp-server", // from the package
      "env": {"TOKEN": "${keyring:GITHUB}", "PLAIN": "hunter2"},
      "timeout": 30, // slow
    },
    "remote": {"url": "https://example.com/mcp?key=${KEY}", "enabled": false},
    "mine": {"command": "old", "args": [], "quarantine": false, "pinTools": false, "http_headers": {}, "env_vars": []},
  },
  "proxySettings": {"logLevel": "info"}, // quiet
  "other": [1, 2],
}
`

// changed are changes, a line of JSON each: action, name, server.
func changed(t *testing.T, list ...string) (changes []Change) {
	t.Helper()
	for _, text := range list {
		var c struct {
			A, N string
			S    json.RawMessage
		}
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		changes = append(changes, Change{c.A, c.N, c.S})
	}
	return changes
}

// TestApply: what changes do to a file. All else keeps its bytes.
func TestApply(t *testing.T) {
	for _, tt := range []struct {
		name    string
		changes []string
		replace []string // of file: old and new by turns
		does    []string
		asks    string
		held    string
	}{
		{"add", []string{`{"a":"add","n":"new","s":{"command":"npx","args":[ "-y",  "x" ],"env":{"A":"a\nb"},"allow":["read_*"],"cwd":null}}`},
			[]string{`"env_vars": []},
`, `"env_vars": []},
    "new": {
      "command": "npx",
      "args": [
        "-y",
        "x"
      ],
      "env": {
        "A": "a\nb"
      },
      "allow": [
        "read_*"
      ],
      "quarantine": true
    },
`}, []string{`add "new", in quarantine: {"command":"npx","args":["-y","x"],"env":{"A":"a\nb"},"allow":["read_*"]}`}, "new", "new"},
		{"remove", []string{`{"a":"remove","n":"github"}`},
			[]string{file[strings.Index(file, "\n    /* with"):strings.Index(file, "\n    \"remote\"")], ""}, []string{`remove "github", with its entry in mcp.json`}, "", ""},
		{"disable and enable", []string{`{"a":"disable","n":"files"}`, `{"a":"enable","n":"remote"}`, `{"a":"enable","n":"github"}`, `{"a":"disable","n":"mine"}`},
			[]string{`["write*"]}`, `["write*"], "disabled": true}`, `"enabled": false`, `"enabled": true`, `"env_vars": []}`, `"env_vars": [], "disabled": true}`},
			[]string{`disable "files"`, `enable "remote"`, `enable "github"`, `disable "mine"`}, "", ""},
		{"update of what runs", []string{`{"a":"update","n":"github","s":{"command":"npx","args":["x"],"env":null}}`},
			[]string{`"github-mcp-server"`, `"npx"`, "\n      \"env\": {\"TOKEN\": \"${keyring:GITHUB}\", \"PLAIN\": \"hunter2\"},", "", `"timeout": 30, // slow`, `"timeout": 30, // slow
      "args": [
        "x"
      ],
      "quarantine": true,`},
			[]string{`change "github", into quarantine: set {"command":"npx","args":["x"]}: remove env`}, "github", "github"},
		{"update of what is pinned by nobody", []string{`{"a":"update","n":"mine","s":{"command":"new"}}`},
			[]string{`"old"`, `"new"`, `"quarantine": false, "pinTools": false`, `"quarantine": true, "pinTools": true`},
			[]string{`change "mine", into quarantine: set {"command":"new"}`}, "mine", "mine"},
		{"update of the rest", []string{`{"a":"update","n":"github","s":{"timeout":60,"description":"Issues."}}`},
			[]string{`"timeout": 30, // slow`, `"timeout": 60, // slow
      "description": "Issues.",`}, []string{`change "github": set {"timeout":60,"description":"Issues."}`}, "", ""},
		{"update of a prefix", []string{`{"a":"update","n":"github","s":{"prefix":"files"}}`},
			[]string{`"timeout": 30, // slow`, `"timeout": 30, // slow
      "prefix": "files",`}, []string{`change "github": set {"prefix":"files"}`}, "github", ""},
		{"update in another spelling", []string{`{"a":"update","n":"mine","s":{"headers":null,"timeout":5}}`},
			[]string{`"quarantine": false, "pinTools": false, "http_headers": {}, `, `"quarantine": true, "pinTools": true, `, `"env_vars": []}`, `"env_vars": [], "timeout": 5}`},
			[]string{`change "mine", into quarantine: set {"timeout":5}: remove headers`}, "mine", "mine"},
	} {
		edit, err := Apply("mcp.json", []byte(file), changed(t, tt.changes...), true)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		want := file
		for i := 0; i < len(tt.replace); i += 2 {
			if !strings.Contains(want, tt.replace[i]) {
				t.Fatalf("%s: no %s", tt.name, tt.replace[i])
			}
			want = strings.Replace(want, tt.replace[i], tt.replace[i+1], 1)
		}
		if diff := cmp.Diff(want, string(edit.Data)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.does, edit.Does); diff != "" || strings.Join(edit.Asks, " ") != tt.asks || strings.Join(edit.Held, " ") != tt.held {
			t.Errorf("%s: %s asks %q held %q", tt.name, diff, edit.Asks, edit.Held)
		}
		if _, err := config.Parse("mcp.json", edit.Data); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestRefused: what an agent may not do, and what is no change; nothing of the file is shown.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ change, want string }{
		{`{"a":"add","n":"files","s":{"command":"x"}}`, "there is a server of this name; an update changes it"},
		{`{"a":"add","n":"x"}`, "server is missing"},
		{`{"a":"add","n":"x","s":[]}`, "server is not an object"},
		{`{"a":"add","n":"x","s":"{\"command\":\"y\"}"}`, "server is not an object"},
		{`{"a":"add","n":"","s":{"command":"x"}}`, "a name has letters, digits,"},
		{`{"a":"add","n":"fil\u0435s","s":{"command":"x"}}`, "a name has letters, digits,"},
		{`{"a":"add","n":"x\n","s":{"command":"x"}}`, "a name has letters, digits,"},
		{`{"a":"add","n":"x","s":{"command":"x","command":"y"}}`, `"command" stands twice`},
		{`{"a":"add","n":"x","s":{"command":"x","env":{"T":"${keyring:GITHUB}"}}}`, `"env" has a reference (${…}), which would hand the server what the operator keeps`},
		{`{"a":"add","n":"x","s":{"command":"x","env":{"T":"\u0024{HOME}"}}}`, `"env" has a reference`},
		{`{"a":"add","n":"x","s":{"command":"x","args":["a","b${file:/etc/passwd}"]}}`, `"args" has a reference`},
		{`{"a":"add","n":"x","s":{"command":"${SHELL:-sh}"}}`, `"command" has a reference`},
		{`{"a":"add","n":"x","s":{"url":"https://x/${env:TOKEN}"}}`, `"url" has a reference`},
		{`{"a":"add","n":"x","s":{"url":"https://x","headers":{"${A}":"x"}}}`, `"headers" has a reference`},
		{`{"a":"add","n":"x","s":{"command":"x","envFile":"/home/me/.env"}}`, `"envFile" is the operator's to set`},
		{`{"a":"add","n":"x","s":{"command":"x","inheritEnv":true}}`, `"inheritEnv" is the operator's to set`},
		{`{"a":"add","n":"x","s":{"command":"x","env_vars":["TOKEN"]}}`, `"env_vars" is the operator's to set`},
		{`{"a":"add","n":"x","s":{"url":"https://x","oauth":{}}}`, `"oauth" is the operator's to set`},
		{`{"a":"add","n":"x","s":{"command":"x","pinTools":false}}`, `"pinTools" is the operator's to set`},
		{`{"a":"add","n":"x","s":{"command":"x","freshCalls":["*"]}}`, `"freshCalls" is the operator's to set`},
		{`{"a":"add","n":"x","s":{"command":"x","quarantine":false}}`, "what an agent adds is in quarantine"},
		{`{"a":"add","n":"x","s":{"command":"x","comand":"x"}}`, `no key "comand"; an agent may set command, args,`},
		{`{"a":"add","n":"x","s":{"serverUrl":"https://x"}}`, `"serverUrl": write url`},
		{`{"a":"add","n":"x","s":{"command":"` + strings.Repeat("x", maxEntry) + `"}}`, "the entry has 16398 bytes, of at most 16384"},
		{`{"a":"update","n":"nobody","s":{"timeout":1}}`, `there is no such server; there are "files", "github", "remote", "mine"`},
		{`{"a":"update","n":"files","s":{}}`, "server has no key to change"},
		{`{"a":"update","n":"files","s":{"deny":[]}}`, `"deny" is the operator's to set`},
		{`{"a":"update","n":"files","s":{"deny":null}}`, `"deny" is the operator's to set`},
		{`{"a":"update","n":"files","s":{"excludeTools":[]}}`, `"excludeTools" is the operator's to set`},
		{`{"a":"update","n":"mine","s":{"quarantine":null}}`, `"quarantine" is the operator's to set`},
		{`{"a":"update","n":"github","s":{"envFile":null}}`, `"envFile" is the operator's to set`},
		{`{"a":"update","n":"github","s":{"command":"evil"}}`, `"env" stays as it stands there, and what runs then would get it, with secrets that it may have: give env too, or null to remove it`},
		{`{"a":"update","n":"github","s":{"args":["--evil"]}}`, `"env" stays as it stands there`},
		{`{"a":"update","n":"files","s":{"command":"evil"}}`, `"args" stays as it stands there`},
		{`{"a":"update","n":"files","s":{"env":{"NODE_OPTIONS":"--require=/tmp/x.js"}}}`, `"args" stays as it stands there`},
		{`{"a":"update","n":"remote","s":{"headers":{"A":"b"}}}`, `"url" stays as it stands there`},
		{`{"a":"remove","n":"files","s":{}}`, "it takes no server"},
		{`{"a":"remove","n":"nobody"}`, "there is no such server"},
		{`{"a":"list","n":"files"}`, "no such action; there are add, remove, enable, disable, update"},
	} {
		// One that is wrong among others: nothing is changed.
		edit, err := Apply("mcp.json", []byte(file), changed(t, `{"a":"add","n":"new","s":{"command":"y"}}`, tt.change), true)
		if edit != nil || err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), ": "+tt.want) {
			t.Errorf("%.200s: %.300v", tt.change, err)
		}
		for _, secret := range []string{"hunter2", "keyring:GITHUB", "key=", "github-mcp"} {
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s: shows %s", tt.change, err)
			}
		}
	}
	if _, err := Apply("mcp.json", []byte(file), changed(t, `{"a":"disable","n":"files"}`, `{"a":"remove","n":"files"}`), true); err == nil || !strings.Contains(err.Error(), "it has a change already") {
		t.Error(err)
	}
	if _, err := Apply("mcp.json", []byte(file), make([]Change, 21), true); err == nil || !strings.Contains(err.Error(), "21 changes; at most 20") {
		t.Error(err)
	}
	for _, bad := range []string{`[]`, `{"mcpServers": []}`, `{`, `{"mcpServers": {"a": 1, "a": 2}}`} {
		if _, err := Apply("mcp.json", []byte(bad), changed(t, `{"a":"disable","n":"a"}`), true); err == nil {
			t.Error(bad)
		}
	}
	if _, err := Apply("mcp.json", []byte(`{"mcpServers": {"a": 1}}`), changed(t, `{"a":"disable","n":"a"}`), true); err == nil || !strings.Contains(err.Error(), "its entry is not an object") {
		t.Error(err)
	}
}

// TestPinsAreNeeded: where tools are not pinned, those of a server in quarantine are.
func TestPinsAreNeeded(t *testing.T) {
	unpinned := strings.Replace(file, `"logLevel": "info"`, `"pinTools": false`, 1)
	edit, err := Apply("mcp.json", []byte(unpinned), changed(t, `{"a":"add","n":"x","s":{"command":"y"}}`, `{"a":"update","n":"files","s":{"args":["z"]}}`), false)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("mcp.json", edit.Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Servers {
		if on := s.Name == "x" || s.Name == "files"; on && (s.PinTools == nil || !*s.PinTools || s.Quarantine == nil || !*s.Quarantine) {
			t.Errorf("%s: %s", s.Name, edit.Data)
		}
	}
}
