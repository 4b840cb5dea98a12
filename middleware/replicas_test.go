package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/observe"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/upstream"
)

// A replica is one of several proxies with one store.
type replica struct {
	*Server
	t     *testing.T
	store *fleet.Store
	calls calls
	close func() // ends it as a deploy does
}

// calls are what was observed of a replica's.
type calls struct {
	mu  sync.Mutex // guards the field below
	all []string
}

func (c *calls) Called(call *observe.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, fmt.Sprintf("%s %s %s %s", call.Method, call.Name, call.Outcome, call.Error))
}

func (c *calls) list() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.all, "\n")
}

// replicas starts n proxies with what options has for each, which share what agents keep. That they
// leave nothing behind is seen at the end.
func replicas(t *testing.T, redis *fleettest.Server, n int, options func(r *replica) Options) (all []*replica) {
	t.Helper()
	kept := newStore(t)
	for range n {
		all = append(all, newReplica(t, redis, kept, options))
	}
	fleettest.Until(t, "all hear", func() bool {
		for _, r := range all {
			channel := r.store.Key("to", r.store.Replica())
			if n, err := redis.Client.PubSubNumSub(t.Context(), channel).Result(); err != nil || n[channel] == 0 {
				return false
			}
		}
		names, err := all[0].store.Replicas(t.Context())
		return err == nil && len(names) >= n
	})
	return all
}

func newReplica(t *testing.T, redis *fleettest.Server, kept *cache.Store, options func(r *replica) Options) *replica {
	t.Helper()
	r := &replica{t: t}
	var err error
	if r.store, err = fleet.Open(fleet.Options{URL: redis.URL}); err != nil {
		t.Fatal(err)
	}
	opts := options(r)
	opts.Fleet, opts.Store = r.store, kept
	opts.Observers = append(opts.Observers, &r.calls)
	if r.Server, err = New(opts); err != nil {
		t.Fatal(err)
	}
	r.close = sync.OnceFunc(func() {
		r.Server.Close()
		r.store.Close()
		if n := r.replicas.Working(); n != 0 {
			t.Errorf("%d requests of others are worked on after the end", n)
		}
	})
	t.Cleanup(r.close)
	return r
}

// as is a client at the replica.
func (r *replica) as(name string, opts clientOptions) client {
	return attach(r.t, r.Server, Identity{Name: name}, opts)
}

// session is one of an older revision, as a replica knows it that has taken it over.
func (r *replica) session(id string, opts clientOptions) client {
	conn := attach(r.t, r.Server, Identity{Session: id}, opts)
	conn.initialize(r.t, canElicit)
	return conn
}

// asking is a server whose tools ask a question for each word of their argument, with a report of
// progress before and behind it.
func (r *replica) asking(tools ...string) *fake {
	f := server(nil, tools...)
	f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
		var said []string
		for i, word := range strings.Fields(stringOf(c.Arguments, "say")) {
			if c.Progress != nil {
				for n := range 5 {
					c.Progress(fmt.Appendf(nil, `{"progressToken":1,"progress":%d}`, 10*i+n))
				}
			}
			raw, err := r.Ask(ctx, "s", "elicitation/create", jsonscan.Object("message", jsonscan.Quote(word)))
			if err != nil {
				return nil, err
			}
			said = append(said, string(raw))
		}
		return textResult(strings.Join(said, " ")), nil
	}
	return f
}

const startAsking = `"name":"x","arguments":{"say":"one two"},`

// goingOn is a request that goes on with the one that got an answer.
func goingOn(request, got, answer string) string {
	name := ""
	for key := range gjson.Get(got, "inputRequests").Map() {
		name = key
	}
	return `{` + request + `"requestState":` + gjson.Get(got, "requestState").Raw + `,"inputResponses":{` + string(jsonscan.Quote(name)) + `:` + answer + `},` + statelessMeta(`"progressToken":"p",`) + `}`
}

