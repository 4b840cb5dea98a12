package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/upstream"
)

// TestTasksOfTwoAgents: over HTTP, before one server that both use, an agent neither sees
// nor reads the task of another.
func TestTasksOfTwoAgents(t *testing.T) {
	s := serve(t, withT(func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		const task = `{"taskId":"secret-id","status":"completed","ttl":60000}`
		switch r.Method {
		case "tools/call":
			return json.RawMessage(`{"task":` + task + `}`), nil
		case "tasks/list":
			return json.RawMessage(`{"tasks":[` + task + `]}`), nil
		case "tasks/result":
			return text("the secret"), nil
		}
		return json.RawMessage(task), nil
	}), Options{}, auth.Options{})
	alice, bob := s.session(), s.session()
	request := func(session, method, params string) string {
		return body(t, s.do("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params), "Mcp-Session-Id", session))
	}
	request(bob, "tools/list", `{}`)
	request(alice, "tools/call", `{"name":"t","arguments":{},"task":{}}`)
	if got := request(bob, "tasks/list", `{}`); gjson.Get(got, "result.tasks.#").Int() != 0 || strings.Contains(got, "secret") {
		t.Errorf("bob sees %s", got)
	}
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		theirs, nobodys := request(bob, method, `{"taskId":"secret-id"}`), request(bob, method, `{"taskId":"no"}`)
		if theirs != nobodys || gjson.Get(theirs, "error.code").Int() != -32602 {
			t.Errorf("%s: %s, but of nobody's %s", method, theirs, nobodys)
		}
	}
	if got := request(alice, "tasks/list", `{}`); gjson.Get(got, "result.tasks.#").Int() != 1 {
		t.Errorf("alice sees %s", got)
	}
	if got := request(alice, "tasks/result", `{"taskId":"secret-id"}`); !strings.Contains(got, "the secret") {
		t.Errorf("alice reads %s", got)
	}
}
