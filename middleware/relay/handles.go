package relay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/handle"
	"rlmproxy/middleware/session"
	"rlmproxy/pipeline/show"
)

// What a server hands out, a task's ID say, belongs to the party that was given it. Here is
// what that means for the requests of clients; owner.go has what servers ask and tell.
//
// Where one party alone has ever used a connection, all that comes by it is that party's,
// and passes as it is. The connection of a single agent is such a one.

// alone reports whether nobody but the party has used the connection.
func (c *Connection) alone(party string) bool {
	if c.agent != "" {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.several && c.party == party
}

// handles are those of all parties.
func (c *Connection) handles() *handle.Table { return &c.server.relay.handles }

func (c *Connection) handle(kind handle.Kind, id string) handle.Handle {
	return handle.Handle{Server: c.server.id, Kind: kind, ID: id}
}

// admit refuses a request about what was given to others, as if there were no such thing,
// and one that may be about anything. It returns the params that the server gets.
func (c *Connection) admit(m Sending) (json.RawMessage, error) {
	r, party := m.Request, m.Request.Session.Party
	if c.alone(party) {
		return m.Params, nil
	}
	switch {
	case r.Method == "tasks/list":
		return c.server.relay.cursors.open(m.Params, c.server.name, party)
	case isTask(r.Method):
		if id, ok := onlyTaskID(m.Params); !ok || !c.handles().Has(party, c.handle(handle.Task, id)) {
			return nil, errNoTask
		}
	case m.Unknown:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf(
			`unknown method %q: the proxy passes it on only where each agent has its own connection to server %q; for that, set "isolation": "agent" (wrap: --isolation agent)`,
			show.ClipBytes(r.Method, 80), c.server.name)}
	}
	return m.Params, nil
}

// errNoTask is what everybody hears of a task that is not theirs, whether there is one or
// not.
var errNoTask = session.InvalidParams("you have no task with this taskId")

// onlyTaskID is the task that params name. Of several, servers may mean another than we do;
// some take names in other letters, too.
func onlyTaskID(params json.RawMessage) (id string, ok bool) {
	n := 0
	_ = jsonscan.Members(params, func(key string, _ json.RawMessage) error {
		if strings.EqualFold(key, "taskId") {
			n++
		}
		return nil
	})
	id = jsonscan.StringMember(params, "taskId")
	return id, n == 1 && id != ""
}

// isTask reports whether a method is about one task.
func isTask(method string) bool {
	return strings.HasPrefix(method, "tasks/") && method != "tasks/list"
}

// maxTaskBytes bounds a result that is looked at for a new task.
const maxTaskBytes = 64 << 10

// handOut notes what a result gives the party that asked, and takes out of a list of tasks
// those of others.
func (c *Connection) handOut(r *session.Request, raw json.RawMessage) (json.RawMessage, error) {
	if c.agent != "" {
		return raw, nil
	}
	party := r.Session.Party
	switch {
	case r.Method == "tasks/list":
		return c.ownTasks(party, raw)
	case r.Method == "tasks/result", len(raw) > maxTaskBytes || !bytes.Contains(raw, []byte("taskId")):
	case isTask(r.Method):
		if id := jsonscan.StringMember(raw, "taskId"); id == jsonscan.StringMember(r.Params, "taskId") {
			c.giveTask(party, raw)
		}
	case jsonscan.StringMember(raw, "resultType") == "task":
		c.giveTask(party, raw)
	default:
		c.giveTask(party, jsonscan.Member(raw, "task"))
	}
	return raw, nil
}

// giveTask notes a task that a party was given, an object, and tells what came too early.
func (c *Connection) giveTask(party string, task json.RawMessage) {
	id := jsonscan.StringMember(task, "taskId")
	if id == "" {
		return
	}
	c.handles().Give(party, c.handle(handle.Task, id), lifeOf(task))
	c.tellEarly(c.handle(handle.Task, id))
}

// lifeOf is the time to live of a task, zero if it has no end.
func lifeOf(task json.RawMessage) time.Duration {
	for _, name := range []string{"ttl", "ttlMs"} { // of 2025-11-25, and of the extension
		var ms float64
		if json.Unmarshal(jsonscan.Member(task, name), &ms) == nil && ms > 0 && ms < 1e12 {
			return time.Duration(ms * float64(time.Millisecond))
		}
	}
	return 0
}

// ownTasks is a page of tasks without those of other parties. All of it is the party's that
// is alone, and stays so when others come.
func (c *Connection) ownTasks(party string, raw json.RawMessage) (json.RawMessage, error) {
	if c.alone(party) {
		_ = jsonscan.Elements(jsonscan.Member(raw, "tasks"), func(task json.RawMessage) error {
			c.giveTask(party, task)
			return nil
		})
		return raw, nil
	}
	var failed error
	out, err := jsonscan.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
		switch {
		case key == "nextCursor" && value[0] == '"':
			return jsonscan.Quote(c.server.relay.cursors.seal(jsonscan.Unquote(value), c.server.name, party))
		case key != "tasks":
			return value
		case value[0] != '[':
			return json.RawMessage("[]")
		}
		own := []byte{'['}
		failed = jsonscan.Elements(value, func(task json.RawMessage) error {
			if c.handles().Has(party, c.handle(handle.Task, jsonscan.StringMember(task, "taskId"))) {
				c.giveTask(party, task)
				own = jsonscan.AppendElement(own, task)
			}
			return nil
		})
		return append(own, ']')
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	return out, nil
}

// codeNeedsURL is that of an error of 2025-11-25: a person has to visit a URL first.
const codeNeedsURL = -32042

// handOutInError notes the elicitations that an error names.
func (c *Connection) handOutInError(party string, err error) {
	var e *jsonrpc.Error
	if c.agent != "" || !errors.As(err, &e) || e.Code != codeNeedsURL {
		return
	}
	_ = jsonscan.Elements(jsonscan.Member(e.Data, "elicitations"), func(one json.RawMessage) error {
		c.giveElicitation(party, one)
		return nil
	})
}

// giveElicitation notes an elicitation that a party's client gets, an object.
func (c *Connection) giveElicitation(party string, params json.RawMessage) {
	if id := jsonscan.StringMember(params, "elicitationId"); id != "" && c.agent == "" {
		c.handles().Give(party, c.handle(handle.Elicitation, id), 0)
	}
}

// mayTell reports whether a client may tell the server this: about a task of its own, or
// anything where its party is alone.
func (c *Connection) mayTell(s *session.Session, method string, params json.RawMessage) bool {
	switch {
	case c.alone(s.Party), method == "notifications/progress":
		return true
	case method == "notifications/tasks/status":
		return c.handles().Has(s.Party, c.handle(handle.ClientTask, jsonscan.StringMember(params, "taskId")))
	}
	return false
}

// GivenTask returns the first of all servers that gave a party a task of this ID, or nil.
func (r *Relay) GivenTask(party, id string) *Server {
	for _, v := range r.all() {
		if r.handles.Has(party, handle.Handle{Server: v.id, Kind: handle.Task, ID: id}) {
			return v
		}
	}
	return nil
}

// NoTask is the error for a task that a party was not given.
func NoTask() error { return errNoTask }
