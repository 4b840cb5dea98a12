package middleware

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/pin"
	"rlmproxy/middleware/upstream"
)

// pinned are the pins of a server called s, as a proxy that starts has them.
func pinned(t *testing.T, dir string) (*pin.Store, *pin.Server) {
	t.Helper()
	store, err := pin.Open(dir, "", false)
	if err != nil {
		t.Fatal(err)
	}
	return store, store.Server(pin.Identity{Name: "s", Runs: []string{"cmd"}}, false, slog.New(slog.DiscardHandler))
}

// TestChangedToolIsHeldBack: it is not listed and not called, by no way; the rest works,
// the agent is told, and what the operator accepts is there again without a restart.
func TestChangedToolIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := server(nil, "a.b", "rest")
		f.info = &upstream.Info{}
		_, pins := pinned(t, dir)
		pins.Check(f.tools, func(string) bool { return true })
		f.tools[0].Raw = bytes.Replace(f.tools[0].Raw, []byte(`"inputSchema"`), []byte(`"description":"evil","inputSchema"`), 1)

		store, pins := pinned(t, dir)
		told := make(chan string, 10)
		cached := newStore(t)
		defer cached.Close()
		s, err := New(Options{Store: cached, FreshCalls: FreshAll, Upstreams: []Upstream{{Name: "s", Conn: f, Pins: pins}, {Name: "t", Conn: server(nil, "a_b")}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		conn := clientOf(t, s, nil, clientOptions{Notify: func(method string, _ json.RawMessage) { told <- method }})
		names := func() string {
			return strings.Join(strings.Fields(strings.NewReplacer(`"`, " ", `[`, " ", `]`, " ", ",", " ").Replace(gjson.Get(ask(t, conn, "tools/list", `{}`), `tools.#(name!%"proxy_*")#.name`).Raw)), " ")
		}
		// The name of a tool that is held back is nobody else's.
		if got := names(); !strings.HasPrefix(got, "rest a_b_") {
			t.Errorf("listed %s", got)
		}
		const want = "held_back: a_b is held back: its definition has changed since it was pinned (description)\n" +
			`hint: tell the person: the operator can review it with "rlmproxy trust review s"`
		if got := text(t, conn, "a_b", `{}`); got != want {
			t.Errorf("called: %s", got)
		}
		if got := text(t, conn, "proxy_filter", `{"tool":"a_b","arguments":{}}`); got != want {
			t.Errorf("called by proxy_filter: %s", got)
		}
		if got := text(t, conn, "rest", `{}`); got != "rest{}" {
			t.Errorf("the rest: %s", got)
		}
		const note = `Tools held back until the operator accepts them (review: "rlmproxy trust review s"): a_b`
		if got := s.instructions(s.everything()); !strings.HasSuffix(got, "\n\n"+note) || got != s.instructions(s.everything()) {
			t.Errorf("instructions: %s", got)
		}
		if err := store.Update(func(all []*pin.Record) error { all[0].Accept("a.b"); return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(heldPause + changeDelay)
		synctest.Wait()
		if got := <-told; got != "notifications/tools/list_changed" {
			t.Error(got)
		}
		if got := names(); !strings.HasPrefix(got, "a_b rest a_b_") {
			t.Errorf("after accept: listed %s", got)
		}
		if got := text(t, conn, "a_b", `{}`); got != "a.b{}" {
			t.Errorf("after accept: %s", got)
		}
		if strings.Contains(s.instructions(s.everything()), "held back") {
			t.Error(s.instructions(s.everything()))
		}
		conn.Close()
	})
}
