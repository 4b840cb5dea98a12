package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSessionsMove: without tokens an agent is its session. What it has begun, kept and
// ended on one replica holds on the others, also when the first is killed.
func TestSessionsMove(t *testing.T) {
	s := openSite(t, siteOptions{})
	var clients []*rawClient
	kept := map[*rawClient]string{}
	for i, revision := range revisions[:4] {
		c := newRaw(s.URL, "", revision)
		c.only = fmt.Sprint(i % 3)
		if err := c.begin(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
		args := newArgs(revision, "call", revision)
		a, err := readAnswer(json.RawMessage(c.result(t, (i+1)%3, "long", args)))
		if err != nil || a.id == "" {
			t.Fatalf("%s: %+v %v", revision, a, err)
		}
		kept[c] = a.id
	}
	check := func(replicas ...int) {
		t.Helper()
		for _, c := range clients {
			args := newArgs(c.revision, "call", c.revision)
			for _, replica := range replicas {
				if got := c.result(t, replica, "proxy_filter", map[string]any{"cache_id": kept[c], "jq": ".[7].word"}); !strings.Contains(got, word(args, 7)) {
					t.Errorf("%s on replica %d: %.300s", c.revision, replica, got)
				}
				if got := c.result(t, replica, "ask", args); !strings.Contains(got, saying(marker(c.revision)+"call")) {
					t.Errorf("%s on replica %d: %.300s", c.revision, replica, got)
				}
				for other, id := range kept {
					if got := c.result(t, replica, "proxy_filter", map[string]any{"cache_id": id, "jq": ".[7].word"}); other != c && !strings.Contains(got, "unknown_cache_id") {
						t.Errorf("%s on replica %d reads what another session has: %.300s", c.revision, replica, got)
					}
				}
			}
		}
	}
	check(0, 1, 2)
	s.Replicas[0].Kill()
	check(1, 2)
	s.Restart(0)
	check(0)
	for i, c := range clients {
		c.only = fmt.Sprint(i % 3)
		resp, err := c.send(t.Context(), "DELETE", "", "", http.Header{})
		if err != nil || resp.StatusCode != http.StatusNoContent {
			t.Fatalf("the end: %v %v", resp, err)
		}
		resp.Body.Close()
		for replica := range 3 {
			eventually(t, fmt.Sprintf("%s has ended on replica %d", c.revision, replica), func() bool {
				c.only = fmt.Sprint(replica)
				_, err := c.request(t.Context(), "", "ping", "{}")
				f, _ := err.(*failure)
				return f != nil && f.gone
			})
		}
	}
}

// eventually waits for what takes a moment.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for since := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Since(since) > 20*time.Second {
			t.Fatal("not within 20 seconds: " + what)
		}
	}
}

// listen opens a stream at a replica, by GET or by a request, and returns what the events on
// it say, until the test ends or the stream does.
func (c *rawClient) listen(t *testing.T, replica int, body string) <-chan string {
	t.Helper()
	c.only = fmt.Sprint(replica)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	method, header := "GET", http.Header{}
	if body != "" {
		method = "POST"
		header.Set("Mcp-Method", "subscriptions/listen")
	}
	resp, err := c.send(ctx, method, "", body, header)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("a stream at replica %d: %s", replica, resp.Status)
	}
	heard := make(chan string, 1000)
	go func() {
		defer close(heard)
		defer resp.Body.Close()
		for e, err := range events(resp.Body) {
			if err != nil {
				return
			}
			if e.data != nil {
				heard <- string(e.data)
			}
		}
	}()
	return heard
}

// TestChanges: a client that has subscribed on one replica and listens on another hears of
// each change, by each replica that has its session once: their servers may be other
// processes. Of changes after its replica was killed it hears where it listens again.
func TestChanges(t *testing.T) {
	s := openSite(t, siteOptions{agents: []string{"ann", "bob"}})
	session := newRaw(s.URL, tokenOf("ann"), "2025-11-25")
	session.only = "0"
	if err := session.begin(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	single := newRaw(s.URL, tokenOf("bob"), stateless)
	const listen = `{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["` + clockURI + `"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	if _, err := session.request(t.Context(), "", "resources/subscribe", `{"uri":"`+clockURI+`"}`); err != nil {
		t.Fatal(err)
	}
	heard := map[string]<-chan string{"session": session.listen(t, 1, ""), "single": single.listen(t, 1, listen)}
	// told changes the resource until who listens has heard of one change, then three times
	// more, of which each is heard.
	told := func() {
		t.Helper()
		updates := func(who string, within time.Duration) (n int) {
			for {
				select {
				case event, ok := <-heard[who]:
					if !ok {
						t.Fatalf("the stream of %s has ended", who)
					}
					if strings.Contains(event, "notifications/resources/updated") && strings.Contains(event, clockURI) {
						n++
					}
				case <-time.After(within):
					return n
				}
			}
		}
		for who := range heard {
			eventually(t, who+" hears of a change", func() bool {
				if err := s.asker.change(t.Context()); err != nil {
					t.Fatal(err)
				}
				return updates(who, 200*time.Millisecond) > 0
			})
		}
		for who := range heard {
			updates(who, time.Second) // what is on its way
		}
		for range 3 {
			if err := s.asker.change(t.Context()); err != nil {
				t.Fatal(err)
			}
			for who := range heard {
				if n, most := updates(who, time.Second), map[string]int{"session": 2, "single": 1}[who]; n < 1 || n > most {
					t.Errorf("%s hears %d times of a change", who, n)
				}
			}
		}
	}
	told()
	s.Replicas[1].Kill()
	for _, stream := range heard {
		for range stream {
		}
	}
	heard = map[string]<-chan string{"session": session.listen(t, 2, ""), "single": single.listen(t, 2, listen)}
	told()
}