// TestDeferredElsewhere: a client of 2026-07-28 answers what it was asked at whichever replica, and
// hears there what becomes of its request. Nobody else can.
func TestDeferredElsewhere(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("replicas", func(t *testing.T) {
		all := replicas(t, fleettest.Start(t), 3, func(r *replica) Options {
			return Options{Upstreams: []Upstream{{Name: "s", Conn: r.asking("x")}}}
		})
		var mu sync.Mutex
		var reports []string
		hear := clientOptions{Notify: func(method string, params json.RawMessage) {
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, gjson.GetBytes(params, "progressToken").String()+gjson.GetBytes(params, "progress").Raw)
		}}
		first := ask(t, all[0].as("ann", hear), "tools/call", `{`+startAsking+statelessMeta(`"progressToken":"f",`)+`}`)
		if gjson.Get(first, "inputRequests.q1.params.message").String() != "one" {
			t.Fatal(first)
		}
		for _, one := range all { // also where it runs
			if got := ask(t, one.as("bob", clientOptions{}), "tools/call", goingOn(startAsking, first, `{"a":0}`)); !strings.Contains(got, "unknown, or came back too late") {
				t.Errorf("another agent: %s", got)
			}
		}
		other := strings.Replace(goingOn(startAsking, first, `{"a":0}`), `"name":"x"`, `"name":"y"`, 1)
		if got := ask(t, all[1].as("ann", clientOptions{}), "tools/call", other); strings.Contains(got, `\"a\"`) {
			t.Errorf("another tool: %s", got)
		}
		second := ask(t, all[1].as("ann", hear), "tools/call", goingOn(startAsking, first, `{"a":1.0}`))
		if gjson.Get(second, "inputRequests.q2.params.message").String() != "two" {
			t.Fatal(second)
		}
		last := ask(t, all[2].as("ann", clientOptions{}), "tools/call", goingOn(startAsking, second, `{"b":"<é>"}`))
		if got := gjson.Get(last, "content.0.text").String(); got != `{"a":1.0} {"b":"<é>"}` || gjson.Get(last, "resultType").String() != "complete" {
			t.Errorf("at the end: %s", last)
		}
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(reports, " "); got != "f0 f1 f2 f3 f4 p10 p11 p12 p13 p14" {
			t.Errorf("progress: %s", got)
		}
		// Each call is observed once, where it ran; those of bob at 1, where the state is from.
		if got := all[1].calls.list() + all[2].calls.list(); got != "" {
			t.Errorf("observed elsewhere: %s", got)
		}
		if got := strings.Count(all[0].calls.list(), "tools/call"); got != 7 {
			t.Errorf("observed: %s", all[0].calls.list())
		}
		if got := ask(t, all[1].as("ann", clientOptions{}), "tools/call", goingOn(startAsking, second, `{"b":1}`)); !strings.Contains(got, "unknown, or came back too late") {
			t.Errorf("a second time: %s", got)
		}
	})
	fleettest.Until(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

// TestStatesAreSigned: what a client made up, or a server that is a fleet of its own gave, is asked
// of no replica.
func TestStatesAreSigned(t *testing.T) {
	redis := fleettest.Start(t)
	all := replicas(t, redis, 2, func(r *replica) Options { return Options{Upstreams: []Upstream{{Name: "s", Conn: r.asking("x")}}} })
	theirs, err := fleet.Open(fleet.Options{URL: redis.URL, Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	for _, state := range []string{"rlmproxy:", "rlmproxy::", "rlmproxy:" + all[1].store.Replica() + ":", "rlmproxy:" + all[1].store.Replica() + "::x",
		"rlmproxy:" + all[1].store.Replica() + ":AAAAAAAAAAAA:x", "rlmproxy:" + theirs.Replica() + ":AAAAAAAAAAAA:x", "x"} {
		if got := all[0].relay.Deferred().Elsewhere(state); got != "" {
			t.Errorf("%s is of %s", state, got)
		}
	}
}

// TestLostReplica: what went on at a replica that ends has one error that says so, whether it ends
// before or while it is asked. No hint repeats a call that may have acted.
func TestLostReplica(t *testing.T) {
	redis := fleettest.Start(t)
	all := replicas(t, redis, 2, func(r *replica) Options {
		f := r.asking("x", "acts")
		f.tools[1].Raw = json.RawMessage(`{"name":"acts","inputSchema":{"type":"object"}}`)
		call := f.call
		f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
			raw, err := call(ctx, c)
			if stringOf(c.Arguments, "then") == "wait" && err == nil {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			return raw, err
		}
		return Options{Upstreams: []Upstream{{Name: "s", Conn: f}}, MaxTokens: 1000}
	})
	ann := all[0].as("ann", clientOptions{})
	begin := func(tool, then string) (request, got string) {
		request = `"name":"` + tool + `","arguments":{"say":"one","then":"` + then + `"},`
		return request, ask(t, ann, "tools/call", `{`+request+statelessMeta("")+`}`)
	}
	reads, first := begin("x", "")
	acts, second := begin("acts", "")
	waits, third := begin("x", "wait")
	proxied := `"name":"proxy_filter","arguments":{"tool":"acts","jq":"."},`
	there := all[1].as("ann", clientOptions{})
	during := make(chan string, 1)
	go func() { during <- ask(t, there, "tools/call", goingOn(waits, third, `{"a":1}`)) }()
	fleettest.Until(t, "the request runs at the other replica", func() bool { return all[0].replicas.Working() == 1 })
	all[0].close()
	check := func(what, got, code, hint, not string) {
		t.Helper()
		text := gjson.Get(got, "content.0.text").String()
		if !gjson.Get(got, "isError").Bool() || !strings.Contains(text, code) || !strings.Contains(text, hint) || not != "" && strings.Contains(text, not) {
			t.Errorf("%s: %s", what, got)
		}
	}
	const gone = "upstream_unavailable: the replica of the proxy that this call ran on is gone, and its result is lost"
	check("while it ran", <-during, gone, "hint: call the tool again", "repeat")
	check("before", ask(t, there, "tools/call", goingOn(reads, first, `{"a":1}`)), gone, "hint: call the tool again", "repeat")
	check("it acts", ask(t, there, "tools/call", goingOn(acts, second, `{"a":1}`)), gone, "acts is not declared read-only", "call the tool again")
	check("it acts, by a tool of ours", ask(t, there, "tools/call", goingOn(proxied, second, `{"a":1}`)), gone, "acts is not declared read-only", "call the tool again")
	if got := ask(t, there, "prompts/get", goingOn(`"name":"p",`, second, `{"a":1}`)); !strings.Contains(got, "error: ") || !strings.Contains(got, gone) {
		t.Errorf("another method: %s", got)
	}
	if got := all[1].calls.list(); strings.Count(got, "upstream_unavailable") != 5 {
		t.Errorf("observed: %s", got)
	}
}

// TestCancelledElsewhere: a client that does not wait any more ends its request at whichever replica
// that runs.
func TestCancelledElsewhere(t *testing.T) {
	ended := make(chan error, 1)
	all := replicas(t, fleettest.Start(t), 2, func(r *replica) Options {
		f := server(nil, "x")
		f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
			if _, err := r.Ask(ctx, "s", "elicitation/create", json.RawMessage(`{}`)); err != nil {
				return nil, err
			}
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil, context.Cause(ctx)
		}
		return Options{Upstreams: []Upstream{{Name: "s", Conn: f}}}
	})
	first := ask(t, all[0].as("ann", clientOptions{}), "tools/call", `{"name":"x",`+statelessMeta("")+`}`)
	ctx, cancel := context.WithCancel(t.Context())
	there := all[1].as("ann", clientOptions{})
	done := make(chan error, 1)
	go func() {
		_, err := there.Call(ctx, "tools/call", json.RawMessage(goingOn(`"name":"x",`, first, `{}`)))
		done <- err
	}()
	fleettest.Until(t, "it runs", func() bool { return all[0].replicas.Working() == 1 })
	cancel()
	if err := <-done; err == nil {
		t.Error("it was answered")
	}
	fleettest.Until(t, "it is cancelled where it runs", func() bool { return len(ended) == 1 })
	fleettest.Until(t, "nothing runs", func() bool { return all[0].replicas.Working() == 0 })
}

// TestTasksElsewhere: a task is reached from each replica by the party that it was given to, and by
// nobody else; also those of a process of one agent. Where its replica is gone, it is asked for at a
// server that runs elsewhere, and else lost.
func TestTasksElsewhere(t *testing.T) {
	redis := fleettest.Start(t)
	far := newTaskServer() // one, which all replicas reach
	var near []*taskServer
	all := replicas(t, redis, 3, func(r *replica) Options {
		near = append(near, newTaskServer())
		return Options{Upstreams: []Upstream{{Name: "near", Prefix: "near", Conn: near[len(near)-1]}, {Name: "far", Prefix: "far", Conn: far, Remote: true}}}
	})
	start := func(conn client, server, say, meta string) string {
		t.Helper()
		return ask(t, conn, "tools/call", `{"name":"`+server+`_x","arguments":{"say":"`+say+`"},"task":{"ttl":60000}`+meta+`}`)
	}
	var at [3]struct{ alice, bob, carol client }
	for i, r := range all {
		at[i].alice, at[i].bob, at[i].carol = r.session("alice's", clientOptions{}), r.session("bob's", clientOptions{}), r.as("carol", clientOptions{})
	}
	start(at[1].bob, "near", "padding", "") // so that IDs differ
	start(at[0].alice, "near", "near alice", "")
	start(at[1].bob, "near", "near bob", "")
	start(at[0].alice, "far", "far alice", "")
	start(at[0].carol, "far", "far carol", ","+statelessMeta(""))
	for i := range at {
		for _, method := range taskMethods {
			for _, tt := range []struct {
				who   string
				conn  client
				id    string
				meta  string
				reads string // of tasks/result, "" nothing
			}{
				{"alice", at[i].alice, "task-0", "", "near alice"}, {"bob", at[i].bob, "task-1", "", "near bob"},
				{"carol", at[i].carol, "task-1", "," + statelessMeta(""), "far carol"},
				{"alice", at[i].alice, "task-7", "", ""}, {"carol", at[i].carol, "task-0", "," + statelessMeta(""), ""},
			} {
				got := ask(t, tt.conn, method, `{"taskId":"`+tt.id+`"`+tt.meta+`}`)
				if tt.reads == "" != strings.Contains(got, "you have no task with this taskId") || tt.reads != "" && method == "tasks/result" && !strings.Contains(got, tt.reads) {
					t.Errorf("%s at %d, %s of %s: %s", tt.who, i, method, tt.id, got)
				}
			}
		}
	}
	near[1].mu.Lock()
	if got := strings.Join(near[1].asked, "\n"); strings.Contains(got, "task-0") {
		t.Errorf("the wrong replica's server was asked: %s", got)
	}
	near[1].mu.Unlock()
	all[0].close()
	if got := ask(t, at[1].carol, "tasks/result", `{"taskId":"task-1",`+statelessMeta("")+`}`); !strings.Contains(got, "far carol") {
		t.Errorf("a server elsewhere goes on: %s", got)
	}
	if got := ask(t, at[2].bob, "tasks/result", `{"taskId":"task-1"}`); !strings.Contains(got, "near bob") {
		t.Errorf("the replica of bob's is there: %s", got)
	}
	all[1].close()
	if got := ask(t, at[2].bob, "tasks/get", `{"taskId":"task-1"}`); !strings.Contains(got, "upstream_unavailable: the replica of the proxy that this task ran on is gone") {
		t.Errorf("lost: %s", got)
	}
}

// TestTasksOfAgentsElsewhere: where each agent has a connection of its own, its tasks are at the
// replica that has it.
func TestTasksOfAgentsElsewhere(t *testing.T) {
	all := replicas(t, fleettest.Start(t), 2, func(r *replica) Options {
		return Options{Upstreams: []Upstream{{Name: "s", Prefix: "s", Conn: newTaskServer(), PerAgent: func(*relay.Connection) relay.OwnConn { return ownTasks{newTaskServer()} }}, {Name: "t", Prefix: "t", Conn: newTaskServer()}}}
	})
	alice := [2]client{all[0].session("a", clientOptions{}), all[1].session("a", clientOptions{})}
	ask(t, alice[0], "tools/call", `{"name":"s_x","arguments":{"say":"hello"},"task":{}}`)
	for i := range alice {
		if got := ask(t, alice[i], "tasks/result", `{"taskId":"task-0"}`); !strings.Contains(got, "hello") {
			t.Errorf("at %d: %s", i, got)
		}
	}
	if got := ask(t, all[1].session("b", clientOptions{}), "tasks/result", `{"taskId":"task-0"}`); !strings.Contains(got, "you have no task") {
		t.Errorf("another agent: %s", got)
	}
}

// ownTasks is a task server of one agent.
type ownTasks struct{ *taskServer }

func (ownTasks) Close() {}

// TestListOfTasksElsewhere: a list goes on where it began, and a cursor is its party's.
func TestListOfTasksElsewhere(t *testing.T) {
	all := replicas(t, fleettest.Start(t), 2, func(r *replica) Options {
		return Options{Upstreams: []Upstream{{Name: "s", Conn: newTaskServer()}}}
	})
	alice := [2]client{all[0].session("a", clientOptions{}), all[1].session("a", clientOptions{})}
	for _, say := range []string{"one", "two"} {
		ask(t, alice[0], "tools/call", startTask(say))
	}
	page := ask(t, alice[0], "tasks/list", `{}`)
	cursor := `{"cursor":` + gjson.Get(page, "nextCursor").Raw + `}`
	if got := ask(t, alice[1], "tasks/list", cursor); gjson.Get(got, "tasks.0.taskId").String() != "task-1" {
		t.Errorf("%s goes on with %s", page, got)
	}
	if got := ask(t, all[1].session("b", clientOptions{}), "tasks/list", cursor); !strings.Contains(got, "begin the list without one") {
		t.Errorf("another agent: %s", got)
	}
	all[0].close()
	if got := ask(t, alice[1], "tasks/list", cursor); !strings.Contains(got, "begin the list without one") {
		t.Errorf("the replica is gone: %s", got)
	}
}

// TestRightsElsewhere: what an agent may use is looked at where its request is answered, too.
func TestRightsElsewhere(t *testing.T) {
	all := replicas(t, fleettest.Start(t), 2, func(r *replica) Options {
		return Options{Upstreams: []Upstream{{Name: "s", Conn: r.asking("x")}, {Name: "t", Prefix: "t", Conn: newTaskServer()}}}
	})
	who := Identity{Subject: "token:ann", Who: rights.Who{Agent: "ann"}}
	at := func(i int) client { return attach(t, all[i].Server, who, clientOptions{}) }
	first := ask(t, at(0), "tools/call", `{`+startAsking+statelessMeta("")+`}`)
	ask(t, at(0), "tools/call", `{"name":"t_x","arguments":{"say":"hello"},`+statelessMeta("")+`}`)
	task := `{"taskId":"task-0",` + statelessMeta("") + `}`
	if got := ask(t, at(1), "tasks/result", task); !strings.Contains(got, "hello") {
		t.Errorf("before: %s", got)
	}
	all[0].SetRights(&rights.Rules{Agents: map[string]rights.Entry{"ann": {Deny: []string{"x", "t_*"}}}})
	if got := ask(t, at(1), "tools/call", goingOn(startAsking, first, `{"a":1}`)); !strings.Contains(got, `no tool \"x\"`) {
		t.Errorf("a tool: %s", got)
	}
	if got := ask(t, at(1), "tasks/result", task); !strings.Contains(got, "you have no task with this taskId") {
		t.Errorf("a task: %s", got)
	}
}

// TestTaskAsksElsewhere: what a server asks while it is asked for a task reaches the client at the
// replica that it came to.
func TestTaskAsksElsewhere(t *testing.T) {
	all := replicas(t, fleettest.Start(t), 2, func(r *replica) Options {
		ts := newTaskServer()
		answer := ts.answer
		ts.answer = func(ctx context.Context, u upstream.Request) (json.RawMessage, error) {
			if u.Method != "tasks/result" {
				return answer(ctx, u)
			}
			raw, err := r.Ask(context.Background(), "s", "elicitation/create", json.RawMessage(`{"message":"who?","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"task-0"}}}`))
			return textResult(string(raw)), err
		}
		return Options{Upstreams: []Upstream{{Name: "s", Conn: ts}}}
	})
	here := all[0].session("a", clientOptions{})
	there := all[1].session("a", clientOptions{Handle: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		return jsonscan.Object("asked", jsonscan.Quote(method+gjson.GetBytes(params, "message").String())), nil
	}})
	ask(t, here, "tools/call", startTask("x"))
	if got := ask(t, there, "tasks/result", `{"taskId":"task-0"}`); !strings.Contains(got, "elicitation/createwho?") {
		t.Errorf("it read %s", got)
	}
}

// TestConsentElsewhere: a person is asked once, whichever replica asks, and a refusal counts on
// each. While the store is away, who was asked elsewhere is asked again.
func TestConsentElsewhere(t *testing.T) {
	redis := fleettest.Start(t)
	var mu sync.Mutex
	all := replicas(t, redis, 3, func(r *replica) Options {
		f, _ := actor()
		f.call = func(context.Context, toolCall) (json.RawMessage, error) {
			return textResult("[1,2,3]"), nil
		}
		return Options{Upstreams: []Upstream{{Name: "s", Conn: f}}}
	})
	request := `"name":"proxy_filter","arguments":` + deleteAll + `,`
	for action, want := range map[string]string{"accept": "\n3", "decline": "declined"} {
		// Of 2026-07-28: asked by 1, answered at 2.
		name := "ann " + action
		at := func(i int) client { return all[i].as(name, clientOptions{}) }
		plain := `{` + request + statelessMeta("") + `}`
		question := ask(t, at(0), "tools/call", plain)
		again := ask(t, at(2), "tools/call", plain)
		if again != question || !strings.Contains(question, "input_required") {
			t.Fatalf("asked %s, then %s", question, again)
		}
		if got := ask(t, all[1].as("eve", clientOptions{}), "tools/call", goingOn(request, question, `{"action":"accept"}`)); !strings.Contains(got, "input_required") {
			t.Errorf("another agent: %s", got)
		}
		for i, sent := range []string{goingOn(request, question, `{"action":"`+action+`"}`), plain, goingOn(request, question, `{"action":"accept"}`)} {
			if got := ask(t, at(1+i%2), "tools/call", sent); !strings.Contains(gjson.Get(got, "content.0.text").String(), want) {
				t.Errorf("%s, %d: %s", action, i, got)
			}
		}
		// Of older revisions: several calls at once, at all replicas.
		asked := 0
		handle := clientOptions{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			mu.Lock()
			defer mu.Unlock()
			asked++
			return json.RawMessage(`{"action":"` + action + `"}`), nil
		}}
		var calls sync.WaitGroup
		for i := range 6 {
			conn := all[i%3].session("session "+action, handle)
			calls.Go(func() {
				if got := ask(t, conn, "tools/call", `{"name":"proxy_filter","arguments":`+deleteAll+`}`); !strings.Contains(gjson.Get(got, "content.0.text").String(), want) {
					t.Errorf("%s, session, %d: %s", action, i, got)
				}
			})
		}
		calls.Wait()
		if asked != 1 {
			t.Errorf("%s: asked %d times", action, asked)
		}
	}
	// Without the store nobody is let through who did not agree here.
	redis.Kill()
	fresh := func(i int) string {
		return ask(t, all[i].as("ann accept", clientOptions{}), "tools/call", `{`+request+statelessMeta("")+`}`)
	}
	if got := fresh(0); !strings.Contains(got, "input_required") {
		t.Errorf("the replica that only asked: %s", got)
	}
	if got := fresh(1); !strings.Contains(gjson.Get(got, "content.0.text").String(), "\n3") {
		t.Errorf("the replica that was told: %s", got)
	}
}

