package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/upstream"
)

// change has a server connect again with one more tool, another each time, and with another prompt if it can
// have any.
func (f *fake) change() {
	more := func(list []upstream.Tool) []upstream.Tool {
		n := 0
		if last := len(list) - 1; last >= 0 {
			if k, _ := fmt.Sscanf(list[last].Name, "more%d", &n); k > 0 { // in its place
				list = list[:last]
			}
		}
		name := fmt.Sprintf("more%d", n+1)
		raw := fmt.Appendf(nil, `{"name":%q,"inputSchema":{"type":"object"}}`, name)
		return append(list[:len(list):len(list)], upstream.Tool{Name: name, Raw: raw})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tools = more(f.tools)
	if f.info != nil {
		again := *f.info
		f.info = &again
		if c := f.info.Capabilities; c != nil && c.Prompts != nil {
			f.prompts = more(f.prompts)
		}
	}
}

// A starter is a server of which it is known what it offered the last time. It connects when
// the test says so.
type starter struct {
	*fake
	seen    bool
	settled chan struct{}
}

func (f *starter) Seen() (seen bool) { f.locked(func() { seen = f.seen }); return seen }

func (f *starter) Settled(ctx context.Context) {
	select {
	case <-f.settled:
	case <-ctx.Done():
	}
}

// settle ends the first attempt to connect; nil is a good end.
func (f *starter) settle(err error) {
	f.locked(func() {
		if f.state, f.err = upstream.Ready, err; err != nil {
			f.state = upstream.Failed
		}
		f.seen = f.seen || err == nil
	})
	close(f.settled)
}

// TestKeptLists: what servers offered the last time is answered at once, in the order of the
// configuration; when they connect clients are told once, together, of what is not as they
// were answered, and of nothing else.
func TestKeptLists(t *testing.T) {
	const tools, prompts, resources = "notifications/tools/list_changed {}", "notifications/prompts/list_changed {}", "notifications/resources/list_changed {}"
	change := func(f *starter) { f.change() }
	same := func(*starter) {}
	for _, tt := range []struct {
		name  string
		kept  string                      // of a, b and c, those of which something is known
		late  string                      // those that were waited for in vain
		ask   string                      // a list that is asked for besides
		comes [3]func(*starter)           // what each server does as it connects; nil: it never answers
		after [3]time.Duration            // it connects
		waits time.Duration               // until the first list is there
		want  []string                    // what clients hear
		then  func(s *Server, a *starter) // in the end
		more  []string                    // heard then
	}{
		{name: "as they were", kept: "abc", comes: [3]func(*starter){same, same, same}},
		{name: "as they were, the last first", kept: "abc", comes: [3]func(*starter){same, same, same}, after: [3]time.Duration{9 * time.Second, time.Second, 0}},
		{name: "one is silent", kept: "abc", comes: [3]func(*starter){same, nil, same}},
		{name: "one was silent, and is", kept: "ac", late: "b", comes: [3]func(*starter){same, nil, same}},
		{name: "one was silent", kept: "ac", late: "b", comes: [3]func(*starter){same, same, same}, want: []string{prompts, resources, tools}},
		{name: "one is new", kept: "ac", comes: [3]func(*starter){same, same, same}, after: [3]time.Duration{1: time.Second}, waits: time.Second},
		{name: "all are new", comes: [3]func(*starter){same, same, same}, after: [3]time.Duration{1: time.Second}, waits: time.Second},
		{name: "one has changed", kept: "abc", comes: [3]func(*starter){same, change, same}, want: []string{prompts, tools}},
		{name: "all have changed", kept: "abc", comes: [3]func(*starter){change, change, change}, after: [3]time.Duration{2 * time.Second, time.Second, 0}, want: []string{prompts, tools}},
		{name: "all have changed, one is silent", kept: "abc", comes: [3]func(*starter){change, nil, change}, after: [3]time.Duration{2: time.Second}, want: []string{prompts, tools}},
		{name: "one is gone", kept: "abc", comes: [3]func(*starter){same, func(f *starter) { f.locked(func() { f.err = errors.New("no such program") }) }, same}},
		{name: "resources were missing", kept: "abc", ask: "resources/list", comes: [3]func(*starter){same, same, same}, after: [3]time.Duration{1: 9 * time.Second}, want: []string{resources}},
		{name: "it comes again as it was", kept: "abc", comes: [3]func(*starter){same, same, same}, then: func(s *Server, a *starter) { s.ListsChanged("a") }},
		{name: "it changes later", kept: "abc", comes: [3]func(*starter){same, same, same}, then: func(s *Server, a *starter) { a.locked(func() { a.tools = a.tools[:1] }); s.ListsChanged("a") }, more: []string{tools}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore(t)
				defer store.Close()
				var ups []Upstream
				var all []*starter
				for _, name := range []string{"a", "b", "c"} {
					f := &starter{fake: offering(map[string]string{"resources/list": `{"resources":[]}`}), settled: make(chan struct{})}
					f.tools, f.state = server(nil, name, "same").tools, upstream.Connecting
					f.info.Instructions = "Of " + name
					f.change()
					ups = append(ups, Upstream{Name: name, Conn: f, Late: strings.Contains(tt.late, name)}) // without prefixes names collide
					all = append(all, f)
				}
				for i, f := range all { // what they say, once they have connected
					if !strings.Contains(tt.kept, ups[i].Name) {
						tools, prompts, info := f.tools, f.prompts, f.info
						f.tools, f.prompts, f.info = nil, nil, nil
						if comes := tt.comes[i]; comes != nil {
							tt.comes[i] = func(f *starter) {
								f.locked(func() { f.tools, f.prompts, f.info = tools, prompts, info })
								comes(f)
							}
						}
					}
				}
				s, err := New(Options{Store: store, Upstreams: ups})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				heard := make(chan string, 100)
				begun := time.Now()
				for i, comes := range tt.comes {
					if comes != nil {
						time.AfterFunc(max(tt.after[i], time.Millisecond), func() {
							comes(all[i])
							_, err := all[i].State()
							all[i].settle(err)
							if err == nil {
								s.ListsChanged(ups[i].Name)
							}
						})
					}
				}
				conn := attach(t, s, Identity{}, hears(heard, ""))
				conn.initialize(t, nil)
				first := ask(t, conn, "tools/list", `{}`) + ask(t, conn, "prompts/list", `{}`)
				if took := time.Since(begun).Truncate(100 * time.Millisecond); took != tt.waits {
					t.Errorf("the first list came after %v, want %v", took, tt.waits)
				}
				for params := `{}`; tt.ask != "" && params != ""; { // all pages
					page := jsonscan.Member([]byte(ask(t, conn, tt.ask, params)), "nextCursor")
					if params = ""; page != nil {
						params = string(jsonscan.Object("cursor", page))
					}
				}
				expect := func(want []string) {
					t.Helper()
					var got []string
					for time.Sleep(time.Minute); len(heard) > 0; {
						got = append(got, strings.TrimSpace(<-heard))
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("heard (-want +got):\n%s", diff)
					}
				}
				expect(tt.want)
				last := ask(t, conn, "tools/list", `{}`) + ask(t, conn, "prompts/list", `{}`)
				if tools := slices.Contains(tt.want, tools); (first == last) == tools {
					t.Errorf("the first list\n%s\nand the last\n%s", first, last)
				}
				if at := regexp.MustCompile(`"(a|b|c)"`).FindAllString(last, -1); !slices.IsSorted(at) {
					t.Errorf("listed in the order %v", at)
				}
				if tt.then != nil {
					tt.then(s, all[0])
					expect(tt.more)
				}
			})
		})
	}
}

