package auth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSessionsOfOthers goes through the SDK's handler over a real connection:
// a session answers the agent that began it and nobody else.
func TestSessionsOfOthers(t *testing.T) {
	const bobs = "another-token-of-bob"
	g, log := newGuard(t, Options{Tokens: []Token{{"alice", secret}, {"bob", bobs}}})
	server := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(g.Wrap(handler))
	defer web.Close()

	post := func(token, session, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, web.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := web.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	begin := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	if resp := post("", "", begin); resp.StatusCode != 401 {
		t.Errorf("without a token: status %d", resp.StatusCode)
	}
	resp := post(secret, "", begin)
	session := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != 200 || session == "" {
		t.Fatalf("initialize: status %d, session %q\n%s", resp.StatusCode, session, log)
	}
	ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	for _, tt := range []struct {
		who, token string
		status     int
	}{{"alice", secret, 200}, {"bob", bobs, 403}, {"nobody", "", 401}} {
		if resp := post(tt.token, session, ping); resp.StatusCode != tt.status {
			t.Errorf("%s: status %d, want %d", tt.who, resp.StatusCode, tt.status)
		}
	}
}
