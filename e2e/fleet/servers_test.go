//lint:file-ignore SA1019 servers of the older revisions still use sampling

package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/rpc"
)

// journalVar makes a process of the test binary the server over stdio. Its value is the
// file in which the server notes each call.
const journalVar = "FLEET_JOURNAL"

// callArgs are those of all tools. Call is another one each time that a tool is to be
// called, so the journal tells what was called twice.
type callArgs struct {
	Agent string `json:"agent"`
	Call  string `json:"call"`
	Rows  int    `json:"rows,omitempty"`
	By    string `json:"by,omitempty"`    // what ask asks with: elicitation or sampling
	Pause int    `json:"pause,omitempty"` // how long slow takes, in milliseconds
}

// marker stands in everything that a tool answers an agent.
func marker(agent string) string { return "owner=" + agent + ";" }

// rows is what the tool long answers: JSON that no form makes much shorter, of some 90 bytes
// a row.
func rows(a callArgs) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := range a.Rows {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"row":%d,"owner":%q,"call":%q,"word":%q}`, i, marker(a.Agent), a.Call, word(a, i))
	}
	b.WriteByte(']')
	return b.String()
}

// word is in the ith row of the tool long's answer to a call, and nowhere else.
func word(a callArgs, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", a.Agent, a.Call, i))
	return hex.EncodeToString(sum[:12])
}

// serveStdio is the server over stdio.
func serveStdio(file string) {
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	conn := rpc.NewConn(os.Stdin, os.Stdout, rpc.ConnOptions{Server: true, Options: rpc.Options{
		Handle: func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			switch method {
			case "initialize":
				return json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fleet","version":"1"}}`), nil
			case "tools/list":
				return json.RawMessage(`{"tools":[{"name":"short","inputSchema":{"type":"object"}},{"name":"long","inputSchema":{"type":"object"}},{"name":"slow","inputSchema":{"type":"object"}}]}`), nil
			case "tools/call":
				var p struct {
					Name      string
					Arguments callArgs
				}
				if err := json.Unmarshal(params, &p); err != nil {
					return nil, err
				}
				// One write, at the end of the file: replicas share it.
				if _, err := fmt.Fprintln(out, p.Arguments.Call); err != nil {
					return nil, err
				}
				text := marker(p.Arguments.Agent) + p.Arguments.Call
				switch p.Name {
				case "long":
					text = rows(p.Arguments)
				case "slow":
					select {
					case <-time.After(time.Duration(p.Arguments.Pause) * time.Millisecond):
					case <-ctx.Done():
					}
				}
				return json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}})
			}
			return json.RawMessage(`{}`), nil
		},
	}})
	<-conn.Done()
}

// A journal is what the servers over stdio were called for.
type journal struct{ file string }

// counts is how often each call was executed.
func (j *journal) counts(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(j.file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		counts[strings.TrimSpace(line)]++
	}
	return counts
}

// An asker is a server over HTTP, of revisions before 2026-07-28. Its tool ask asks the
// client something; its resource changes when the test says so.
type asker struct {
	http.Handler
	server  *mcp.Server
	changes atomic.Int64

	mu    sync.Mutex // guards the field below
	calls map[string]int
}

// clockURI is the asker's resource.
const clockURI = "fleet://clock"

func newAsker() *asker {
	a := &asker{calls: map[string]int{}}
	a.server = mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	a.server.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, a.ask)
	a.server.AddResource(&mcp.Resource{Name: "clock", URI: clockURI}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: clockURI, Text: fmt.Sprint(a.changes.Load())}}}, nil
	})
	a.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return a.server }, nil)
	return a
}

// ask answers what the client has answered.
func (a *asker) ask(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args callArgs
	if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.calls[args.Call]++
	a.mu.Unlock()
	question := marker(args.Agent) + args.Call
	var said string
	if args.By == "sampling" {
		got, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 10,
			Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: question}}}})
		if err != nil {
			return nil, err
		}
		if text, ok := got.Content.(*mcp.TextContent); ok {
			said = text.Text
		}
	} else {
		got, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: question,
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"said":{"type":"string"}}}`)})
		if err != nil {
			return nil, err
		}
		said = fmt.Sprint(got.Content["said"])
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: marker(args.Agent) + args.Call + " " + said}}}, nil
}

// counts is how often each call was executed.
func (a *asker) counts() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := map[string]int{}
	for call, n := range a.calls {
		counts[call] = n
	}
	return counts
}

// change changes the resource and tells those who have subscribed.
func (a *asker) change(ctx context.Context) error {
	a.changes.Add(1)
	return a.server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: clockURI})
}

// saying is what clients answer to a question.
func saying(question string) string { return "said to " + question }
