package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestWrapSendsHeaders: --header reaches the server with its variables replaced,
// and no log.
func TestWrapSendsHeaders(t *testing.T) {
	var right, wrong atomic.Int64
	asked := make(chan struct{}, 100)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer sesame" && r.Header.Get("X-Two") == "2" {
			right.Add(1)
		} else {
			wrong.Add(1)
		}
		w.WriteHeader(http.StatusUnauthorized)
		asked <- struct{}{}
	}))
	defer web.Close()
	t.Setenv("WRAP_TOKEN", "sesame")
	stdin, end := io.Pipe()
	go func() {
		select {
		case <-asked:
		case <-time.After(20 * time.Second):
		}
		fmt.Fprint(end, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`+"\n")
		end.Close()
	}()
	var stdout, stderr strings.Builder
	args := []string{"wrap", "--log-level", "debug", "--url", web.URL + "/mcp", "--header", "Authorization: Bearer ${WRAP_TOKEN}", "--header", "X-Two: 2"}
	if code := run(args, stdin, &stdout, &stderr); code != exitOK || right.Load() == 0 || wrong.Load() > 0 {
		t.Errorf("exit code %d, %d requests with the headers, %d without: %s", code, right.Load(), wrong.Load(), stderr.String())
	}
	if strings.Contains(stderr.String(), "sesame") {
		t.Errorf("the log has the value: %s", stderr.String())
	}
}

// TestCallURL: tools and call reach the server at a URL, with headers, and say nothing besides.
func TestCallURL(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "small", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "1.0"}}}, nil
	})
	serve := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		serve.ServeHTTP(w, r)
	}))
	defer web.Close()
	t.Setenv("CALL_TOKEN", "sesame")
	t.Setenv("RLMPROXY_E2E", "") // which is put back at the end
	os.Unsetenv("RLMPROXY_E2E")  // it is no setting, and would be warned of
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"tools"}, "small "},
		{[]string{"tools", "--json"}, `"name":"small"}`},
		{[]string{"call", "small"}, "1.0"},
		{[]string{"call", "--json", "small"}, `{"content":[{"type":"text","text":"1.0"}]`},
	} {
		var stdout, stderr strings.Builder
		code := run(append(tt.args, "--url", web.URL, "--header", "Authorization: Bearer ${CALL_TOKEN}"), strings.NewReader(""), &stdout, &stderr)
		if code != exitOK || !strings.Contains(stdout.String(), tt.want) || stderr.Len() > 0 {
			t.Errorf("%q: exit code %d: %s%s", tt.args, code, &stdout, &stderr)
		}
	}
}
