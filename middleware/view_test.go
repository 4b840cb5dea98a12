//lint:file-ignore SA1019 clients and servers of the older revisions still use logging

package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/upstream"
)

// A shop is servers with tools, prompts and resources, of which an agent sees a part.
var shop = map[string][]string{
	"fs": {"read", "list", "delete", "delete_all"}, "db": {"query", "read", "drop"}, "wiki": {"read", "edit"}, "docs": nil,
}

var shopServers = []string{"fs", "db", "wiki", "docs"}

// shopUpstreams are the servers with those of their tools that are to be there. In the place
// of one that is not to be seen is one that has nothing.
func shopUpstreams(there func(server, tool string) bool, seen func(server string) bool) (ups []Upstream) {
	for _, name := range shopServers {
		var tools []string
		for _, tool := range shop[name] {
			if there(name, tool) {
				tools = append(tools, tool)
			}
		}
		f := server(nil, tools...)
		f.told = make(chan string, 10)
		f.info = &upstream.Info{Capabilities: &mcp.ServerCapabilities{}}
		if seen(name) {
			f.info.Instructions = "how to use " + name
			f.info.Capabilities = &mcp.ServerCapabilities{Resources: &mcp.ResourceCapabilities{Subscribe: true}, Prompts: &mcp.PromptCapabilities{}, Completions: &mcp.CompletionCapabilities{}, Logging: &mcp.LoggingCapabilities{}}
			f.prompts = []upstream.Tool{{Name: "ask", Raw: json.RawMessage(`{"name":"ask"}`)}}
		}
		f.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
			switch r.Method {
			case "resources/list":
				return json.RawMessage(`{"resources":[{"uri":"a:` + name + `","name":"r"}]}`), nil
			case "resources/templates/list":
				return json.RawMessage(`{"resourceTemplates":[{"uriTemplate":"a:` + name + `/{x}","name":"t"}]}`), nil
			case "resources/read":
				if !strings.Contains(string(r.Params), "a:"+name) {
					return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such resource"}
				}
				return json.RawMessage(`{"contents":[]}`), nil
			}
			return json.RawMessage(`{"by":"` + name + `"}`), nil
		}
		if !seen(name) {
			name = "gone." + name // and whatever its name would reach
		}
		ups = append(ups, Upstream{Name: name, Prefix: name, Conn: f, TrustHints: true})
	}
	return ups
}

// said is the answer to a request as its client reads it.
func said(t testing.TB, conn client, method, params string) string {
	raw, err := conn.Call(t.Context(), method, json.RawMessage(params))
	if err != nil {
		var e *jsonrpc.Error
		if data, ok := err.(*jsonrpc.Error); ok {
			e = data
			return fmt.Sprintf("error %d %s %s", e.Code, e.Message, e.Data)
		}
		return "error " + err.Error()
	}
	return string(raw)
}

// allPages is what is said with that of all further pages, without their cursors, of which
// the last may lead to an empty page.
func allPages(t testing.TB, conn client, method, params string) (all string) {
	for {
		got := said(t, conn, method, params)
		page, rest, more := strings.Cut(got, `,"nextCursor":"`)
		cursor, _, _ := strings.Cut(rest, `"`)
		if !strings.HasSuffix(page, ":[]") && !strings.HasSuffix(page, ":[]}") || all == "" {
			all += strings.TrimSuffix(page, "}")
		}
		if !more {
			return all
		}
		params = `{"cursor":"` + cursor + `"}`
	}
}

// shopRequests are what an agent may ask: of each server and tool, and of some that nobody
// has.
func shopRequests() (all [][2]string) {
	add := func(method, format string, args ...any) {
		all = append(all, [2]string{method, fmt.Sprintf(format, args...)})
	}
	for _, list := range []string{"tools", "prompts", "resources", "resources/templates"} {
		add(list+"/list", `{}`)
	}
	for _, server := range append(shopServers, "nobody") {
		for _, tool := range append(shop[server], "none") {
			add("tools/call", `{"name":"%s_%s","arguments":{}}`, server, tool)
			add("tools/call", `{"name":"%s_%s","arguments":{}}`, server, tool+"_"+hashed(server+"\x00"+tool))
			add("tools/call", `{"name":"proxy_filter","arguments":{"tool":"%s_%s","arguments":{}}}`, server, tool)
		}
		add("prompts/get", `{"name":"%s_ask"}`, server)
		add("resources/read", `{"uri":"s-%s+a:%[1]s"}`, server)
		add("resources/read", `{"uri":"a:%s"}`, server)
		add("resources/subscribe", `{"uri":"s-%s+a:%[1]s"}`, server)
		add("completion/complete", `{"ref":{"type":"ref/prompt","name":"%s_ask"}}`, server)
		add("completion/complete", `{"ref":{"type":"ref/resource","uri":"s-%s+a:{x}"}}`, server)
	}
	add("future/method", `{}`)
	add("logging/setLevel", `{"level":"info"}`)
	return all
}

