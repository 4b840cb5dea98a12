package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/upstream"
)

// A slowFake connects when connected is closed, with these tools, or fails.
type slowFake struct {
	*fake
	connected chan struct{}
	fails     bool
}

func (f slowFake) ready() bool {
	select {
	case <-f.connected:
		return !f.fails
	default:
		return false
	}
}

func (f slowFake) Tools() []upstream.Tool {
	if !f.ready() {
		return nil
	}
	return f.fake.Tools()
}

func (f slowFake) Info() *upstream.Info {
	if !f.ready() {
		return nil
	}
	return f.fake.Info()
}

func (f slowFake) State() (upstream.State, error) {
	switch {
	case f.ready():
		return upstream.Ready, nil
	case f.fails:
		return upstream.Failed, nil
	}
	return upstream.Connecting, nil
}

func (f slowFake) Settled(ctx context.Context) {
	select {
	case <-f.connected:
	case <-ctx.Done():
	}
}

// TestSetUpstreams: what is listed after the servers have changed, and what a client that may
// use all but the server "hidden", and one that sees only "b", are told, once.
func TestSetUpstreams(t *testing.T) {
	const tools, resources = "tools", "resources"
	a, b, hidden := server(nil, "x", "y"), server(nil, "x"), server(nil, "x")
	as := func(name string, conn Caller, change ...func(*Upstream)) Upstream {
		up := Upstream{Name: name, Prefix: name, Conn: conn}
		for _, f := range change {
			f(&up)
		}
		return up
	}
	bare := func(up *Upstream) { up.Prefix = "" }
	before := []Upstream{as("a", a), as("b", b), as("hidden", hidden)}
	for _, c := range []struct {
		name   string
		before []Upstream // nil: the ones above
		after  []Upstream // a nil Conn connects later, or fails to
		listed string
		told   []string // the first client
		toldB  []string // the second
	}{
		{"nothing", nil, before, "a_x a_y b_x", nil, nil},
		{"another order", nil, []Upstream{before[2], before[1], before[0]}, "b_x a_x a_y", nil, nil},
		{"one is added", nil, append(slices.Clone(before), as("c", offering(nil))), "a_x a_y b_x c_x", []string{tools, resources}, nil},
		{"one is removed", nil, before[1:], "b_x", []string{tools}, nil},
		{"one that few see is removed", nil, before[:2], "a_x a_y b_x", nil, nil},
		{"all are removed", nil, []Upstream{}, "", []string{tools}, []string{tools}},
		{"a rule", nil, []Upstream{as("a", a, func(up *Upstream) { up.Deny = []string{"y"} }), before[1], before[2]}, "a_x b_x", []string{tools}, nil},
		{"a policy that lists do not show", nil, []Upstream{as("a", a, func(up *Upstream) { up.Policy.Timeout = time.Hour }), before[1], before[2]}, "a_x a_y b_x", nil, nil},
		{"trusted by proxy_*", nil, []Upstream{as("a", a, func(up *Upstream) { up.Fresh = []string{"x"} }), before[1], before[2]}, "a_x a_y b_x", []string{tools}, nil},
		{"another prefix", nil, []Upstream{before[0], as("b", b, func(up *Upstream) { up.Prefix = "z" }), before[2]}, "a_x a_y z_x", []string{tools}, []string{tools}},
		{"another connection that offers the same", nil, []Upstream{before[0], as("b", server(nil, "x")), before[2]}, "a_x a_y b_x", nil, nil},
		{"another connection, and other tools", nil, []Upstream{before[0], as("b", server(nil, "z")), before[2]}, "a_x a_y b_z", []string{tools}, []string{tools}},
		{"it takes the name of a tool, being the first", []Upstream{as("a", a, bare)}, []Upstream{as("b", b, bare), as("a", a, bare)}, "x x_8b86bced y", []string{tools}, nil},
		{"one that connects later", nil, append(slices.Clone(before), as("c", nil)), "a_x a_y b_x c_x", []string{tools, resources}, nil},
		{"one in the place of another, later", nil, []Upstream{before[0], as("b", nil), before[2]}, "a_x a_y b_x", []string{tools, resources}, []string{tools, resources}},
		{"one that fails in the place of another", nil, []Upstream{before[0], as("b", nil), before[2]}, "a_x a_y", []string{tools}, []string{tools}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore(t)
				defer store.Close()
				rules := &rights.Rules{Agents: map[string]rights.Entry{"b": {Allow: []string{"b_*", "z_*"}}, "*": {Deny: []string{"hidden_*"}}}}
				if c.before == nil {
					c.before = before
				}
				s, err := New(Options{Store: store, Upstreams: slices.Clone(c.before), Rights: rules})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				heard, heardB := make(chan string, 100), make(chan string, 100)
				conn := clientAs(t, s, Identity{Subject: "one"}, heard)
				clientAs(t, s, Identity{Subject: "two", Who: rights.Who{Agent: "b"}}, heardB)
				after := slices.Clone(c.after)
				slow := slices.IndexFunc(after, func(up Upstream) bool { return up.Conn == nil })
				late := slowFake{offering(nil), make(chan struct{}), strings.Contains(c.name, "fails")}
				if slow >= 0 {
					after[slow].Conn = late
				}
				if err := s.SetUpstreams(after); err != nil {
					t.Fatal(err)
				}
				if slow >= 0 {
					time.Sleep(time.Second)
					if len(heard)+len(heardB) > 0 {
						t.Error("told before it is known what there is")
					}
					close(late.connected)
					if !late.fails {
						s.ListsChanged(after[slow].Name)
					}
				}
				time.Sleep(time.Second)
				for _, of := range []struct {
					heard chan string
					want  []string
				}{{heard, c.told}, {heardB, c.toldB}} {
					var got []string
					for len(of.heard) > 0 {
						got = append(got, strings.Split(<-of.heard, "/")[1])
					}
					slices.Sort(got)
					if want := slices.Sorted(slices.Values(of.want)); !slices.Equal(got, want) {
						t.Errorf("told %q, want %q", got, want)
					}
				}
				var names []string
				for _, name := range gjson.Get(said(t, conn, "tools/list", `{}`), "tools.#.name").Array() {
					if !strings.HasPrefix(name.String(), "proxy_") {
						names = append(names, name.String())
					}
				}
				if got := strings.Join(names, " "); got != c.listed {
					t.Errorf("lists %s, want %s", got, c.listed)
				}
			})
		})
	}
}

