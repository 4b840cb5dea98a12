package middleware

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"rlmproxy/middleware/upstream"
)

// A silentServer never settles.
type silentServer struct{ *fake }

func (silentServer) Settled(ctx context.Context) { <-ctx.Done() }

// TestDownIsNamed: an agent that calls a tool of a server that is down reads that,
// and why.
func TestDownIsNamed(t *testing.T) {
	missing := errors.New("no such program")
	down := func(name, prefix string) Upstream {
		return Upstream{Name: name, Prefix: prefix, Conn: &fake{state: upstream.Failed, err: missing}}
	}
	listed := Upstream{Name: "was", Conn: &fake{state: upstream.Failed, err: missing, tools: server(nil, "read_file").tools, info: &upstream.Info{}}}
	up := Upstream{Name: "up", Prefix: "up", Conn: server(nil, "rows")}
	for _, c := range []struct {
		ups        []Upstream
		tool, want string
	}{
		{[]Upstream{down("a", "")}, "read_file", "upstream_unavailable: server \"a\" is not available: no such program\nhint: the proxy restarts it; try again"},
		{[]Upstream{down("a", "p")}, "read_file", "upstream_unavailable: server \"a\" is not available: no such program\nhint: the proxy restarts it; try again"},
		{[]Upstream{listed}, "raed_file", "unknown_tool: no tool \"raed_file\"; server \"was\" is not available: no such program\nhint: the nearest names are read_file"},
		{[]Upstream{up, down("a", "a")}, "a_x", "upstream_unavailable: server \"a\" is not available: no such program\nhint: the proxy restarts it; try again"},
		{[]Upstream{up, down("a", "a")}, "read_file", "unknown_tool: no tool \"read_file\"; server \"a\" is not available: no such program\nhint: the nearest names are up_rows"},
		{[]Upstream{up, down("a", "a")}, "up_rwos", "unknown_tool: no tool \"up_rwos\"\nhint: the nearest names are up_rows"},
		{[]Upstream{up}, "read_file", "unknown_tool: no tool \"read_file\"\nhint: the nearest names are up_rows"},
		{[]Upstream{up}, "proxy_grep", "unknown_tool: no tool \"proxy_grep\"\nhint: the nearest names are proxy_search, proxy_filter, proxy_explore"},
		{
			[]Upstream{down("a", "a"), down("b", "b"), down("c", "c"), down("d", "d"), down("e", "e")}, "x",
			`unknown_tool: no tool "x"; server "a" is not available: no such program; server "b" is not available: no such program; ` +
				`server "c" is not available: no such program; 2 other servers are not available either`,
		},
	} {
		_, conn := dial(t, Options{Upstreams: c.ups})
		d := decode(t, call(t, conn, c.tool, `{}`))
		code, _, _ := strings.Cut(c.want, ":")
		if !d.IsError || d.Content[0].Text != c.want || d.Meta.Error["code"] != code {
			t.Errorf("%s at %d servers:\n got %s\nwant %s", c.tool, len(c.ups), d.Content[0].Text, c.want)
		}
	}
}

// TestSilentServer: servers that never answer delay a call no longer than the
// first list, all together.
func TestSilentServer(t *testing.T) {
	silent := func(name, prefix string) Upstream {
		return Upstream{Name: name, Prefix: prefix, Conn: silentServer{&fake{state: upstream.Connecting}}}
	}
	for _, ups := range [][]Upstream{{silent("a", "")}, {silent("b", "x"), silent("a", "x_a")}} {
		const wait = 40 * time.Millisecond
		begun := time.Now()
		_, conn := dial(t, Options{Upstreams: ups, ListWait: wait, CallTimeout: time.Minute})
		d := decode(t, call(t, conn, "x_a_b", `{}`))
		want := "is not available: it is still connecting\nhint: try again in a moment, or use other tools"
		if !strings.HasPrefix(d.Content[0].Text, "upstream_unavailable: server ") || !strings.HasSuffix(d.Content[0].Text, want) {
			t.Errorf("%d servers: %s", len(ups), d.Content[0].Text)
		}
		if took := time.Since(begun); took < patience*wait || took > 20*time.Second {
			t.Errorf("%d servers: answered after %v", len(ups), took)
		}
		begun = time.Now()
		call(t, conn, "x_a_b", `{}`)
		if took := time.Since(begun); took < wait || took > 20*time.Second {
			t.Errorf("%d servers, later: answered after %v", len(ups), took)
		}
	}
}
