package middleware

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
)

// TestListed: each session is told once of the proxy's own tools, and each agent of requests
// without one.
func TestListed(t *testing.T) {
	var mu sync.Mutex
	var told [][]string
	s, conn := dial(t, Options{FreshCalls: FreshAll, Upstreams: []Upstream{{Name: "s", Conn: server(nil, "x")}}, Listed: func(own []string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, own)
	}})
	list := func(c client, params string, want int) {
		t.Helper()
		ask(t, c, "tools/list", params)
		mu.Lock()
		defer mu.Unlock()
		if len(told) != want {
			t.Errorf("told %d times, want %d", len(told), want)
		}
	}
	list(conn, `{}`, 1)
	list(conn, `{}`, 1)
	list(connect(t, s), `{}`, 2)
	ann := func() client { return attach(t, s, Identity{Name: "ann"}, clientOptions{}) }
	list(ann(), `{`+statelessMeta("")+`}`, 3)
	list(ann(), `{`+statelessMeta("")+`}`, 3) // another request is another session
	list(attach(t, s, Identity{Name: "bob"}, clientOptions{}), `{`+statelessMeta("")+`}`, 4)
	if _, err := conn.Call(t.Context(), "tools/list", []byte(`{"cursor":"none"}`)); err == nil {
		t.Error("a cursor that nobody has given out")
	}
	if want := append(tools.Definitions(true, false, true), tools.Instructions); !slices.Equal(told[0], want) {
		t.Errorf("%q", told[0])
	}
}

// TestListedIsBounded: sessions are forgotten when they end, and of many agents some.
func TestListedIsBounded(t *testing.T) {
	var l listed
	held := &session.Session{}
	if !l.first(&session.Request{Session: held}) || l.first(&session.Request{Session: held}) {
		t.Error("a session is not remembered")
	}
	for i := range 2 * maxListed {
		if !l.first(&session.Request{Stateless: true, Session: &session.Session{Party: fmt.Sprint(i)}}) {
			t.Fatal("an agent is remembered that was never there")
		}
	}
	if len(l.told) != maxListed || !l.told[held] {
		t.Error(len(l.told), "are remembered, the session:", l.told[held])
	}
	if l.forget(held); len(l.told) != maxListed-1 {
		t.Error("a session that has ended is remembered")
	}
}

// TestMadeAgain: observers hear which calls are made for results that the cache had no more.
func TestMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		conn, _ := healingServer(t, Options{Observers: []observe.Observer{&h}}, records(400))
		id := cutID(t, conn, "read", `{"n":1}`)
		text(t, conn, "proxy_filter", `{"tool":"read","arguments":{"n":2},"jq":"length"}`)
		time.Sleep(2 * time.Minute)
		text(t, conn, "proxy_filter", `{"cache_id":"`+id+`","jq":"length"}`)
		time.Sleep(2 * time.Minute)
		ask(t, conn, "resources/read", `{"uri":"rlmproxy://cache/`+id+`/0"}`)
		var got []string
		for _, c := range h.take() {
			server, tool := c.Label()
			got = append(got, fmt.Sprintf("%s/%s %t %t", server, tool, c.Again, c.CacheID == cache.ID(id)))
		}
		want := []string{"s/read false true", "/proxy_filter false false", "s/read false false", "/proxy_filter false false", "s/read true true", "/resources/read false false", "s/read true true"}
		if !slices.Equal(got, want) {
			t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), strings.Join(want, ", "))
		}
	})
}