// TestDismissedElsewhere: questions that a person leaves open are counted over all replicas.
func TestDismissedElsewhere(t *testing.T) {
	all := replicas(t, fleettest.Start(t), 2, func(r *replica) Options {
		f, _ := actor()
		return Options{Upstreams: []Upstream{{Name: "s", Conn: f}}}
	})
	request := `"name":"proxy_filter","arguments":` + deleteAll + `,`
	for i, want := range []string{"did not answer", "declined"} {
		question := ask(t, all[i].as("ann", clientOptions{}), "tools/call", `{`+request+statelessMeta("")+`}`)
		got := ask(t, all[1-i].as("ann", clientOptions{}), "tools/call", goingOn(request, question, `{"action":"cancel"}`))
		if !strings.Contains(gjson.Get(got, "content.0.text").String(), want) {
			t.Errorf("%d: %s", i, got)
		}
	}
}

// anyID is what cached IDs look like, and how many tokens they have: those of two agents differ.
var anyID = regexp.MustCompile(`\b[a-z2-7]{16}\b|"shown_tokens":\d+`)

// TestSeenElsewhere: what a session was shown by one replica, another knows, and counts the replies
// of all.
func TestSeenElsewhere(t *testing.T) {
	body, nearly := records(300), strings.Replace(records(300), "row 7", "line 7", 1)
	one, several := (*replica)(nil), []*replica(nil)
	options := func(r *replica) Options {
		return Options{Upstreams: []Upstream{{Name: "s", TrustHints: true, Conn: server(map[string]string{"x": string(textResult(body)), "y": string(textResult(nearly))}, "x", "y", "small")}}}
	}
	redis := fleettest.Start(t)
	one, several = replicas(t, redis, 1, options)[0], replicas(t, redis, 3, options)
	alone := one.session("alone", clientOptions{})
	var together []client
	for _, r := range several {
		together = append(together, r.session("together", clientOptions{}))
	}
	for i, tool := range []string{"x", "x", "small", "small", "x", "y", "x", "small", "x"} {
		want, got := call(t, alone, tool, `{}`), call(t, together[i%3], tool, `{}`)
		if a, b := anyID.ReplaceAllString(want, "ID"), anyID.ReplaceAllString(got, "ID"); a != b {
			t.Errorf("call %d of %s:\n%.400s\nbut of one replica\n%.400s", i, tool, b, a)
		}
	}
	redis.Kill()
	if got := text(t, together[0], "x", `{}`); strings.Contains(got, "ago") || !strings.Contains(got, "JSON array of 300 items") {
		t.Errorf("while the store is away: %.300s", got)
	}
}

