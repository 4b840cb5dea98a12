package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/upstream"
)

// A taskServer is a server with tasks, which knows no difference between clients. Its
// cursors are task IDs, as in servers that exist.
type taskServer struct {
	*fake
	mu    sync.Mutex // guards the fields below
	tasks []string   // what each was called with
	asked []string   // methods and params
}

func newTaskServer() *taskServer {
	ts := &taskServer{fake: offering(nil)}
	object := func(i int) string {
		return fmt.Sprintf(`{"taskId":"task-%d","status":"working","ttl":60000,"future":1.0}`, i)
	}
	ts.raw = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		ts.tasks = append(ts.tasks, stringOf(jsonscan.Member(r.Params, "arguments"), "say"))
		id := fmt.Sprintf("task-%d", len(ts.tasks)-1)
		if jsonscan.Member(r.Params, "task") == nil { // the extension's
			return json.RawMessage(`{"resultType":"task","taskId":"` + id + `","status":"working","ttlMs":60000}`), nil
		}
		return json.RawMessage(`{"task":` + object(len(ts.tasks)-1) + `}`), nil
	}
	ts.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		ts.asked = append(ts.asked, r.Method+" "+string(r.Params))
		unknown := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Failed to retrieve task: Task not found"}
		if r.Method == "tasks/list" {
			from := 0
			if cursor := stringOf(r.Params, "cursor"); cursor != "" {
				if _, err := fmt.Sscanf(cursor, "task-%d", &from); err != nil {
					return nil, unknown
				}
			}
			if len(ts.tasks) == 0 {
				return json.RawMessage(`{"tasks":[],"n":1.0}`), nil
			}
			next := ""
			if from+1 < len(ts.tasks) {
				next = fmt.Sprintf(`,"nextCursor":"task-%d"`, from+1)
			}
			return json.RawMessage(`{"tasks":[ ` + object(from) + `]` + next + `,"n":1.0}`), nil
		}
		if !strings.HasPrefix(r.Method, "tasks/") {
			return json.RawMessage(`{"n":1.0}`), nil
		}
		for i, said := range ts.tasks {
			if stringOf(r.Params, "taskId") != fmt.Sprintf("task-%d", i) {
				continue
			}
			if r.Method == "tasks/result" {
				return json.RawMessage(`{"content":[{"type":"text","text":"` + said + `"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"task-0"}},"n":1.0}`), nil
			}
			return json.RawMessage(object(i)), nil
		}
		return nil, unknown
	}
	return ts
}

func startTask(say string) string {
	return `{"name":"x","arguments":{"say":"` + say + `"},"task":{"ttl":60000}}`
}

var taskMethods = []string{"tasks/get", "tasks/result", "tasks/cancel", "tasks/update"}

