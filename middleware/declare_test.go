package middleware

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/upstream"
)

// TestUnknownCapabilitiesPass: what the SDK does not know of a client's and a
// server's capabilities reaches the other, in each revision.
func TestUnknownCapabilitiesPass(t *testing.T) {
	const declared = `{"tasks":{"list":{},"n":9007199254740993},"tools":{"listChanged":false,"future":1.0},"experimental":{"e":{"x":1.0}},"logging":{}}`
	for _, version := range []string{"2025-11-25", revision.Stateless} {
		t.Run(version, func(t *testing.T) {
			f := server(nil, "x")
			f.info = &upstream.Info{Declared: json.RawMessage(declared)}
			if err := json.Unmarshal(f.info.Declared, &f.info.Capabilities); err != nil {
				t.Fatal(err)
			}
			var can string
			f.raw = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
				can = string(r.Can)
				if r.Stateless {
					can = gjson.GetBytes(r.Params, "_meta").Get(`io\.modelcontextprotocol/clientCapabilities`).Raw
				}
				return textResult("ok"), nil
			}
			s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
			conn := rawClient(t, s, clientOptions{})
			const mine = `{"tasks":{"n":9007199254740993},"roots":{"z":1.0}}`
			var meta, got string
			if version == revision.Stateless {
				meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + mine + `}`
				got = ask(t, conn, "server/discover", `{`+meta+`}`)
				if gjson.Get(got, "resultType").String() != "complete" || !gjson.Get(got, "supportedVersions.0").Exists() || gjson.Get(got, `_meta.io\.modelcontextprotocol/serverInfo.name`).String() != "rlmproxy" {
					t.Errorf("discovered %s", got)
				}
			} else {
				meta = `"z":0`
				got = ask(t, conn, "initialize", `{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":`+mine+`}`)
				if gjson.Get(got, "protocolVersion").String() != version || gjson.Get(got, "serverInfo.name").String() != "rlmproxy" {
					t.Errorf("initialized %s", got)
				}
				if err := conn.Notify(t.Context(), "notifications/initialized", nil); err != nil {
					t.Fatal(err)
				}
			}
			for path, want := range map[string]string{
				"tasks": `{"list":{},"n":9007199254740993}`, "experimental": `{"e":{"x":1.0}}`, "tools.future": "1.0", "tools.listChanged": "true", "logging": "{}",
			} {
				if v := gjson.Get(got, "capabilities."+path).Raw; v != want {
					t.Errorf("%s is %s, want %s, in %s", path, v, want, got)
				}
			}
			if got := ask(t, conn, "tools/call", `{"name":"x","arguments":{},`+meta+`}`); gjson.Get(got, "content.0.text").String() != "ok" {
				t.Error(got)
			}
			if can != mine {
				t.Errorf("the server is told %s", can)
			}
		})
	}
}

// TestDeclaredIsBounded: what a server declares without end reaches no client.
func TestDeclaredIsBounded(t *testing.T) {
	f := server(nil, "x")
	f.info = &upstream.Info{Declared: json.RawMessage(`{"tools":{},"future":"` + strings.Repeat("x", maxDeclared) + `"}`)}
	if err := json.Unmarshal(f.info.Declared, &f.info.Capabilities); err != nil {
		t.Fatal(err)
	}
	s, _ := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	got := ask(t, rawClient(t, s, clientOptions{}), "initialize", `{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}}`)
	if len(got) > 8<<10 || !gjson.Get(got, "capabilities.tools").Exists() {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
}

// TestFirstClientIsDeclared: a server behind a pipe is told what its only client
// can do, whatever its revision.
func TestFirstClientIsDeclared(t *testing.T) {
	const mine = `{"elicitation":{"form":{}},"tasks":{"n":1}}`
	for version, first := range map[string]string{
		"2025-11-25": `{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":` + mine + `}`,
		"2026-07-28": `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + mine + `}}`,
	} {
		s, err := New(Options{Store: newStore(t)})
		if err != nil {
			t.Fatal(err)
		}
		method := "initialize"
		if version == revision.Stateless {
			method = "server/discover"
		}
		ask(t, rawClient(t, s, clientOptions{}), method, first)
		if got := string(s.ClientInfo()); got != `{"name":"c","version":"1"}` {
			t.Errorf("%s: the client is %s", method, got)
		}
		if got := string(s.ClientCapabilities(t.Context())); got != mine || s.ClientIsStateless() != (method != "initialize") {
			t.Errorf("%s: %s, newest: %t", version, got, s.ClientIsStateless())
		}
	}
}