// TestFoundElsewhere: a tool that a session's agent has found is in its list at each replica, and the
// session hears of it where it listens.
func TestFoundElsewhere(t *testing.T) {
	all := replicas(t, fleettest.Start(t), 2, func(r *replica) Options {
		return Options{ListFound: true, Exposure: ExposeSearch, Upstreams: []Upstream{{Name: "s", Conn: server(nil, "x", "y")}}}
	})
	heard := make(chan string, 10)
	here, there := all[0].session("a", clientOptions{}), all[1].session("a", clientOptions{Notify: func(method string, _ json.RawMessage) { heard <- method }})
	other := all[1].session("b", clientOptions{})
	call(t, here, "proxy_describe_tools", `{"names":["x"]}`)
	fleettest.Until(t, "the session hears of it", func() bool { return len(heard) > 0 })
	if got := <-heard; got != "notifications/tools/list_changed" {
		t.Error(got)
	}
	names := func(conn client) string { return gjson.Get(ask(t, conn, "tools/list", `{}`), "tools.#.name").Raw }
	if a, b := names(here), names(there); a != b || !strings.Contains(a, `"x"`) || strings.Contains(a, `"y"`) {
		t.Errorf("%s, but %s", a, b)
	}
	if got := names(other); strings.Contains(got, `"x"`) {
		t.Errorf("another session: %s", got)
	}
}