// TestRetired: calls that run at a server which is replaced or taken out end there, its
// questions reach their clients, and then it is given back; new calls go to who is there.
func TestRetired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore(t)
		defer store.Close()
		var s *Server
		waits := func(name, id string, goOn chan string) *fake {
			f := server(nil, "x", "wait")
			f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
				if c.Name != "wait" {
					return textResult("of " + id), nil
				}
				switch <-goOn {
				case "ask":
					raw, err := s.Ask(ctx, id, "elicitation/create", json.RawMessage(`{"message":"from `+id+`"}`))
					return textResult(string(raw)), err
				}
				return textResult("done"), nil
			}
			return f
		}
		goOn := make(chan string)
		old, other := waits("a", "a", goOn), waits("b", "b", goOn)
		retired := make(chan Caller, 10)
		var err error
		s, err = New(Options{Store: store, Retired: func(c Caller) { retired <- c }, CallTimeout: time.Hour,
			Upstreams: []Upstream{{Name: "a", Prefix: "a", Conn: old}, {Name: "b", Prefix: "b", Conn: other}}})
		if err != nil {
			t.Fatal(err)
		}
		conn := attach(t, s, Identity{}, clientOptions{Handle: func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"action":"accept","content":` + string(params) + `}`), nil
		}})
		conn.initialize(t, canElicit)
		answers := make(chan string, 10)
		for _, tool := range []string{"a_wait", "a_wait", "b_wait"} {
			go func() { answers <- said(t, conn, "tools/call", `{"name":"`+tool+`","arguments":{}}`) }()
		}
		synctest.Wait()
		next := waits("a", "a@2", goOn)
		if err := s.SetUpstreams([]Upstream{{Name: "a", Prefix: "a", ID: "a@2", Conn: next}}); err != nil {
			t.Fatal(err)
		}
		if got := text(t, conn, "a_x", `{}`); got != "of a@2" {
			t.Errorf("a new call: %s", got)
		}
		if got := text(t, conn, "b_x", `{}`); !strings.HasPrefix(got, `unknown_tool: no tool "b_x"`) {
			t.Errorf("a call of what is not there: %s", got)
		}
		time.Sleep(10 * time.Minute)
		if len(retired)+len(answers) > 0 {
			t.Error("given back, or answered, while calls run")
		}
		var got []string
		for _, do := range []string{"ask", "ask", "go on"} {
			goOn <- do
			got = append(got, <-answers)
		}
		asked := strings.Count(strings.Join(got, ""), "accept")
		if all := strings.Join(got, ""); asked < 1 || strings.Contains(all, "isError") || strings.Contains(all, "error ") {
			t.Errorf("calls that ran: %q", got)
		}
		for range 2 {
			if c := <-retired; c != Caller(old) && c != Caller(other) {
				t.Error("given back: what is in use")
			}
		}
		if _, err := s.Ask(t.Context(), "b", "elicitation/create", nil); err == nil || !strings.Contains(err.Error(), "no server") {
			t.Errorf("who is gone asks: %v", err)
		}
		if err := s.SetUpstreams([]Upstream{{Name: "a", Conn: next}, {Name: "a", Conn: old}}); err == nil {
			t.Error("two of one name")
		}
		if err := s.SetUpstreams([]Upstream{{Name: "a", Conn: next, Tools: map[string]Policy{"x": {JQ: "{"}}}}); err == nil {
			t.Error("a program that is none")
		}
		if got := text(t, conn, "a_x", `{}`); got != "of a@2" {
			t.Errorf("after mistakes: %s", got)
		}
		go func() { answers <- said(t, conn, "tools/call", `{"name":"a_wait","arguments":{}}`) }()
		synctest.Wait()
		if err := s.SetUpstreams(nil); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if len(retired) != 1 || s.SetUpstreams(nil) == nil {
			t.Error("not given back at the end, or servers come after that")
		}
		goOn <- "go on"
		<-answers
	})
}

// TestRetiredProcesses: the processes of single agents end with their server, those that work
// when they have done so; and all at the proxy's end.
func TestRetiredProcesses(t *testing.T) {
	made, again := make(chan *mind, 10), make(chan *mind, 10)
	s, err := New(Options{Store: newStore(t), CallTimeout: time.Hour, Upstreams: []Upstream{minds(t, made)}})
	if err != nil {
		t.Fatal(err)
	}
	one, two := connect(t, s), connect(t, s)
	if got := text(t, one, "next", `{}`) + text(t, two, "next", `{}`); got != "11" {
		t.Fatal(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := two.Call(ctx, "tools/call", json.RawMessage(`{"name":"wait","arguments":{}}`))
		ended <- err
	}()
	first, second := <-made, <-made
	for second.agent.Running() == 0 {
		time.Sleep(time.Millisecond)
	}
	ups := minds(t, again)
	ups.ID = "s@2"
	if err := s.SetUpstreams([]Upstream{ups}); err != nil {
		t.Fatal(err)
	}
	if got := text(t, one, "next", `{}`) + text(t, one, "next", `{}`) + text(t, two, "next", `{}`); got != "121" {
		t.Errorf("counted %s by new processes", got)
	}
	select {
	case <-second.closed:
		t.Error("ended while a call runs")
	default:
	}
	cancel()
	<-ended
	<-first.closed
	<-second.closed
	s.Close()
	<-(<-again).closed
	<-(<-again).closed
}

// TestSetUpstreamsUnderLoad: while servers change all the time, calls of one that does not
// change are answered, and calls of others are or say that they are not there.
func TestSetUpstreamsUnderLoad(t *testing.T) {
	stays := server(nil, "x")
	of := func(n int) []Upstream {
		ups := []Upstream{{Name: "stays", Prefix: "stays", Conn: stays, Policy: Policy{MaxTokens: 100 + n}}}
		if n%3 > 0 {
			ups = append(ups, Upstream{Name: "a", Prefix: "a", ID: fmt.Sprint("a", n), Conn: server(nil, "x")})
		}
		if n%2 > 0 {
			slices.Reverse(ups)
		}
		return ups
	}
	s, err := New(Options{Store: newStore(t), Upstreams: of(1)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		conn := connect(t, s)
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if got := said(t, conn, "tools/call", `{"name":"stays_x","arguments":{}}`); !strings.Contains(got, `"x{}"`) {
					t.Errorf("stays_x: %s", got)
				}
				if got := said(t, conn, "tools/call", `{"name":"a_x","arguments":{}}`); !strings.Contains(got, `"x{}"`) && !strings.Contains(got, "unknown_tool") {
					t.Errorf("a_x: %s", got)
				}
				said(t, conn, "tools/list", `{}`)
			}
		})
	}
	for n := range 40 {
		if err := s.SetUpstreams(of(n)); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	clients.Wait()
}

// TestRetiredHandles: a task, and a person's word, are of the process that was there then. Under
// another policy they stay.
func TestRetiredHandles(t *testing.T) {
	of := func() *fake {
		f := offering(map[string]string{"tasks/get": `{"taskId":"t1","status":"working"}`})
		f.tools = server(nil, "x", "begin").tools
		f.call = func(_ context.Context, c toolCall) (json.RawMessage, error) {
			if c.Name == "begin" {
				return json.RawMessage(`{"task":{"taskId":"t1","status":"working"}}`), nil
			}
			return textResult("{}"), nil
		}
		return f
	}
	first := of()
	ups := []Upstream{{Name: "a", Prefix: "a", Conn: first}, {Name: "b", Prefix: "b", Conn: server(nil, "x")}}
	s, err := New(Options{Store: newStore(t), Upstreams: slices.Clone(ups)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	asked := 0
	conn := clientOf(t, s, canElicit, clientOptions{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		asked++
		return json.RawMessage(`{"action":"accept"}`), nil
	}})
	said(t, conn, "tools/call", `{"name":"a_begin","arguments":{}}`)
	for _, c := range []struct {
		name string
		a    Upstream
		asks int
		task string
	}{
		{"at first", ups[0], 1, `"working"`},
		{"the same", ups[0], 1, `"working"`},
		{"another policy", Upstream{Name: "a", Prefix: "a", Conn: first, Policy: Policy{Timeout: time.Hour}}, 1, `"working"`},
		{"another process", Upstream{Name: "a", Prefix: "a", ID: "a@2", Conn: of()}, 2, "you have no task"},
	} {
		if err := s.SetUpstreams([]Upstream{c.a, ups[1]}); err != nil {
			t.Fatal(err)
		}
		if got := text(t, conn, "proxy_filter", `{"tool":"a_x","arguments":{},"jq":"."}`); asked != c.asks || !strings.Contains(got, "{}") {
			t.Errorf("%s: asked %d times, want %d: %s", c.name, asked, c.asks, got)
		}
		if got := said(t, conn, "tasks/get", `{"taskId":"t1"}`); !strings.Contains(got, c.task) {
			t.Errorf("%s: the task: %s", c.name, got)
		}
	}
}
