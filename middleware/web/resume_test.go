//lint:file-ignore SA1019 clients and servers of the older revisions still use sampling and logging

package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/auth"
)

// TestResumeElsewhere: a client that was cut off from its answer finds it, or hears that it
// is lost, by what all SDKs understand.
func TestResumeElsewhere(t *testing.T) {
	c := gather(t, 2, Options{ResumeTime: 2 * time.Second}, auth.Options{})
	one, two := c.replicas[0], c.replicas[1]
	id := one.session()
	resp := one.do("POST", doing(41, "wait"), "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25")
	first, _, _ := strings.Cut(events(t, resp.Body, 1)[0], " ")
	c.has(one.calls, "wait41")
	get := func(r *replica, last string) (int, string, string) {
		t.Helper()
		resp := r.do("GET", "", "Mcp-Session-Id", id, "Last-Event-ID", last)
		text := body(t, resp)
		event := ""
		for line := range strings.Lines(text) {
			if value, ok := strings.CutPrefix(line, "id: "); ok {
				event = strings.TrimSpace(value)
			}
		}
		return resp.StatusCode, event, text
	}
	code, again, text := get(two, first)
	if code != 200 || again == first || !strings.Contains(text, "retry: 100\ndata: \n\n") || strings.Contains(text, "error") {
		t.Fatalf("while the replica is there: %d %q", code, text)
	}
	// It takes up where it was, by the id that two has given.
	resp.Body.Close()
	at := one.do("GET", "", "Mcp-Session-Id", id, "Last-Event-ID", again)
	one.status("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":41}}`, id)
	if b := body(t, at); at.StatusCode != 200 || strings.Contains(b, "error") {
		t.Errorf("at the replica: %s %q", at.Status, b)
	}
	// To listen is to begin anew.
	listens, _ := two.stream(id, "Last-Event-ID", one.store.Replica()+"-1-0_17")
	two.server.Tell(t.Context(), "s", "notifications/message", json.RawMessage(`{"level":"error","data":"here"}`))
	c.hears(listens, `"here"`)
	// The client is not sent back for ever.
	event := again
	for n := 0; ; n++ {
		if code, event, text = get(two, event); strings.Contains(text, `"id":41,"error":{`) {
			break
		}
		if code != 200 || n > 30 {
			t.Fatalf("try %d: %d %q", n, code, text)
		}
	}
	if code, _, text := get(two, event); code != 204 {
		t.Errorf("after the last word: %d %q", code, text)
	}
	// The replica is lost.
	one.stop()
	if code, _, text := get(two, first); code != 200 || !strings.Contains(text, `"id":41,"error":{"code":`) || !strings.Contains(text, "may have been done") {
		t.Errorf("after it has gone: %d %q", code, text)
	}
	for _, odd := range []string{"x", "_", "a-b-c_1", "a-1-1-zz_1", "a-1-1-5b_1", "a-1-1-7b7d_1", "0-0-1_1_1", strings.Repeat("9", 600) + "-1-1_1", "a-1-1-5b315d_1_99999999999999999999"} {
		if code, _, text := get2(t, two, id, odd); code >= 500 {
			t.Errorf("%q: %d %q", odd, code, text)
		}
	}
}

// get2 asks for a stream by an odd id, and does not wait for one that listens.
func get2(t *testing.T, r *replica, id, last string) (int, string, string) {
	resp := r.do("GET", "", "Mcp-Session-Id", id, "Last-Event-ID", last)
	defer resp.Body.Close()
	return resp.StatusCode, "", ""
}

// front is a balancer that takes one replica after the other, and cuts every third stream of
// events after its first event.
func (c *crowd) front(cuts bool) *http.Client {
	var n atomic.Int64
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		to := c.replicas[int(c.next.Add(1))%len(c.replicas)]
		r.URL.Host = strings.TrimSuffix(strings.TrimPrefix(to.url, "http://"), "/mcp")
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && cuts && r.Method == http.MethodPost && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") && n.Add(1)%3 == 1 {
			resp.Body = &cutBody{ReadCloser: resp.Body}
		}
		return resp, err
	})}
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A cutBody breaks after the first event.
type cutBody struct {
	io.ReadCloser
	read string
}

func (b *cutBody) Read(p []byte) (int, error) {
	if strings.Contains(b.read, "data: \n\n") {
		b.ReadCloser.Close()
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:1])
	b.read += string(p[:n])
	return n, err
}

// TestSDK: the SDK's client finds nothing odd in a balancer that takes one replica after the
// other and cuts streams.
func TestSDK(t *testing.T) {
	c := gather(t, 3, Options{ResumeTime: 10 * time.Second}, auth.Options{})
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				CreateMessageHandler: func(ctx context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
					// The stream of the call is cut meanwhile.
					timer := time.NewTimer(3 * primeTime)
					defer timer.Stop()
					select {
					case <-timer.C:
					case <-ctx.Done():
					}
					return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: "asked"}, Model: "m", Role: "assistant"}, nil
				},
			})
			transport := &mcp.StreamableClientTransport{Endpoint: c.replicas[0].url, HTTPClient: c.front(version == "2025-11-25")}
			s, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for i := range 12 {
				do := []string{"", "ask", "long"}[i%3]
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "t", Arguments: map[string]any{"region": nil, "do": do}})
				cancel()
				if err != nil {
					t.Fatalf("call %d (%s): %v", i, do, err)
				}
				if b, _ := json.Marshal(result); do == "ask" && !strings.Contains(string(b), "asked") {
					t.Errorf("call %d: %s", i, b)
				}
			}
			if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "error"}); err != nil {
				t.Error(err)
			}
			if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///a"}); err != nil {
				t.Error(err)
			}
		})
	}
	if all := slices.Concat(c.replicas[0].h.places.all(), c.replicas[1].h.places.all(), c.replicas[2].h.places.all()); len(all) > 0 {
		c.until("closed sessions end everywhere", func() bool {
			n := 0
			for _, r := range c.replicas {
				n += len(r.h.places.all())
			}
			return n == 0
		})
	}
}
