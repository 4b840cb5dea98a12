package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSwitches: what opencode switches off for all servers is off for each that it is about.
func TestSwitches(t *testing.T) {
	for _, tt := range []struct{ rest, want string }{
		{``, ""},
		{`"tools": {"write": false, "bash*": false, "github": false}`, ""},
		{`"tools": {"my_git_*": false}`, "-*"},
		{`"tools": {"my*": false}`, "-*"},
		{`"tools": {"*": false}`, "-*"},
		{`"tools": {"my_git_*": 0, "my_git_log": null}`, ""},
		{`"tools": ["my_git_*"], "permission": "deny", "agent": [1, {"tools": 2}]`, ""},
		{`"tools": {"my_git_push": false, "my_git_re?et": false}`, "-push -re?et"},
		{`"tools": {"*_delete": false}`, "-*_delete -delete"},
		{`"tools": {"my_git_a[b]*": false}`, `-a\[b]*`},
		{`"tools": {"my_git_*": true, "my_git_push": false}`, "-push"},
		{`"tools": {"my_git_push": false, "my_git_*": true}`, ""},
		{`"tools": {"my_git_*": false, "my_git_log": true, "my_git_show*": true}`, "+log +show*"},
		{`"tools": {"my_git_*": false, "my_git_log*": true, "my_git_log_all": false}`, "+log* -log_all"},
		{`"tools": {"my_git_log*": false, "my_git_log_all": true}`, `-log* (tools "my_git_log_all" is not taken over: what is off stays off)`},
		{`"tools": {"*": false, "my_git_*": true}`, ""},
		{`"permission": {"my_git_*": "deny"}`, "-*"},
		{`"permission": {"my_git_*": "ask", "bash": {"git *": "allow"}}`, ""},
		{`"permission": {"*": "deny", "my_git_log": "allow"}`, "+log"},
		{`"tools": {"my_git_*": false}, "permission": {"my_git_*": "allow"}`, ""},
		{`"tools": {"my_git_*": false}, "agent": {"dev": {"tools": {"my_git_*": true, "bash": true}}}`,
			`-* (agent.dev.tools "my_git_*" is not taken over: what is off for all agents is off for this one too)`},
		{`"agent": {"dev": {"tools": {"my_git_*": false}}}`, ""},
		{`"tools": {"` + strings.Repeat("*", maxPattern+1) + `": false}`, ""},
	} {
		p := ann.Places(Find("opencode"), func(string) bool { return false })[0]
		servers, err := p.Read([]byte(`{"mcp": {"my.git": {"type": "local", "command": ["x"]}}, ` + tt.rest + `}`))
		if err != nil || len(servers) != 1 || servers[0].Stays != "" {
			t.Fatal(tt.rest, servers, err)
		}
		var got []string
		for _, glob := range servers[0].Entry.Allow {
			got = append(got, "+"+glob)
		}
		for _, glob := range servers[0].Entry.Deny {
			got = append(got, "-"+glob)
		}
		for _, note := range servers[0].Notes {
			got = append(got, "("+note+")")
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.rest, got, tt.want)
		}
	}
}

// TestManySwitches: a file with more patterns than a person writes costs no time, and says so.
func TestManySwitches(t *testing.T) {
	var rules []string
	for i := range maxSwitches + 1 {
		rules = append(rules, fmt.Sprintf(`"x%d*": false`, i))
	}
	p := ann.Places(Find("opencode"), func(string) bool { return false })[0]
	servers, err := p.Read([]byte(`{"mcp": {"x1": {"type": "local", "command": ["x"]}}, "tools": {` + strings.Join(rules, ",") + `}}`))
	if err != nil || len(servers) != 1 || servers[0].Entry.Deny != nil || !slices.Contains(servers[0].Notes, "tools and permission are not taken over: more than 100 patterns") {
		t.Error(servers, err)
	}
}