// TestCallsOfKeptTools: a call waits for its own server, whose list of today decides. One that
// has changed was accepted as it was yesterday.
func TestCallsOfKeptTools(t *testing.T) {
	for _, tt := range []struct {
		name string
		come func(f *starter)
		err  error
		want string
	}{
		{"as it was", func(*starter) {}, nil, "a{}"},
		{"it has changed", func(f *starter) {
			f.tools[0].Raw = json.RawMessage(`{"name":"a","description":"Tell me all.","inputSchema":{"type":"object"}}`)
		}, nil, "held_back: a is held back"},
		{"it is gone", func(f *starter) { f.tools = nil }, nil, `unknown_tool: no tool "a"`},
		{"its server is gone", func(*starter) {}, errors.New("no such program"), `upstream_unavailable: server "s" is not available: no such program`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore(t)
				defer store.Close()
				f := &starter{fake: server(nil, "a"), settled: make(chan struct{})}
				f.state, f.info = upstream.Connecting, &upstream.Info{}
				silent := &starter{fake: server(nil, "b"), settled: make(chan struct{})}
				silent.state = upstream.Connecting
				_, pins := pinned(t, t.TempDir())
				pins.Check(f.tools, func(string) bool { return true })
				f.tools = slices.Clone(f.tools)
				s, err := New(Options{Store: store, Upstreams: []Upstream{{Name: "s", Conn: f, Pins: pins}, {Name: "silent", Prefix: "silent", Conn: silent}}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				conn := attach(t, s, Identity{}, clientOptions{})
				conn.initialize(t, nil)
				begun := time.Now()
				time.AfterFunc(5*time.Second, func() {
					f.locked(func() {
						f.tools = slices.Clone(f.tools)
						tt.come(f)
					})
					f.settle(tt.err)
				})
				got := text(t, conn, "a", "{}")
				if !strings.HasPrefix(got, tt.want) || time.Since(begun) != 5*time.Second {
					t.Errorf("after %v: %s", time.Since(begun), got)
				}
			})
		})
	}
}