// TestAnyReplica: what needs no replica's own is answered by each alike: calls, what is kept, prompts,
// resources, completion, changes.
func TestAnyReplica(t *testing.T) {
	all := replicas(t, fleettest.Start(t), 2, func(r *replica) Options {
		f := offering(map[string]string{
			"resources/list":      `{"resources":[{"uri":"a:b","name":"b"}]}`,
			"resources/read":      `{"contents":[{"uri":"a:b","text":"t"}]}`,
			"completion/complete": `{"completion":{"values":["v"]}}`,
			"prompts/get":         `{"messages":[]}`,
		})
		f.prompts = []upstream.Tool{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}
		f.call = func(context.Context, toolCall) (json.RawMessage, error) { return textResult(records(300)), nil }
		return Options{Upstreams: []Upstream{{Name: "s", Conn: f}}}
	})
	cut := ask(t, all[0].as("ann", clientOptions{}), "tools/call", `{"name":"x",`+statelessMeta("")+`}`)
	id := gjson.Get(cut, `_meta.rlmproxy/result.cache_id`).String()
	if id == "" {
		t.Fatalf("%.300s", cut)
	}
	ref := `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""},`
	for _, request := range [][2]string{
		{"server/discover", ""}, {"tools/list", ""}, {"prompts/list", ""}, {"resources/list", ""},
		{"tools/call", `"name":"x",`}, {"tools/call", `"name":"proxy_filter","arguments":{"cache_id":"` + id + `","jq":"length"},`},
		{"prompts/get", `"name":"p",`}, {"resources/read", `"uri":"a:b",`}, {"resources/read", `"uri":"rlmproxy://cache/` + id + `/0",`}, {"completion/complete", ref},
	} {
		var got [2]string
		for i, r := range all {
			got[i] = ask(t, r.as("ann", clientOptions{}), request[0], `{`+request[1]+statelessMeta("")+`}`)
		}
		if got[0] != got[1] || strings.HasPrefix(got[0], "error: ") || gjson.Get(got[0], "isError").Bool() {
			t.Errorf("%s:\n%.300s\n%.300s", request, got[0], got[1])
		}
	}
	for _, r := range all {
		heard := make(chan string, 10)
		conn := r.as("ann", hears(heard, "ann"))
		ctx, cancel := context.WithCancel(t.Context())
		listening := make(chan error, 1)
		go func() {
			_, err := conn.Call(ctx, "subscriptions/listen", json.RawMessage(`{"notifications":{"toolsListChanged":true},`+statelessMeta("")+`}`))
			listening <- err
		}()
		fleettest.Until(t, "it listens", func() bool { return len(heard) > 0 })
		if got := <-heard; !strings.Contains(got, "acknowledged") {
			t.Error(got)
		}
		cancel()
		<-listening
	}
}

