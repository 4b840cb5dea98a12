package middleware

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"rlmproxy/middleware/upstream"
)

// TestListingWhileServersChange: each listing is of one time, whatever servers do meanwhile,
// and the last is that of now.
func TestListingWhileServersChange(t *testing.T) {
	f, other := server(nil, "read"), server(nil, "z")
	ups := func(n int) []Upstream {
		return []Upstream{{Name: "s", Prefix: "s", Conn: f, TrustHints: n%2 == 0}, {Name: fmt.Sprint("t", n%3), Prefix: fmt.Sprint("t", n%3), Conn: other}}
	}
	s, _ := dial(t, Options{Exposure: ExposeSearch, Upstreams: ups(0)})
	conn := connect(t, s)
	const rounds = 200
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for n := range rounds {
			name := fmt.Sprint("tool", n)
			f.locked(func() {
				f.tools = []upstream.Tool{{Name: name, Raw: json.RawMessage(`{"name":"` + name + `","description":"number"}`)}}
			})
		}
	})
	all.Go(func() {
		for n := range rounds {
			if err := s.SetUpstreams(ups(n)); err != nil {
				t.Error(err)
			}
		}
	})
	go func() { all.Wait(); close(done) }()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ended := false; !ended; {
				select {
				case <-done:
					ended = true
				default:
				}
				l, err := s.listing()
				if err != nil || len(l.targets) != len(l.defined) || len(l.sizes) != len(l.targets) {
					t.Errorf("%d tools, %d definitions, %v", len(l.targets), len(l.defined), err)
				}
				for _, i := range l.found().Find("number", 5, func(int) bool { return true }) {
					if i >= len(l.defined) || l.size(i) == 0 {
						t.Errorf("tool %d of %d is found", i, len(l.defined))
					}
				}
			}
		})
	}
	readers.Wait()
	if got, want := text(t, conn, "proxy_find_tools", `{"query":"number"}`), fmt.Sprintf("s_tool%d() number", rounds-1); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
