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

// lastCall is a client that closes its end behind a call that takes a while, and reads
// on, has gone, or may have. It returns the line of the answer, if one
// came, and what became of the call.
func lastCall(t *testing.T, client, before string, takes time.Duration) (answer string, took time.Duration, ended error) {
	t.Helper()
	store, err := cache.New(cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	f := server(nil, "slow")
	f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		over, alive := time.After(takes), time.NewTicker(hangTime*3/4)
		defer alive.Stop()
		for {
			select {
			case <-ctx.Done():
				ended = ctx.Err()
				return nil, ended
			case <-over:
				return json.RawMessage(`{"content":[]}`), nil
			case <-alive.C:
				if c.Progress != nil {
					c.Progress(json.RawMessage(`{"progressToken":1,"progress":1}`))
				}
			}
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
	if strings.HasPrefix(client, "unknown") {
		out = w2
	}
	params := meta(before)
	if strings.HasSuffix(client, "progress") {
		params = `,"_meta":{"progressToken":1}`
	}
	served := make(chan error, 1)
	begun := time.Now()
	go func() { served <- s.Serve(context.Background(), r1, out) }()
	go func() {
		io.WriteString(w1, before+`{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"slow","arguments":{}`+params+`}}`+"\n")
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
// and a shell do, got no answer: what ran was cancelled. Then one that hung held up the
// end for a minute.
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
				const takes = 1900 * time.Millisecond
				answer, took, ended := lastCall(t, "reads", before, takes)
				if (ended != nil && name != "odd") || !strings.Contains(answer, `"content":[]`) || took != takes {
					t.Errorf("%s after %v; the call: %v", answer, took, ended)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				answer, took, ended := lastCall(t, "reads", before, time.Hour)
				if !errors.Is(ended, context.Canceled) || !strings.Contains(answer, `"message":"cancelled: the client closed stdin`) || took > hangTime+readTime/4 {
					t.Errorf("%s after %v; the call: %v", answer, took, ended)
				}
			})
		})
	}
	for _, c := range []struct {
		client string
		takes  time.Duration
		want   string // in the answer; empty: there is none
		after  time.Duration
	}{
		{"gone", time.Hour, "", 0},
		{"unknown", time.Hour, "cancelled", hangTime},
		{"progress", time.Minute, `"content":[]`, time.Minute},
		{"unknown progress", time.Minute, "", answerTime},
	} {
		t.Run(c.client, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer, took, _ := lastCall(t, c.client, older, c.takes)
				if !strings.Contains(answer, c.want) || (answer == "") != (c.want == "") || took < c.after || took > c.after+readTime {
					t.Errorf("%s after %v", answer, took)
				}
			})
		})
	}
}

// TestEndInOrder: once the proxy is to end, what runs is answered, within endTime with what
// it is, later with that it was cancelled, and what comes then with that it was refused. The
// call used to get no answer.
func TestEndInOrder(t *testing.T) {
	for _, tt := range []struct {
		takes, ends time.Duration
		want        string
	}{
		{3 * time.Second, 3 * time.Second, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`},
		{time.Minute, endTime, `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the proxy is shutting down"}}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := server(nil, "slow")
			f.call = func(ctx context.Context, _ toolCall) (json.RawMessage, error) {
				select {
				case <-time.After(tt.takes):
					return json.RawMessage(`{"content":[]}`), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			store, err := cache.New(cache.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			s, err := New(Options{Store: store, Upstreams: []Upstream{{Name: "s", Conn: f}}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r1, w1 := io.Pipe()
			r2, w2 := io.Pipe()
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- s.Serve(ctx, r1, w2) }()
			lines := make(chan string, 10)
			go func() {
				defer close(lines)
				for all := bufio.NewScanner(r2); all.Scan(); {
					lines <- all.Text()
				}
			}()
			write := func(line string) {
				if _, err := io.WriteString(w1, line+"\n"); err != nil {
					t.Error(err)
				}
				synctest.Wait()
			}
			write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
			write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			<-lines
			write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow"}}`)
			begun := time.Now()
			stop()
			synctest.Wait()
			write(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
			if got, want := <-lines, `{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"the proxy is shutting down"}}`; got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if got := <-lines; got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if err := <-served; !errors.Is(err, context.Canceled) || time.Since(begun) != tt.ends {
				t.Errorf("%v after %v, want %v", err, time.Since(begun), tt.ends)
			}
		})
	}
}
