package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestStateless: a server that speaks the stateless revision only, as the SDK
// has it, with the headers that it checks.
func TestStateless(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "r", Version: "1"}, &mcp.ServerOptions{
		Instructions: "be quick", SupportedProtocolVersions: []string{"2026-07-28"},
	})
	schema := json.RawMessage(`{"type":"object","properties":{
		"who":{"type":"string","x-mcp-header":"Who"},
		"in":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
		"yes":{"type":"boolean","x-mcp-header":"Yes"},
		"not":{"type":"string","x-mcp-header":"Not"}}}`)
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	gone := make(chan struct{})
	server.AddTool(&mcp.Tool{Name: "hang", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		close(gone)
		return nil, ctx.Err()
	})
	server.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	server.AddResource(&mcp.Resource{URI: "file:///a", Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "file:///a", Text: "x"}}}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	var mu sync.Mutex
	var seen []http.Header
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header)
		mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	defer web.Close()
	defer web.CloseClientConnections()
	changed := make(chan struct{}, 10)
	u := New(Options{Name: "r", Dial: Remote(web.URL, "http", nil), Changed: func() { changed <- struct{}{} }})
	defer u.Close()
	u.Settled(t.Context())
	if info := u.Info(); info == nil || info.ProtocolVersion != "2026-07-28" || info.Instructions != "be quick" || info.ServerInfo == nil || info.ServerInfo.Name != "r" {
		t.Fatalf("info %+v", info)
	}
	if len(u.Prompts()) != 1 || len(u.Tools()) != 2 {
		t.Errorf("prompts %v, tools %v", u.Prompts(), u.Tools())
	}
	for _, args := range []string{
		`{"who":"é <b>","in":{"n":1.0},"yes":true,"not":null}`,
		`{"who":" x ","in":{"n":-9007199254740991}}`,
		`{"who":"=?base64?eA==?=","yes":false}`,
		`{}`,
	} {
		got, err := call(t, u, "echo", args)
		want, _ := json.Marshal(args)
		if err != nil || !strings.Contains(got, strings.Trim(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(want)), `"`)) && !strings.Contains(got, string(want)) {
			t.Errorf("%s: %s, %v", args, got, err)
		}
	}
	for method, params := range map[string]string{
		"prompts/get": `{"name":"p"}`, "resources/read": `{"uri":"file:///a"}`, "resources/list": `{}`,
	} {
		if _, err := u.Call(t.Context(), Request{Method: method, Params: json.RawMessage(params)}); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, cause)
	defer cancel()
	if _, err := u.Call(ctx, toolCall("hang", "{}")); !errors.Is(err, cause) {
		t.Errorf("hang: %v", err)
	}
	receive(t, "the end of the call at the server", gone)
	receive(t, "the first list", changed)
	server.RemoveTools("hang")
	receive(t, "a change", changed)
	if len(u.Tools()) != 1 {
		t.Errorf("tools %v", u.Tools())
	}
	mu.Lock()
	defer mu.Unlock()
	for _, h := range seen[2:] { // behind initialize, which the SDK answers, and what follows, which it refuses
		if h.Get("Mcp-Protocol-Version") != "2026-07-28" || h.Get("Mcp-Session-Id") != "" || h.Get("Mcp-Method") == "" || h.Get("Mcp-Method") == "notifications/cancelled" {
			t.Errorf("headers %v", h)
		}
	}
}