// TestTasksBelongToTheirAgent: before a server that several agents use, a task is of the
// agent that was given it. Others hear of it what they hear of one that never was.
func TestTasksBelongToTheirAgent(t *testing.T) {
	ts := newTaskServer()
	s, alice := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: ts}}})
	bob := connect(t, s)
	ask(t, alice, "tools/call", startTask("secret of alice"))
	ask(t, bob, "tools/call", startTask("secret of bob"))
	ask(t, alice, "tools/call", `{"name":"x","arguments":{"say":"more of alice"}}`)
	for _, who := range []struct {
		name  string
		conn  client
		tasks map[string]bool
	}{{"alice", alice, map[string]bool{"task-0": true, "task-2": true}}, {"bob", bob, map[string]bool{"task-1": true}}} {
		for _, method := range taskMethods {
			nobody := ask(t, who.conn, method, `{"taskId":"task-77"}`)
			if !strings.HasPrefix(nobody, "error: ") {
				t.Errorf("%s: %s", method, nobody)
			}
			for _, id := range []string{"task-0", "task-1", "task-2"} {
				got := ask(t, who.conn, method, `{"taskId":"`+id+`"}`)
				if who.tasks[id] == (got == nobody) || who.tasks[id] == strings.HasPrefix(got, "error: ") {
					t.Errorf("%s, %s %s: %s", who.name, method, id, got)
				}
			}
		}
		listed, params := map[string]bool{}, `{}`
		for range 3 {
			page := ask(t, who.conn, "tasks/list", params)
			for _, task := range gjson.Get(page, "tasks.#.taskId").Array() {
				listed[task.String()] = true
			}
			cursor := gjson.Get(page, "nextCursor")
			if strings.Contains(cursor.String(), "task") || !strings.Contains(page, `"n":1.0`) {
				t.Errorf("%s: %s", who.name, page)
			}
			params = `{"cursor":` + cursor.Raw + `}`
		}
		if fmt.Sprint(listed) != fmt.Sprint(who.tasks) {
			t.Errorf("%s has %v listed, want %v", who.name, listed, who.tasks)
		}
	}
	for _, two := range []string{`{"taskId":"task-0","taskId":"task-1"}`, `{"taskId":"task-1","TaskID":"task-0"}`, `{"taskId":["task-0"]}`, `{}`} {
		if got := ask(t, bob, "tasks/result", two); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: %s", two, got)
		}
	}
	// A cursor is its agent's, too.
	cursor := gjson.Get(ask(t, alice, "tasks/list", `{}`), "nextCursor").Raw
	if again := gjson.Get(ask(t, alice, "tasks/list", `{}`), "nextCursor").Raw; again != cursor {
		t.Errorf("twice the same list: %s, %s", cursor, again)
	}
	for _, bad := range []string{cursor, `"task-1"`, `"!"`, `5`} {
		if got := ask(t, bob, "tasks/list", `{"cursor":`+bad+`}`); !strings.Contains(got, "begin the list without one") {
			t.Errorf("%s: %s", bad, got)
		}
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, asked := range ts.asked {
		if strings.Contains(asked, "task-77") {
			t.Errorf("the server heard %s", asked)
		}
	}
}

// TestTasksEndWithTheirAgent: nobody comes to a task whose agent has gone, and none is
// kept.
func TestTasksEndWithTheirAgent(t *testing.T) {
	ts := newTaskServer()
	s, alice := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: ts}}})
	bob := connect(t, s)
	ask(t, bob, "tools/call", startTask("bob"))
	carol := attach(t, s, Identity{Session: "carol"}, clientOptions{})
	carol.initialize(t, nil)
	ask(t, carol, "tools/call", startTask("carol"))
	again := attach(t, s, Identity{Subject: "dave"}, clientOptions{})
	again.initialize(t, nil)
	ask(t, again, "tools/call", startTask("dave"))
	again.Close()
	later := attach(t, s, Identity{Subject: "dave"}, clientOptions{})
	later.initialize(t, nil)
	if got := ask(t, later, "tasks/result", `{"taskId":"task-2"}`); !strings.Contains(got, "dave") {
		t.Errorf("a subject comes back to its task: %s", got)
	}
	for _, id := range []string{"task-0", "task-1", "task-2"} {
		if got := ask(t, alice, "tasks/result", `{"taskId":"`+id+`"}`); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// TestTaskExpires: a task that the server may have forgotten is nobody's.
func TestTaskExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := newTaskServer()
		s, alice := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: ts}}})
		defer s.Close()
		ask(t, connect(t, s), "tools/call", startTask("bob"))
		ask(t, alice, "tools/call", startTask("alice"))
		if got := ask(t, alice, "tasks/result", `{"taskId":"task-1"}`); !strings.Contains(got, "alice") {
			t.Error(got)
		}
		time.Sleep(3 * time.Minute)
		if got := ask(t, alice, "tasks/result", `{"taskId":"task-1"}`); !strings.HasPrefix(got, "error: ") {
			t.Error(got)
		}
	})
}

