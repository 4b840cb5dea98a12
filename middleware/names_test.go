package middleware

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	got := exposedNames(namesOf(ups, slog.New(slog.DiscardHandler)))
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

// TestWhyHashed: an operator can read why a tool has not the name that it would have.
func TestWhyHashed(t *testing.T) {
	long := strings.Repeat("long", 16)
	n := namesOf([]Upstream{
		{Name: "git", Prefix: "git", Conn: server(nil, "hub_y", "x", long)},
		{Name: "git_hub", Prefix: "git_hub", Conn: server(nil, "x", "a.b", "a_b")},
		{Name: "git.hub", Prefix: "git.hub", Conn: server(nil, "x")},
		{Name: "bare", Conn: server(nil, "proxy_filter")},
	}, slog.New(slog.DiscardHandler))
	got := map[string]string{}
	for _, target := range n.all() {
		why, tooLong := n.why(target)
		got[target.up.Name+"/"+target.tool.Name] = why
		if tooLong != (target.tool.Name == long) {
			t.Errorf("%s: too long %v", target.tool.Name, tooLong)
		}
	}
	want := map[string]string{
		"git/hub_y": "git_hub_y also fits the prefix of another server", "git/x": "",
		"git/" + long: "git_" + long[:60] + " has 68 characters; 64 are allowed",
		"git_hub/x":   "", "git_hub/a_b": "", "git_hub/a.b": "",
		"git.hub/x":         `server "git_hub" has a tool git_hub_x, too`,
		"bare/proxy_filter": "proxy_filter is a tool of the proxy",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNamesAreStable: which server came up first must not matter.
func TestNamesAreStable(t *testing.T) {
	git, hub := server(nil, "hub_x", "x"), server(nil, "hub_x", "x")
	ups := []Upstream{{Name: "git", Prefix: "git", Conn: git}, {Name: "git_hub", Prefix: "git_hub", Conn: hub}}
	want := exposedNames(namesOf(ups, slog.New(slog.DiscardHandler)))
	for _, late := range []*fake{git, hub} {
		n := namesOf(ups, slog.New(slog.DiscardHandler))
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
	n := namesOf([]Upstream{
		{Name: "git", Prefix: "git", Conn: server(nil, "hub_x", "x")},
		{Name: "git_hub", Prefix: "git_hub", Conn: server(nil, "hub_x", "x")},
	}, slog.New(slog.DiscardHandler))
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

// TestOrderDecides: of two servers with tools of one name, the first in the configuration
// has it, whichever connects first and however often; the other's tool is always reached by
// one and the same name. It was the one that connected first.
func TestOrderDecides(t *testing.T) {
	tools := []string{"x", "a.b", "only", strings.Repeat("long", 30)}
	var want map[string]string
	for _, late := range []string{"", "first", "second", "third"} {
		var log bytes.Buffer
		first, second, third := server(nil, tools...), server(nil, tools...), server(nil, append(tools, "own")...)
		ups := []Upstream{{Name: "first", Conn: first}, {Name: "second", Conn: second}, {Name: "third", Conn: third}}
		n := namesOf(ups, slog.New(slog.NewTextHandler(&log, nil)))
		for _, f := range map[string]*fake{"first": first, "second": second, "third": third} {
			if up := ups[slices.Index([]*fake{first, second, third}, f)]; up.Name == late {
				list := f.tools
				f.tools = nil
				n.all()
				f.tools = list
			}
		}
		got := exposedNames(n)
		if want == nil {
			want = got
			for tool, name := range map[string]string{"first/x": "x", "first/a.b": "a_b", "third/own": "own", "second/x": "x_" + hashed("second\x00x")} {
				if got[tool] != name {
					t.Errorf("%s is %s, want %s", tool, got[tool], name)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %s late (-want +got):\n%s", late, diff)
		}
		for tool, name := range got {
			found, ok := n.find(name)
			if !ok || found.up.Name+"/"+found.tool.Name != tool {
				t.Errorf("with %s late, %s reaches %+v, want %s", late, name, found, tool)
			}
		}
		for _, names := range []string{"first=first second=second", "first=first second=third"} {
			if c := strings.Count(log.String(), names); c != 1 || !strings.Contains(log.String(), "x is now "+want["second/x"]) {
				t.Errorf("with %s late, logged %d times:\n%s", late, c, &log)
			}
		}
	}
}

// TestStableNames: the name with the hash reaches a tool while it has its bare name too, and
// no other tool can take it by bearing it.
func TestStableNames(t *testing.T) {
	stable := "x_" + hashed("second\x00x")
	first, second, third := server(nil, stable), server(nil, "x"), server(nil, "x")
	n := namesOf([]Upstream{{Name: "first", Conn: first}, {Name: "second", Conn: second}, {Name: "third", Conn: third}}, slog.New(slog.DiscardHandler))
	got := exposedNames(n)
	want := map[string]string{"first/" + stable: stable + "_" + hashed("first\x00"+stable), "second/x": "x", "third/x": "x_" + hashed("third\x00x")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if found, ok := n.find(stable); !ok || found.up.Name != "second" {
		t.Errorf("%s reaches %+v", stable, found)
	}
}

// TestNamesAreBounded: a server that renames its tools without end does not fill the memory,
// and what it has now is reached.
func TestNamesAreBounded(t *testing.T) {
	f := server(nil)
	n := namesOf([]Upstream{{Name: "a", Conn: f}, {Name: "b", Conn: server(nil, "x")}}, slog.New(slog.DiscardHandler))
	for i := range 12 {
		f.tools = nil
		for j := range 5000 {
			f.tools = append(f.tools, upstream.Tool{Name: fmt.Sprintf("t%d_%d", i, j)})
		}
		n.all()
	}
	if len(n.seen["a"]) > maxSeen+5000 || len(n.given) > maxSeen+6000 {
		t.Errorf("%d tools and %d names are remembered", len(n.seen["a"]), len(n.given))
	}
	for _, name := range []string{"t11_4999", "x"} {
		if _, ok := n.find(name); !ok {
			t.Errorf("%s is not found", name)
		}
	}
}

// A lateTools server has connected, and has tools, once somebody has waited for it.
type lateTools struct {
	*fake
	list []upstream.Tool
}

func (l lateTools) Settled(context.Context) {
	l.state, l.tools, l.info = upstream.Ready, l.list, &upstream.Info{}
}

// TestCallWaitsForTheFirst: a call that comes while the first server connects goes to that,
// as all later ones do.
func TestCallWaitsForTheFirst(t *testing.T) {
	first := server(nil)
	first.state = upstream.Connecting
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{
		{Name: "first", Conn: lateTools{first, server(nil, "x").tools}}, {Name: "second", Conn: server(nil, "x")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, server string }{{"x_" + hashed("second\x00x"), "second"}, {"x", "first"}, {"x", "first"}} {
		if found, err := s.find(t.Context(), s.everything(), c.name); err != nil || found.up.Name != c.server {
			t.Errorf("%s reaches %+v, want that of %s: %v", c.name, found, c.server, err)
		}
	}
}

// TestUnmatchedGlobs: a glob that matches no tool is told of once, however often the list
// changes. Nobody heard that a deny denied nothing.
func TestUnmatchedGlobs(t *testing.T) {
	var log bytes.Buffer
	f := server(nil)
	s, _ := dial(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Upstreams: []Upstream{{
		Name: "a", Conn: f, Allow: []string{"*"}, Deny: []string{"delete_*", "wirte"}, Fresh: []string{"red_*"}, Tools: map[string]Policy{"tere": {}, "tree": {}},
	}}})
	s.ListsChanged("a") // without tools yet
	for _, list := range [][]string{{"delete_x", "tree"}, {"tree"}, {"other"}, {"write"}} {
		f.tools = nil
		for _, name := range list {
			f.tools = append(f.tools, upstream.Tool{Name: name, Raw: []byte(`{"name":"` + name + `"}`)})
		}
		s.ListsChanged("a")
	}
	var got []string
	for _, m := range regexp.MustCompile(`level=WARN .* server=a setting=(\S+) glob=(\S+) `).FindAllStringSubmatch(log.String(), -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if want := []string{"deny wirte", "freshCalls red_*", "tools tere"}; !slices.Equal(got, want) {
		t.Errorf("told of %q, want %q\n%s", got, want, &log)
	}
}

// TestPromptsKeepAName: a prompt is reached by its name with the hash whether or not the
// server before it, which has one of the same name, is there.
func TestPromptsKeepAName(t *testing.T) {
	list := []upstream.Tool{{Name: "p", Raw: []byte(`{"name":"p"}`)}}
	for _, firsts := range [][]upstream.Tool{nil, list} {
		first, second := server(nil), server(nil)
		first.prompts, second.prompts = firsts, list
		s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "first", Conn: first}, {Name: "second", Conn: second}}})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"p_" + hashed("second\x00p"): "second", "p": map[bool]string{true: "first", false: "second"}[firsts != nil]} {
			if p, err := s.findPrompt(t.Context(), s.everything(), name); err != nil || p.up.Name != want {
				t.Errorf("%s reaches %+v, want that of %s: %v", name, p, want, err)
			}
		}
	}
}

func pointers(ups []Upstream) (list []*Upstream) {
	for i := range ups {
		list = append(list, &ups[i])
	}
	return list
}

func namesOf(ups []Upstream, logger *slog.Logger) *names {
	var servers atomic.Pointer[serverSet]
	servers.Store(newServerSet(pointers(ups), nil))
	return newNames(&servers, logger)
}
