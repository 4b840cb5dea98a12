package relay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/handle"
)

// metaTask is the member of _meta that says which task a message is about.
const metaTask = "io.modelcontextprotocol/related-task"

// handleIn is the handle that a message of the server's is about, if it names one.
func (c *Connection) handleIn(method string, params json.RawMessage) (h handle.Handle, ok bool) {
	kind, id := handle.Task, ""
	switch {
	case c.agent != "":
	case method == "notifications/tasks/status", method == "notifications/tasks":
		id = jsonscan.StringMember(params, "taskId")
	case method == "notifications/elicitation/complete":
		kind, id = handle.Elicitation, jsonscan.StringMember(params, "elicitationId")
	case isTask(method):
		kind, id = handle.ClientTask, jsonscan.StringMember(params, "taskId")
	case bytes.Contains(params, []byte("related-task")):
		id = jsonscan.StringMember(jsonscan.Member(jsonscan.Member(params, "_meta"), metaTask), "taskId")
	}
	return c.handle(kind, id), id != ""
}

// ownerOf finds whom a message about a handle is for: a client of the party that was given
// it. Where nobody was, it is for whom any message would be, if one party is alone here.
func (c *Connection) ownerOf(ctx context.Context, h handle.Handle, owners []string, any func(context.Context) recipient) recipient {
	if len(owners) == 0 {
		if to := any(ctx); to.client != nil && c.alone(to.client.Party) {
			return to
		}
		return recipient{why: cannotTell + "no client was given this " + string(h.Kind)}
	}
	var waiting []*running
	if r, ok := ctx.Value(runningKey{}).(*running); ok {
		if slices.Contains(owners, r.client.Party) {
			return recipientOf([]*running{r})
		}
		return recipient{why: "this belongs to a request of another client than the one that has the " + string(h.Kind)}
	}
	c.mu.Lock()
	for r := range c.running {
		if slices.Contains(owners, r.client.Party) {
			waiting = append(waiting, r)
		}
	}
	c.mu.Unlock()
	if len(waiting) > 0 {
		newest := slices.MaxFunc(waiting, func(a, b *running) int { return cmp.Compare(a.number, b.number) })
		return recipientOf([]*running{newest})
	}
	for _, s := range slices.Backward(c.server.relay.opts.Clients.Of("")) {
		if slices.Contains(owners, s.Party) && s.Handshake() != nil {
			return recipient{client: s}
		}
	}
	return recipient{why: "the client of this " + string(h.Kind) + " is not connected"}
}

// ownerWait is how long a request about a task waits for the result that gives the task to
// its client: that may be behind it.
const ownerWait = time.Second

// ownersSoon are the owners of a handle. Where there are none yet it waits for a moment.
func (c *Connection) ownersSoon(ctx context.Context, h handle.Handle) []string {
	ctx, cancel := context.WithTimeout(ctx, ownerWait)
	defer cancel()
	for {
		owners, news := c.handles().Watch(h)
		if len(owners) > 0 || c.Running() == 0 {
			return owners
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}

// Notifications about a task may come before the result that gives it to a client. So many
// are kept for that moment, of each task the last.
const (
	maxEarly      = 32
	maxEarlyBytes = 16 << 10
)

// early has notifications about handles that nobody has been given.
type early struct {
	mu   sync.Mutex // guards the field below
	told []notification
}

type notification struct {
	about  handle.Handle
	method string
	params json.RawMessage
}

// add keeps a notification in place of one about the same.
func (e *early) add(n notification) {
	if len(n.params) > maxEarlyBytes {
		return
	}
	n.params = bytes.Clone(n.params)
	n.about.ID = strings.Clone(n.about.ID)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = slices.DeleteFunc(e.told, func(old notification) bool { return old.about == n.about })
	e.told = append(e.told, n)
	if over := len(e.told) - maxEarly; over > 0 {
		e.told = slices.Delete(e.told, 0, over)
	}
}

// take returns what is kept about a handle, and keeps it no more.
func (e *early) take(h handle.Handle) (notification, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.IndexFunc(e.told, func(n notification) bool { return n.about == h })
	if i < 0 {
		return notification{}, false
	}
	n := e.told[i]
	e.told = slices.Delete(e.told, i, i+1)
	return n, true
}

// tellEarly tells what came before its handle was given.
func (c *Connection) tellEarly(h handle.Handle) {
	if n, ok := c.early.take(h); ok {
		c.toClients.Add("", len(n.params), func(context.Context) { c.tell(context.Background(), n.method, n.params) })
	}
}