// TestOneAgentSeesThrough: where one agent alone uses a connection, all passes as it came:
// tasks of earlier runs, lists, cursors and what nobody knows.
func TestOneAgentSeesThrough(t *testing.T) {
	ts := newTaskServer()
	ts.tasks = []string{"of an earlier run", "another"}
	_, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: ts}}})
	for _, tt := range [][3]string{
		{"tasks/list", `{"x":1.0}`, `{"tasks":[ {"taskId":"task-0","status":"working","ttl":60000,"future":1.0}],"nextCursor":"task-1","n":1.0}`},
		{"tasks/list", `{"cursor":"task-1"}`, `{"tasks":[ {"taskId":"task-1","status":"working","ttl":60000,"future":1.0}],"n":1.0}`},
		{"tasks/get", `{"taskId":"task-1"}`, `{"taskId":"task-1","status":"working","ttl":60000,"future":1.0}`},
		{"tasks/result", `{"taskId":"task-0"}`, `{"content":[{"type":"text","text":"of an earlier run"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"task-0"}},"n":1.0}`},
		{"tasks/get", `{"taskId":"task-9"}`, "error: -32602 Failed to retrieve task: Task not found"},
		{"future/method", `{"a":1.0}`, `{"n":1.0}`},
		{"tools/call", startTask("x"), `{"task":{"taskId":"task-2","status":"working","ttl":60000,"future":1.0}}`},
	} {
		if got := ask(t, conn, tt[0], tt[1]); got != tt[2] && !strings.HasPrefix(tt[2], "error") || strings.HasPrefix(tt[2], "error") && !strings.Contains(got, "Task not found") {
			t.Errorf("%s %s: %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
	if got := ts.asked[0]; got != `tasks/list {"x":1.0}` {
		t.Errorf("the server heard %s", got)
	}
}

// TestUnknownMethods: what may be about anything passes until a second agent has come, and
// with a connection for each.
func TestUnknownMethods(t *testing.T) {
	ts := newTaskServer()
	s, alice := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: ts}}})
	bob := connect(t, s)
	if got := ask(t, alice, "future/method", `{}`); got != `{"n":1.0}` {
		t.Errorf("alone: %s", got)
	}
	for name, conn := range map[string]client{"bob": bob, "alice": alice} {
		ask(t, bob, "tools/call", startTask("x"))
		_, err := conn.Call(t.Context(), "future/method", json.RawMessage(`{}`))
		var e *jsonrpc.Error
		if !errors.As(err, &e) || e.Code != jsonrpc.CodeMethodNotFound || !strings.Contains(e.Message, `"isolation": "agent"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Nor may they tell of anything.
	for _, method := range []string{"notifications/future", "notifications/tasks/status", "notifications/roots/list_changed"} {
		if err := bob.Notify(t.Context(), method, json.RawMessage(`{"taskId":"of alice's client"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if heard := <-ts.told; heard != "notifications/roots/list_changed" {
		t.Errorf("the server heard %s", heard)
	}
}

// TestSeveralServersWithTasks: a task is known by its ID, whichever server gave it.
func TestSeveralServersWithTasks(t *testing.T) {
	one, two := newTaskServer(), newTaskServer()
	two.tasks = []string{"first"}
	s, alice := dial(t, Options{Upstreams: []Upstream{{Name: "one", Prefix: "one", Conn: one}, {Name: "two", Prefix: "two", Conn: two}}})
	bob := connect(t, s)
	ask(t, bob, "tools/call", strings.Replace(startTask("bob"), `"x"`, `"one_x"`, 1))
	ask(t, alice, "tools/call", strings.Replace(startTask("alice"), `"x"`, `"two_x"`, 1))
	if got := ask(t, alice, "tasks/result", `{"taskId":"task-1"}`); !strings.Contains(got, "alice") {
		t.Error(got)
	}
	if got := ask(t, bob, "tasks/result", `{"taskId":"task-1"}`); !strings.HasPrefix(got, "error: ") {
		t.Error(got)
	}
}

// TestWhoseTaskItIs: what a server tells and asks about a task, or of an elicitation by URL,
// reaches the agent that was given it and nobody else, whoever has requests running.
func TestWhoseTaskItIs(t *testing.T) {
	ts := newTaskServer()
	ts.fake.tools = append(ts.fake.tools, server(nil, "wait").tools...)
	plain, release, begun := ts.raw, make(chan bool), make(chan bool, 10)
	ts.raw = func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
		if stringOf(r.Params, "name") == "wait" {
			begun <- true
			<-release
		}
		return plain(ctx, r)
	}
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: ts}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heard := make(chan string, 20)
	start := func(name string) client {
		conn := attach(t, s, Identity{}, clientOptions{
			Handle: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
				heard <- name + " " + method
				return json.RawMessage(`{"task":{"taskId":"client task of ` + name + `","ttl":60000}}`), nil
			},
			Notify: func(method string, _ json.RawMessage) { heard <- name + " " + method },
		})
		conn.initialize(t, &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}})
		return conn
	}
	alice, bob := start("alice"), start("bob")
	want := func(what string, who string) {
		t.Helper()
		if got := <-heard; got != who {
			t.Errorf("%s: heard %s, want %s", what, got, who)
		}
	}
	// The ctx is that of a pipe: it does not tell.
	pipe := context.Background()
	tell := func(method, params string) { s.Tell(pipe, "s", method, json.RawMessage(params)) }
	asks := func(method, params string) (json.RawMessage, error) {
		return s.Ask(pipe, "s", method, json.RawMessage(params))
	}
	related := func(id string) string {
		return `{"message":"m","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + id + `"}}}`
	}

	ask(t, alice, "tools/call", startTask("alice")) // task-0
	ask(t, bob, "tools/call", startTask("bob"))     // task-1
	done := make(chan string)
	go func() { done <- ask(t, bob, "tools/call", `{"name":"wait","task":{}}`) }()
	<-begun

	tell("notifications/tasks/status", `{"taskId":"task-0","status":"completed"}`)
	want("a status", "alice notifications/tasks/status")
	tell("notifications/tasks/status", `{"taskId":"task-1","status":"completed"}`)
	want("a status", "bob notifications/tasks/status")
	tell("notifications/message", strings.Replace(related("task-0"), `"message":"m"`, `"level":"emergency","data":1`, 1))
	if _, err := asks("elicitation/create", related("task-0")); err != nil {
		t.Error(err)
	}
	want("a log line", "alice notifications/message")
	want("a question", "alice elicitation/create")
	// Her client works on it as a task of its own; the server looks for it there.
	if _, err := asks("tasks/get", `{"taskId":"client task of alice"}`); err != nil {
		t.Error(err)
	}
	want("a task of a client", "alice tasks/get")
	for _, params := range []string{related("task-7"), `{"message":"m"}`} {
		raw, err := asks("elicitation/create", params)
		if is := params == `{"message":"m"}`; is != (err == nil) { // bob alone has a request running
			t.Errorf("%s: %s, %v", params, raw, err)
		}
	}
	want("a question without a task", "bob elicitation/create")
	if _, err := asks("tasks/get", `{"taskId":"of nobody"}`); err == nil {
		t.Error("a task of no client reached one")
	}

	// Out of band: the one who was asked hears of the end.
	if _, err := asks("elicitation/create", `{"mode":"url","url":"https://example.com","elicitationId":"e1"}`); err != nil {
		t.Error(err)
	}
	want("a URL", "bob elicitation/create")
	// A status that comes before the task's own result waits for it.
	tell("notifications/tasks/status", `{"taskId":"task-2","status":"completed"}`)
	close(release)
	<-done
	want("a status that came early", "bob notifications/tasks/status")
	go func() { _ = ask(t, alice, "tools/call", startTask("alice")) }()
	tell("notifications/elicitation/complete", `{"elicitationId":"e1"}`)
	want("the end of an elicitation", "bob notifications/elicitation/complete")
	tell("notifications/elicitation/complete", `{"elicitationId":"e7"}`)
	tell("notifications/tasks/status", `{"taskId":"task-77","status":"completed"}`)
	tell("notifications/tasks/status", `{"taskId":"task-0","status":"failed"}`)
	want("after what is for nobody", "alice notifications/tasks/status")
	// With its client gone, a task's questions have nobody.
	alice.Close()
	for gone := false; !gone; {
		_, err := asks("elicitation/create", related("task-0"))
		gone = err != nil
		for len(heard) > 0 {
			<-heard
		}
	}
}