// TestRightsHide: for any rights, every answer is byte for byte what it would be if what the
// agent may not use did not exist, and names nothing of it.
func TestRightsHide(t *testing.T) {
	globs := []string{"*", "fs_*", "fs_read", "*_read", "*_delete*", "db_*", "db_query", "wiki_[er]*", "docs_*", "nobody_*"}
	store := newStore(t)
	rapid.Check(t, func(rt *rapid.T) {
		entry := rights.Entry{Deny: rapid.SliceOfN(rapid.SampledFrom(globs), 0, 3).Draw(rt, "deny")}
		if rapid.Bool().Draw(rt, "allows") {
			entry.Allow = rapid.SliceOfN(rapid.SampledFrom(globs), 0, 3).Draw(rt, "allow")
		}
		rules := &rights.Rules{Agents: map[string]rights.Entry{"alice": entry, "root": {}}}
		grant := rules.Of(rights.Who{Agent: "alice"})
		allowed := func(server, tool string) bool {
			return grant.Allows(rights.Name{Listed: server + "_" + tool, Bare: server + "_" + tool})
		}
		seen := func(server string) bool {
			tools := append([]string(nil), shop[server]...)
			if tools == nil {
				tools = []string{""}
			}
			return slices.ContainsFunc(tools, func(tool string) bool { return allowed(server, tool) })
		}
		var conns []client
		every := func(string) bool { return true }
		for _, opts := range []Options{
			{Store: store, Rights: rules, Upstreams: shopUpstreams(func(string, string) bool { return true }, every)},
			{Store: store, Upstreams: shopUpstreams(allowed, seen)},
		} {
			s, err := New(opts)
			if err != nil {
				rt.Fatal(err)
			}
			defer s.Close()
			conns = append(conns, attach(t, s, Identity{Subject: "token:alice", Who: rights.Who{Agent: "alice"}}, clientOptions{}))
		}
		hello := `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
		forbidden := regexp.MustCompile(`^$`)
		var names []string
		for _, server := range shopServers {
			for _, tool := range shop[server] {
				if !allowed(server, tool) {
					names = append(names, server+"_"+tool)
				}
			}
			if !seen(server) {
				names = append(names, "s-"+server, "to use "+server, `"`+server+`"`)
			}
		}
		if names != nil {
			forbidden = regexp.MustCompile(`\b(?:` + strings.Join(names, "|") + `)\b`)
		}
		for _, r := range append([][2]string{{"initialize", hello}}, shopRequests()...) {
			got, want := allPages(t, conns[0], r[0], r[1]), allPages(t, conns[1], r[0], r[1])
			if got != want {
				rt.Fatalf("%s %s\n got %s\nwant %s", r[0], r[1], got, want)
			}
			for _, name := range forbidden.FindAllString(got, -1) {
				if name != "" && !strings.Contains(r[1], name) {
					rt.Fatalf("%s %s names %s: %s", r[0], r[1], name, got)
				}
			}
		}
	})
}

// TestRightsAtTheStart: before it is known what servers have, a tool that an agent may use
// is waited for, and its server named if it is away; another is unknown at once.
func TestRightsAtTheStart(t *testing.T) {
	f := server(nil)
	f.state, f.err = upstream.Failed, fmt.Errorf("exit status 1")
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "fs", Prefix: "fs", Conn: f}, {Name: "db", Prefix: "db", Conn: server(nil, "read")}},
		Rights: &rights.Rules{Agents: map[string]rights.Entry{"alice": {Allow: []string{"fs_read*"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn := attach(t, s, Identity{Who: rights.Who{Agent: "alice"}}, clientOptions{})
	conn.initialize(t, nil)
	for tool, want := range map[string]string{
		"fs_read":   "upstream_unavailable: ",
		"fs_delete": "unknown_tool: no tool \"fs_delete\"",
		"db_read":   "unknown_tool: no tool \"db_read\"",
	} {
		if got := text(t, conn, tool, `{}`); !strings.HasPrefix(got, want) || want[:7] == "unknown" && got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
}

// TestRightsOfOneServer: what the proxy does not know passes to the only server there is
// from those only who may use all of it.
func TestRightsOfOneServer(t *testing.T) {
	f := server(nil, "read", "delete")
	f.told = make(chan string, 10)
	f.info = &upstream.Info{Capabilities: &mcp.ServerCapabilities{}, Declared: json.RawMessage(`{"tasks":{}}`)}
	f.answer = func(context.Context, upstream.Request) (json.RawMessage, error) {
		return json.RawMessage(`{"ran":1}`), nil
	}
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f}},
		Rights: &rights.Rules{Agents: map[string]rights.Entry{"alice": {Allow: []string{"read"}}, "root": {}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for agent, want := range map[string]bool{"alice": false, "root": true} {
		conn := attach(t, s, Identity{Subject: agent, Who: rights.Who{Agent: agent}}, clientOptions{})
		hello := said(t, conn, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
		ran := said(t, conn, "future/run", `{"name":"delete"}`)
		if strings.Contains(hello, "tasks") != want || strings.Contains(ran, "ran") != want {
			t.Errorf("%s: %s %s", agent, hello, ran)
		}
	}
}

// TestRightsHearing: log lines, changed lists and resources of a server reach those who see
// it; who may use what can change while they are there.
func TestRightsHearing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		cached := newStore(t)
		defer cached.Close()
		ups := shopUpstreams(func(string, string) bool { return true }, func(string) bool { return true })
		only := func(glob string) *rights.Rules {
			return &rights.Rules{Agents: map[string]rights.Entry{"alice": {Allow: []string{glob}}, "root": {}}}
		}
		s, err := New(Options{Store: cached, Upstreams: ups, Rights: only("fs_*"), Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		heard := make(chan string, 100)
		conn := clientAs(t, s, Identity{Subject: "token:alice", Who: rights.Who{Agent: "alice"}}, heard)
		expect := func(what string, want ...string) {
			t.Helper()
			time.Sleep(time.Second)
			var got []string
			for len(heard) > 0 {
				got = append(got, strings.TrimSpace(<-heard))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: heard %q, want %q", what, got, want)
			}
		}
		said(t, conn, "resources/subscribe", `{"uri":"s-fs+a:fs"}`)
		for _, name := range shopServers {
			s.ListsChanged(name)
		}
		expect("servers connect")
		for _, name := range []string{"db", "fs"} {
			s.upstream(name).Conn.(*fake).change()
			s.Tell(t.Context(), name, "notifications/message", json.RawMessage(`{"level":"error","data":"`+name+`"}`))
			s.Tell(t.Context(), name, "notifications/resources/updated", json.RawMessage(`{"uri":"a:`+name+`"}`))
			s.Tell(t.Context(), name, "notifications/resources/list_changed", nil)
			s.ListsChanged(name)
			if name == "db" {
				expect("what db tells")
			}
		}
		expect("what fs tells", `notifications/message {"level":"error","data":"fs"}`, `notifications/resources/updated {"uri":"s-fs+a:fs"}`,
			`notifications/prompts/list_changed {}`, `notifications/resources/list_changed {}`, `notifications/tools/list_changed {}`)
		if _, err := s.Ask(t.Context(), "db", "roots/list", nil); err == nil || strings.Contains(err.Error(), "several") {
			t.Errorf("db asks whom it may not know: %v", err)
		}

		s.SetRights(only("db_*"))
		lists := []string{`notifications/tools/list_changed {}`, `notifications/prompts/list_changed {}`, `notifications/resources/list_changed {}`}
		expect("other rights", lists...)
		s.Tell(t.Context(), "fs", "notifications/resources/updated", json.RawMessage(`{"uri":"a:fs"}`))
		expect("what fs tells now")
		if got := said(t, conn, "tools/list", `{}`); strings.Contains(got, "fs_") || !strings.Contains(got, "db_drop") {
			t.Errorf("%s", got)
		}
		s.SetRights(only("db_*"))
		expect("the same rights")
		s.SetRights(nil)
		expect("all rights", lists...)

		// A misspelt glob is told of, once.
		s.SetRights(only("fs_raed"))
		s.ListsChanged("fs")
		if got := strings.Count(log.String(), `setting=agents.alice.allow glob=fs_raed`); got != 1 {
			t.Errorf("told %d times: %s", got, &log)
		}
	})
}

// TestRightsHeldBack: a tool that is held back is unknown to who may not use it.
func TestRightsHeldBack(t *testing.T) {
	dir := t.TempDir()
	f := server(nil, "secret", "rest")
	f.info = &upstream.Info{}
	_, pins := pinned(t, dir)
	pins.Check(f.tools, func(string) bool { return true })
	f.tools[0].Raw = bytes.Replace(f.tools[0].Raw, []byte(`"inputSchema"`), []byte(`"description":"evil","inputSchema"`), 1)
	_, pins = pinned(t, dir)
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f, Pins: pins}},
		Rights: &rights.Rules{Agents: map[string]rights.Entry{"alice": {Allow: []string{"rest"}}, "root": {}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for agent, want := range map[string]bool{"alice": false, "root": true} {
		conn := attach(t, s, Identity{Subject: agent, Who: rights.Who{Agent: agent}}, clientOptions{})
		all := said(t, conn, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`) +
			strings.ReplaceAll(said(t, conn, "tools/call", `{"name":"secret"}`), `no tool \"secret\"`, "")
		if strings.Contains(all, "secret") != want || strings.Contains(all, "held") != want {
			t.Errorf("%s: %s", agent, all)
		}
	}
}

// clientAs is a client that is initialized and hears into a channel.
func clientAs(t *testing.T, s *Server, who Identity, heard chan string) client {
	conn := attach(t, s, who, hears(heard, ""))
	conn.initialize(t, nil)
	return conn
}
