package middleware

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/cache"
)

// An outlet is what a client reads from, until it has gone.
type outlet struct {
	io.WriteCloser
	gone atomic.Bool
}

func (o *outlet) Gone() (gone, known bool) { return o.gone.Load(), true }

// An inlet is a client's end of an outlet.
type inlet struct {
	io.ReadCloser
	from *outlet
}

func (i inlet) Close() error {
	i.from.gone.Store(true)
	return i.ReadCloser.Close()
}

// lastCall is a client that closes its end behind a call that takes half a minute,
// and reads on, has gone, or may have. It returns the line of the answer, if one
// came, and what became of the call.
func lastCall(t *testing.T, client, before string) (answer string, took time.Duration, ended error) {
	t.Helper()
	store, err := cache.New(cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	f := server(nil, "slow")
	f.call = func(ctx context.Context, _ toolCall) (json.RawMessage, error) {
		select {
		case <-ctx.Done():
			ended = ctx.Err()
			return nil, ended
		case <-time.After(30 * time.Second):
			return json.RawMessage(`{"content":[]}`), nil
		}
	}
	s, err := New(Options{Store: store, Upstreams: []Upstream{{Name: "s", Conn: f}}})
	if err != nil {
		t.Fatal(err)
	}
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	known := &outlet{WriteCloser: w2}
	var out io.WriteCloser = known
	if client == "unknown" {
		out = w2
	}
	served := make(chan error, 1)
	begun := time.Now()
	go func() { served <- s.Serve(context.Background(), r1, out) }()
	go func() {
		io.WriteString(w1, before+`{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"slow","arguments":{}`+meta(before)+`}}`+"\n")
		synctest.Wait() // the call runs
		known.gone.Store(client == "gone")
		w1.Close()
	}()
	read := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(r2)
		for lines.Scan() {
			if strings.Contains(lines.Text(), `"id":"last"`) {
				read <- lines.Text()
			}
		}
		close(read)
	}()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	took = time.Since(begun)
	w2.Close()
	return <-read, took, ended
}

const newestMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func meta(before string) string {
	if strings.Contains(before, "2026-07-28") {
		return "," + newestMeta
	}
	return ""
}

// TestLastRequests: a client that closed its end behind its last request, as printf
// and a shell do, got no answer: what ran was cancelled.
func TestLastRequests(t *testing.T) {
	const older = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	for name, before := range map[string]string{
		"older":  older,
		"newest": `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + newestMeta + "}}\n",
		// What has no answer, or one of another id, keeps nobody waiting either.
		"odd": older + `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}` + "\n" +
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}` + "\n" +
			`{"jsonrpc":"2.0","id":"dup","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":"dup","method":"ping"}` + "\n" +
			`{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}` + "\n" +
			`[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"tools/list","params":[]}]` + "\n" +
			`{"jsonrpc":"2.0","id":10,"method":"initialize"}` + "\n" + `{"jsonrpc":"2.0","id":11,"method":"tools/list","params":{"_meta":5}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` + "\n" +
			`{"jsonrpc":"2.0","id":77,"result":{}}` + "\n",
		// A stream of news has no end, and keeps nobody waiting.
		"listening": `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + newestMeta + "}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer, took, ended := lastCall(t, "reads", before)
				if (ended != nil && name != "odd") || !strings.Contains(answer, `"content":[]`) || took != 30*time.Second {
					t.Errorf("%s after %v; the call: %v", answer, took, ended)
				}
			})
		})
	}
	for client, want := range map[string]time.Duration{"gone": 0, "unknown": answerTime} {
		t.Run(client, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer, took, ended := lastCall(t, client, older)
				if !errors.Is(ended, context.Canceled) || answer != "" || took < want || took > want+readTime {
					t.Errorf("%s after %v; the call: %v", answer, took, ended)
				}
			})
		})
	}
}
