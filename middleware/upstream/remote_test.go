package upstream

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// remoteServer is an SDK server with a tool that answers with its arguments and
// one that waits for the end of its call.
func remoteServer(cancelled chan<- struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "r", Version: "1"}, nil)
	schema := map[string]any{"type": "object"}
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1})
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "hang", InputSchema: schema}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	})
	return s
}

func TestRemote(t *testing.T) {
	for _, tt := range []struct {
		name, transport string
		handler         func(get func(*http.Request) *mcp.Server) http.Handler
	}{
		{"streamable", "http", func(get func(*http.Request) *mcp.Server) http.Handler { return mcp.NewStreamableHTTPHandler(get, nil) }},
		{"streamable JSON", "", func(get func(*http.Request) *mcp.Server) http.Handler {
			return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{JSONResponse: true})
		}},
		{"SSE", "sse", func(get func(*http.Request) *mcp.Server) http.Handler { return mcp.NewSSEHandler(get, nil) }},
		{"SSE found out", "", func(get func(*http.Request) *mcp.Server) http.Handler { return mcp.NewSSEHandler(get, nil) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cancelled := make(chan struct{})
			server := remoteServer(cancelled)
			handler := tt.handler(func(*http.Request) *mcp.Server { return server })
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer t" {
					http.Error(w, "no", http.StatusUnauthorized)
					return
				}
				handler.ServeHTTP(w, r)
			}))
			defer web.Close()
			defer web.CloseClientConnections()
			u := New(Options{Name: "r", Dial: Remote(web.URL, tt.transport, map[string]string{"Authorization": "Bearer t"})})
			defer u.Close()
			args := `{"b":1.0,"a":9007199254740993}`
			got, err := call(t, u, "echo", args)
			if want := `{"content":[{"type":"text","text":"{\"b\":1.0,\"a\":9007199254740993}"}]}`; err != nil || got != want {
				t.Fatalf("echo: %s, %v", got, err)
			}
			if len(u.Tools()) != 2 {
				t.Errorf("tools %v", u.Tools())
			}
			cause := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, cause)
			defer cancel()
			if _, err := u.Call(ctx, toolCall("hang", "{}")); !errors.Is(err, cause) {
				t.Errorf("hang: %v", err)
			}
			select {
			case <-cancelled:
			case <-time.After(10 * time.Second):
				t.Error("the server did not hear of the end of the call")
			}
		})
	}
}

func TestRemoteRefused(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	elsewhere := httptest.NewServer(http.RedirectHandler(strings.Replace(web.URL, "127.0.0.1", "localhost", 1), http.StatusTemporaryRedirect))
	defer elsewhere.Close()
	for url, want := range map[string]string{web.URL: "404", elsewhere.URL: "to another host"} {
		u := New(Options{Name: "r", Dial: Remote(url, "http", map[string]string{"Authorization": "Bearer secret"})})
		u.Settled(t.Context())
		_, err := call(t, u, "echo", `{}`)
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) && !strings.Contains(err.Error(), "Not Found") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
		u.Close()
	}
}
