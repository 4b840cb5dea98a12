package middleware

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"rlmproxy/middleware/upstream"
)

func exposedNames(n *names) map[string]string {
	got := map[string]string{}
	for _, t := range n.all() {
		got[t.up.Name+"/"+t.tool.Name] = t.exposed
	}
	return got
}

func TestNamesDoNotCollide(t *testing.T) {
	tools := []string{"hub_x", "x", "a.b", "a_b", strings.Repeat("long", 30), strings.Repeat("long", 31), "ünï", "proxy_filter"}
	ups := []Upstream{
		{Name: "git", Prefix: "git", Conn: server(nil, tools...)},
		{Name: "git_hub", Prefix: "git_hub", Conn: server(nil, tools...)},
		{Name: "git.hub", Prefix: "git.hub", Conn: server(nil, tools...)},
		{Name: "bare", Conn: server(nil, tools...)},
	}
	got := exposedNames(newNames(ups))
	seen := map[string]string{"proxy_explore": "us", "proxy_filter": "us", "proxy_search": "us"}
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	for tool, name := range got {
		if other := seen[name]; other != "" {
			t.Errorf("%s and %s are both %s", tool, other, name)
		}
		if seen[name] = tool; !valid.MatchString(name) {
			t.Errorf("%s is %q, which model APIs refuse", tool, name)
		}
	}
	if len(got) != 4*len(tools) {
		t.Errorf("%d names, want %d", len(got), 4*len(tools))
	}
	for tool, want := range map[string]string{"git/x": "git_x", "git_hub/x": "git_hub_x", "git_hub/hub_x": "git_hub_hub_x", "bare/x": "x", "git/a_b": "git_a_b"} {
		if got[tool] != want {
			t.Errorf("%s is %s, want %s", tool, got[tool], want)
		}
	}
}

// TestNamesAreStable: which server came up first must not matter.
func TestNamesAreStable(t *testing.T) {
	git, hub := server(nil, "hub_x", "x"), server(nil, "hub_x", "x")
	ups := []Upstream{{Name: "git", Prefix: "git", Conn: git}, {Name: "git_hub", Prefix: "git_hub", Conn: hub}}
	want := exposedNames(newNames(ups))
	for _, late := range []*fake{git, hub} {
		n := newNames(ups)
		tools := late.tools
		late.tools = nil
		n.all()
		late.tools = tools
		for tool, name := range exposedNames(n) {
			if want[tool] != name {
				t.Errorf("%s is %s, in another order %s", tool, want[tool], name)
			}
		}
	}
}

func TestCallsReachTheRightTool(t *testing.T) {
	_, conn := dial(t, Options{Upstreams: []Upstream{
		{Name: "git", Prefix: "git", Conn: tagged("git", "hub_x", "x")},
		{Name: "git_hub", Prefix: "git_hub", Conn: tagged("git_hub", "hub_x", "x")},
	}})
	n := newNames([]Upstream{
		{Name: "git", Prefix: "git", Conn: server(nil, "hub_x", "x")},
		{Name: "git_hub", Prefix: "git_hub", Conn: server(nil, "hub_x", "x")},
	})
	var names []string
	for tool, name := range exposedNames(n) {
		names = append(names, name)
		if got := text(t, conn, name, `{}`); got != tool+"{}" {
			t.Errorf("%s reached %s, want %s", name, got, tool)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != 4 {
		t.Errorf("names %v, want four", names)
	}
}

func tagged(tag string, tools ...string) *fake {
	answers := map[string]string{}
	for _, tool := range tools {
		answers[tool] = string(textResult(tag + "/" + tool + "{}"))
	}
	return server(answers, tools...)
}

var _ Caller = (*upstream.Upstream)(nil)
