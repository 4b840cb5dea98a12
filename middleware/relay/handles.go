package relay

import (
	"bytes"
	"context"
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

// alone reports whether nobody but the party has used the connection. To a server that runs
// elsewhere other replicas have connections, too.
func (c *Connection) alone(party string) bool {
	if c.agent != "" {
		return true
	}
	if c.server.relay.opts.Fleet != nil && c.server.remote.Load() {
		return false
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
func (c *Connection) admit(ctx context.Context, m Sending) (json.RawMessage, error) {
	r, party := m.Request, m.Request.Session.Party
	if r.Method == "tasks/list" && c.seals(party) {
		return c.server.relay.cursors.open(m.Params, c.server.name, party)
	}
	if c.alone(party) {
		return m.Params, nil
	}
	switch {
	case isTask(r.Method):
		id, ok := onlyTaskID(m.Params)
		if !ok || !c.handles().Has(party, c.handle(handle.Task, id)) && !c.server.relay.givers.Gave(ctx, party, c.server.id, id)[id] {
			return nil, errNoTask
		}
	case m.Unknown:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf(
			`unknown method %q: the proxy passes it on only where each agent has its own connection to server %q; for that, set "isolation": "agent" (wrap: --isolation agent)`,
			show.ClipBytes(r.Method, 80), c.server.name)}
	}
	return m.Params, nil
}

// seals reports whether the cursors of a party's lists of tasks are sealed: those of another
// replica's server mean nothing to this one's.
func (c *Connection) seals(party string) bool {
	return c.server.relay.opts.Fleet != nil || !c.alone(party)
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
func (c *Connection) handOut(ctx context.Context, r *session.Request, raw json.RawMessage) (json.RawMessage, error) {
	party := r.Session.Party
	switch {
	case r.Method == "tasks/list":
		return c.ownTasks(ctx, party, raw)
	case r.Method == "tasks/result", len(raw) > maxTaskBytes || !bytes.Contains(raw, []byte("taskId")):
	case isTask(r.Method):
		if id := jsonscan.StringMember(raw, "taskId"); id == jsonscan.StringMember(r.Params, "taskId") {
			c.giveTasks(ctx, party, raw)
		}
	case jsonscan.StringMember(raw, "resultType") == "task":
		c.giveTasks(ctx, party, raw)
	default:
		c.giveTasks(ctx, party, jsonscan.Member(raw, "task"))
	}
	return raw, nil
}

// giveTasks notes tasks that a party was given, objects, and tells what came too early.
func (c *Connection) giveTasks(ctx context.Context, party string, tasks ...json.RawMessage) {
	lives := map[string]time.Duration{}
	for _, task := range tasks {
		if id := jsonscan.StringMember(task, "taskId"); id != "" {
			lives[id] = lifeOf(task)
			c.handles().Give(party, c.handle(handle.Task, id), lives[id])
		}
	}
	// Other replicas know of it before its client does.
	if err := c.server.relay.givers.Note(ctx, party, c.server.name, c.server.id, lives); err != nil {
		c.log.Warn("only this replica knows of a task", "error", err)
	}
	for id := range lives {
		c.tellEarly(c.handle(handle.Task, id))
	}
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
func (c *Connection) ownTasks(ctx context.Context, party string, raw json.RawMessage) (json.RawMessage, error) {
	var all []json.RawMessage
	if list := jsonscan.Member(raw, "tasks"); jsonscan.Kind(list) == '[' {
		_ = jsonscan.Elements(list, func(task json.RawMessage) error {
			all = append(all, task)
			return nil
		})
	}
	alone := c.alone(party)
	if !alone {
		all = c.tasksOf(ctx, party, all)
	}
	c.giveTasks(ctx, party, all...)
	if !c.seals(party) {
		return raw, nil
	}
	return jsonscan.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
		switch {
		case key == "nextCursor" && value[0] == '"':
			return jsonscan.Quote(c.server.relay.cursors.seal(jsonscan.Unquote(value), c.server.name, party))
		case key != "tasks" || alone:
			return value
		}
		own := []byte{'['}
		for _, task := range all {
			own = jsonscan.AppendElement(own, task)
		}
		return append(own, ']')
	})
}

// tasksOf are those of some tasks, objects, that a party was given.
func (c *Connection) tasksOf(ctx context.Context, party string, tasks []json.RawMessage) (own []json.RawMessage) {
	var ids []string
	has := map[string]bool{}
	for _, task := range tasks {
		id := jsonscan.StringMember(task, "taskId")
		if has[id] = c.handles().Has(party, c.handle(handle.Task, id)); !has[id] && id != "" {
			ids = append(ids, id)
		}
	}
	gave := c.server.relay.givers.Gave(ctx, party, c.server.id, ids...)
	for _, task := range tasks {
		if id := jsonscan.StringMember(task, "taskId"); has[id] || gave[id] {
			own = append(own, task)
		}
	}
	return own
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

// Giver says which replica gave a party a task, if another one did and this one did not. The
// error is that the store cannot be asked.
func (r *Relay) Giver(ctx context.Context, party, id string) (giver handle.Giver, ok bool, err error) {
	if r.givers == nil || id == "" || r.GivenTask(party, id) != nil {
		return giver, false, nil
	}
	givers, err := r.givers.Of(ctx, party, id)
	giver, ok = givers[id]
	return giver, ok && giver.Replica != r.opts.Fleet.Replica(), err
}

// TakeOver has this replica have a task whose giver is lost, by its own connection to the server.
// It reports whether that can be: the server runs elsewhere.
func (r *Relay) TakeOver(v *Server, party, id string) bool {
	if !v.remote.Load() {
		return false
	}
	r.handles.Give(party, handle.Handle{Server: v.id, Kind: handle.Task, ID: id}, 0)
	return true
}

// ListedAt is the replica whose list of tasks goes on with a party's cursor, "" if that is this one
// or nobody's.
func (r *Relay) ListedAt(v *Server, party string, params json.RawMessage) string {
	if r.opts.Fleet == nil {
		return ""
	}
	replica, _, ok := r.cursors.unseal(jsonscan.Member(params, "cursor"), v.name, party)
	if !ok || replica == r.opts.Fleet.Replica() {
		return ""
	}
	return replica
}

// NoTask is the error for a task that a party was not given.
func NoTask() error { return errNoTask }