// TestOddMessages: whatever else is in the store's channels, no replica ends of it.
func TestOddMessages(t *testing.T) {
	redis := fleettest.Start(t)
	all := replicas(t, redis, 2, func(r *replica) Options { return Options{Upstreams: []Upstream{{Name: "s", Conn: r.asking("x")}}} })
	stranger, err := fleet.Open(fleet.Options{URL: redis.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	b64 := func(text string) []byte { return []byte(text) }
	type m = map[string]any
	for kind, bodies := range map[string][]any{
		"forward request": {nil, 5, "x", m{}, m{"id": "1"}, m{"id": "2", "method": "tools/call", "params": b64("{")}, m{"id": "3", "method": "", "params": b64("[]")},
			m{"id": "4", "method": "tools/call", "params": b64(`{"name":"x"}`), "client": m{"handshake": b64("nonsense")}}, m{"id": strings.Repeat("x", 100), "method": "ping"},
			m{"id": "5", "method": "initialize", "params": b64(`{}`), "client": m{"identity": m{"Name": "ann", "Who": m{"Scopes": []string{""}}}}},
			m{"id": "6", "method": "subscriptions/listen", "params": b64(`{` + statelessMeta("") + `}`), "client": m{"identity": m{"Name": "ann"}}}},
		"forward message": {nil, m{}, m{"id": "1", "message": b64("{")}, m{"id": "1", "seq": -1, "gone": true}},
		"forward control": {nil, m{}, m{"id": "1", "answer": b64("x")}, m{"id": "6", "answer": b64(`{"id":"rlm-1","result":{}}`)}, m{"id": "6"}},
		"found tools":     {nil, 5, "", "x"},
	} {
		for _, body := range bodies {
			if err := stranger.Tell(t.Context(), all[0].store.Replica(), kind, body); err != nil {
				t.Error(err)
			}
		}
	}
	first := ask(t, all[0].as("ann", clientOptions{}), "tools/call", `{"name":"x","arguments":{"say":"one"},`+statelessMeta("")+`}`)
	if got := ask(t, all[1].as("ann", clientOptions{}), "tools/call", goingOn(`"name":"x","arguments":{},`, first, `{"a":1.0}`)); !strings.Contains(got, `{\"a\":1.0}`) {
		t.Error(got)
	}
}
