package middleware

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/stats"
	"rlmproxy/middleware/upstream"
)

// counted are options of a proxy that counts.
func counted(opts Options) Options {
	r := stats.New(stats.Options{})
	opts.Observers, opts.Listed, opts.Stats = []observe.Observer{r}, r.Listed, r.Report
	return opts
}

// TestStats: the tool and the resource are told of where they are switched on, and the
// resource answers in any case.
func TestStats(t *testing.T) {
	files := server(nil, "read")
	files.info = &upstream.Info{Capabilities: &mcp.ServerCapabilities{Resources: &mcp.ResourceCapabilities{}}}
	files.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		if r.Method == "resources/list" {
			return json.RawMessage(`{"resources":[{"uri":"rlmproxy://stats","name":"mine"}],"nextCursor":"more"}`), nil
		}
		return json.RawMessage(`{"contents":[{"uri":"rlmproxy://stats","text":"forged"}]}`), nil
	}
	for _, tt := range []struct {
		name string
		on   bool
		ups  []Upstream
	}{
		{"off", false, []Upstream{{Name: "files", Conn: files}}},
		{"on", true, []Upstream{{Name: "files", Conn: files}}},
		{"on, with two servers", true, []Upstream{{Name: "files", Prefix: "files", Conn: files}, {Name: "shop", Prefix: "shop", Conn: orders()}}},
		{"on, with a server without resources", true, []Upstream{{Name: "shop", Prefix: "shop", Conn: orders()}}},
	} {
		opts := counted(Options{StatsTool: tt.on, Upstreams: tt.ups})
		_, conn := dial(t, opts)
		call(t, conn, tt.ups[0].Conn.Tools()[0].Name, `{}`)
		list := ask(t, conn, "tools/list", `{}`)
		if got := strings.Contains(list, `"proxy_stats"`); got != tt.on {
			t.Errorf("%s: proxy_stats listed: %t", tt.name, got)
		}
		resources := ask(t, conn, "resources/list", `{}`)
		if got := gjson.Get(resources, `resources.#(name=="rlmproxy-stats").uri`).String() == statsURI; got != tt.on {
			t.Errorf("%s: resource listed: %t: %s", tt.name, got, resources)
		}
		if cursor := gjson.Get(resources, "nextCursor"); cursor.Exists() {
			if next := ask(t, conn, "resources/list", `{"cursor":`+cursor.Raw+`}`); strings.Contains(next, "rlmproxy-stats") {
				t.Errorf("%s: on two pages: %s", tt.name, next)
			}
		}
		read := gjson.Get(ask(t, conn, "resources/read", `{"uri":"rlmproxy://stats"}`), "contents.0")
		if read.Get("mimeType").String() != "application/json" || gjson.Get(read.Get("text").String(), "total.calls").Int() != 1 {
			t.Errorf("%s: read %s", tt.name, read)
		}
		got := text(t, conn, "proxy_stats", `{}`)
		if want := "unknown_tool: proxy_stats is switched off\nhint: the operator can set \"enableStatsTool\" in proxySettings"; !tt.on && got != want {
			t.Errorf("%s: %s", tt.name, got)
		}
		if tt.on && !strings.Contains(got, " in 2 calls since ") {
			t.Errorf("%s: %s", tt.name, got)
		}
		if got := text(t, conn, "proxy_stats", `{"server":"x"}`); tt.on && !strings.HasPrefix(got, "bad_arguments: proxy_stats: no parameter \"server\"\nhint: a right call: proxy_stats {}") {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	_, conn := dial(t, Options{StatsTool: true})
	if got, err := conn.Call(t.Context(), "resources/read", json.RawMessage(`{"uri":"rlmproxy://stats"}`)); err == nil {
		t.Errorf("a proxy that counts nothing: %s", got)
	}
	if got := ask(t, conn, "tools/list", `{}`); strings.Contains(got, "proxy_stats") {
		t.Errorf("a proxy that counts nothing: %s", got)
	}
}

// TestStatsHaveRights: what an agent may not use is not in its figures.
func TestStatsHaveRights(t *testing.T) {
	opts := counted(Options{StatsTool: true, Upstreams: []Upstream{
		{Name: "shop", Prefix: "shop", Conn: orders()}, {Name: "files", Prefix: "files", Conn: server(nil, "read")},
	}})
	s, conn := dial(t, opts)
	call(t, conn, "shop_set_price", `{}`)
	call(t, conn, "shop_get_order", `{"number":1}`)
	call(t, conn, "files_read", `{}`)
	call(t, conn, "nobody_has_this", `{}`)
	s.SetRights(&rights.Rules{Agents: map[string]rights.Entry{"*": {Allow: []string{"shop_get_*"}}}})
	text := text(t, conn, "proxy_stats", `{}`)
	report := gjson.Get(ask(t, conn, "resources/read", `{"uri":"rlmproxy://stats"}`), "contents.0.text").String()
	for _, hidden := range []string{"set_price", "files", "unknown", "proxy_", "net of"} {
		if strings.Contains(text+report, hidden) {
			t.Errorf("%s in %s\n%s", hidden, text, report)
		}
	}
	if gjson.Get(report, "total.calls").Int() != 1 || gjson.Get(report, "tools.#").Int() != 1 || gjson.Get(report, "hours.#").Int() != 0 || !strings.Contains(text, "shop_get_order: 1 0 ") {
		t.Errorf("got %s\n%s", text, report)
	}
}
