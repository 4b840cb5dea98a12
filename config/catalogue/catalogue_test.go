package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/config"
)

func embeddedOnes(t *testing.T) Catalogue {
	t.Helper()
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEmbedded: each entry of ours, with what a person gives for it, is one that serve takes
// without a warning, and says what a person has to know.
func TestEmbedded(t *testing.T) {
	c := embeddedOnes(t)
	for _, name := range []string{"context7", "playwright", "codanna", "claude-mem", "graphiti", "filesystem", "git", "dbhub", "github"} {
		if c[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	for name, e := range c {
		values := Values{}
		for _, p := range e.Parameters {
			values[p.Name] = []string{"/tmp"}
		}
		server, err := e.Fill(values)
		if err != nil {
			t.Fatal(err)
		}
		file, err := Put("mcp.json", nil, name, server, false)
		if err != nil {
			t.Fatal(err)
		}
		environ := []string{"HOME=/home/x", "CONTEXT7_API_KEY=x", "GIT_AUTHOR_NAME=x", "SSH_AUTH_SOCK=x"}
		for _, v := range e.References() {
			if e.Variables[v] == "" {
				t.Errorf("%s does not say what %s is", name, v)
			}
			environ = append(environ, v+"=x")
		}
		cfg, err := config.LoadData("/mcp.json", file, config.Options{Environ: environ})
		if err != nil || len(cfg.Warnings) > 0 {
			t.Errorf("%s: %v, %v", name, err, cfg.Warnings)
		}
		if !strings.HasPrefix(e.Homepage, "https://") || e.Licence == "" || strings.HasSuffix(e.Description, ".") {
			t.Errorf("%s: %q %q %q", name, e.Homepage, e.Licence, e.Description)
		}
		if e.SignIn && cfg.Servers[0].URL == "" {
			t.Errorf("%s: nobody signs in to a program", name)
		}
		for v := range e.Variables {
			if !strings.Contains(string(e.Server), "${"+v) {
				t.Errorf("%s has no ${%s}", name, v)
			}
		}
	}
}

// TestFill: where values go, and what is left out without them.
func TestFill(t *testing.T) {
	e := Entry{Name: "x", Parameters: []Parameter{{Name: "one"}, {Name: "more", Optional: true, Many: true}},
		Server: json.RawMessage(`{"command":"c","args":["<one>","a<one>b","<more>","{one}"],"env":{"A":"<more>","B":"${B}:${env:B}","C":"${C:-c}"}}`)}
	for _, tt := range []struct {
		args []string
		set  string // NAME=VALUE
		want string
	}{
		{[]string{"1"}, "", `{"command":"c","args":["1","a1b","{one}"],"env":{"B":"${B}:${env:B}","C":"${C:-c}"}}`},
		{[]string{`"`, "<one>", "3"}, "", `{"command":"c","args":["\"","a\"b","<one>","3","{one}"],"env":{"A":"<one>,3","B":"${B}:${env:B}","C":"${C:-c}"}}`},
		{[]string{"1"}, "B=${keyring:B}", `{"command":"c","args":["1","a1b","{one}"],"env":{"B":"${keyring:B}:${keyring:B}","C":"${C:-c}"}}`},
		{[]string{"1"}, "C=x", `{"command":"c","args":["1","a1b","{one}"],"env":{"B":"${B}:${env:B}","C":"x"}}`},
		{nil, "one=1", `{"command":"c","args":["1","a1b","{one}"],"env":{"B":"${B}:${env:B}","C":"${C:-c}"}}`},
		{nil, "", "ONE is missing: "},
		{[]string{"1"}, "one=2", "ONE is given 2 times"},
		{[]string{"1"}, "D=2", `x has no "D"; it has B, C, one, more`},
	} {
		values, err := e.Arguments(tt.args)
		if name, value, ok := strings.Cut(tt.set, "="); err == nil && ok {
			err = e.Set(values, name, value)
		}
		var got json.RawMessage
		if err == nil {
			got, err = e.Fill(values)
		}
		if err != nil {
			got = json.RawMessage(err.Error())
		}
		if string(got) != tt.want {
			t.Errorf("%q %s:\n%s\n%s", tt.args, tt.set, got, tt.want)
		}
	}
	empty := Entry{Name: "x", Parameters: []Parameter{{Name: "a", Optional: true}}, Server: json.RawMessage(`{"command":"c","env":{"A":"<a>"},"tools":{}}`)}
	if got, err := empty.Fill(nil); string(got) != `{"command":"c","tools":{}}` || err != nil {
		t.Errorf("an object that has nothing left: %s, %v", got, err)
	}
	if _, err := (&Entry{Name: "y"}).Arguments([]string{"z"}); err == nil || err.Error() != `y takes no argument "z"` {
		t.Error(err)
	}
	missing := Missing(json.RawMessage(`["${A} ${B:-b} ${env:A} ${C} ${keyring:K} ${file:/x}"]`), func(name string) bool { return name == "C" })
	if fmt.Sprint(missing) != "[A]" {
		t.Error(missing)
	}
}

// TestParse: what is wrong with a catalogue of one's own is said by entry.
func TestParse(t *testing.T) {
	const right = `"description":"d","server":{"command":"c","args":["<a>"]},"parameters":[{"name":"a","description":"d"}]`
	if c, err := Parse("x.json", []byte(`{"entries":{"x":{`+right+`,},}, /* fine */}`)); err != nil || c["x"].Usage() != "x A" {
		t.Errorf("%v, %v", c, err)
	}
	for _, tt := range []struct{ file, want string }{
		{`[]`, "x.json: "},
		{`{"entries":`, "x.json:1:12: "},
		{`{}`, `x.json: "entries" has 0 servers, of 1 to 1000`},
		{`{"servers":{}}`, `x.json: unknown field "servers"`},
		{`{"entries":{"a b":{"description":"d","server":{"command":"c"}}}}`, `entry "a b": a name has letters, digits,`},
		{`{"entries":{"x":{"server":{"command":"c"}}}}`, `entry "x": description is missing`},
		{`{"entries":{"x":{"description":"d"}}}`, `entry "x": server is missing`},
		{`{"entries":{"x":{"description":7}}}`, `entry "x": "description" must not be number`},
		{`{"entries":{"x":{"description":"d","server":{"command":"c"},"need":[]}}}`, `entry "x": unknown field "need"`},
		{`{"entries":{"x":{"description":"d","server":{"command":"c","denny":[]}}}}`, `entry "x": denny: unknown key`},
		{`{"entries":{"x":{"description":"d","server":{"command":"c","url":"https://x"}}}}`, `both command and url are set`},
		{`{"entries":{"x":{"description":"d","server":7}}}`, `entry "x": `},
		{`{"entries":{"x":{"description":"` + strings.Repeat("d", 1001) + `","server":{"command":"c"}}}}`, "description and note have at most 1000 bytes"},
		{`{"entries":{"x":{` + strings.Replace(right, `"name":"a"`, `"name":"A"`, 1) + `}}}`, `parameter "A": a name has small letters`},
		{`{"entries":{"x":{` + strings.Replace(right, `"name":"a"`, `"name":"b"`, 1) + `}}}`, `parameter "b": server has no <b>`},
		{`{"entries":{"x":{` + strings.Replace(right, `"name":"a"`, `"name":"a","kind":"port"`, 1) + `}}}`, `parameter "a": kind is "text", "folder", "file", "path" or "url"`},
		{`{"entries":{"x":{` + strings.Replace(right, `}]`, `},{"name":"a","description":"d"}]`, 1) + `}}}`, `parameter "a" is there twice`},
		{`{"entries":{"x":{"description":"d"},"y":{"description":"d"}}}`, "entry \"x\": server is missing\nx.json: entry \"y\": server is missing"},
	} {
		if c, err := Parse("x.json", []byte(tt.file)); c != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.100s: %v\nwant %s", tt.file, err, tt.want)
		}
	}
}

// TestPut: the file keeps all else, byte for byte.
func TestPut(t *testing.T) {
	const server = `{"command":"c","args":["a"]}`
	for _, tt := range []struct {
		file  string // "": there is none
		force bool
		want  string
	}{
		{"", false, "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"c\",\n      \"args\": [\n        \"a\"\n      ]\n    }\n  }\n}\n"},
		{"// mine\n{\"mcpServers\":{\"y\":{\"url\":\"https://y\"}}, /* z */}\n", false, "// mine\n{\"mcpServers\":{\"y\":{\"url\":\"https://y\"},\"x\":{\"command\":\"c\",\"args\":[\"a\"]}}, /* z */}\n"},
		{`{"mcpServers":{"x":{ "args": ["a"], "command": "c" /* mine */ }}}`, false, "it is there already, the same"},
		{`{"mcpServers":{"x":{"command":"d"}}}`, false, "there is another server of this name"},
		{`{"mcpServers":{"x":{"command":"d"} /* mine */}}`, true, `{"mcpServers":{"x":{"command":"c","args":["a"]} /* mine */}}`},
		{`{"mcpServers":[]}`, false, `mcp.json: "mcpServers" is not an object`},
		{`{"mcpServers":`, false, "mcp.json:1:15: "},
	} {
		var data []byte
		if tt.file != "" {
			data = []byte(tt.file)
		}
		got, err := Put("mcp.json", data, "x", json.RawMessage(server), tt.force)
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.HasPrefix(string(got), tt.want) {
			t.Errorf("%s: %s", tt.file, cmp.Diff(tt.want, string(got)))
		}
		if tt.want == "it is there already, the same" && !errors.Is(err, ErrSame) {
			t.Error(err)
		}
	}
}

// TestOver: a catalogue of one's own wins.
func TestOver(t *testing.T) {
	ours := embeddedOnes(t)
	own, err := Parse("own", []byte(`{"entries":{"git":{"description":"mine","server":{"command":"g"}},"new":{"description":"n","server":{"command":"n"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	all := ours.Over(own)
	if all["git"].Description != "mine" || all["new"] == nil || all["github"] == nil || ours["new"] != nil {
		t.Errorf("%v", all.Names())
	}
}
