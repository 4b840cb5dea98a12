package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/wire"
)

const (
	// maxAsks bounds what one server may ask of its client at one time.
	maxAsks = 64
	// maxRefusals is how many requests beyond are answered that they are too many,
	// at one time: the others get no answer.
	maxRefusals = 256
)

// asks are the requests of a server that wait for their answers, on a transport
// that is no [wire.Conn].
type asks struct {
	request func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// reply sends an answer, a whole message. It may wait, and be called
	// concurrently.
	reply func(message []byte)
	tasks tasks // what answers

	mu      sync.Mutex // guards the fields below
	backlog wire.Backlog
	running map[string]context.CancelFunc // those that request works on, by id as written

	refusals [][]byte // that wait to be sent
	refusing bool     // one of tasks sends them
}

func newAsks(h hooks, reply func(message []byte)) asks {
	return asks{request: h.request, reply: reply, running: map[string]context.CancelFunc{},
		backlog: wire.Backlog{MaxRequests: maxAsks, MaxBytes: h.maxLineBytes}}
}

// begin answers a request of the server in one of a.tasks: a server that is slow to
// take the answer holds up neither its stream nor a call that is over. Its ctx ends
// with ctx, and when the server cancels; then no answer is sent, but to a ping.
func (a *asks) begin(ctx context.Context, m wire.Message) {
	id := string(m.ID)
	if len(id) > maxFieldBytes || strings.IndexByte(`"-0123456789`, id[0]) < 0 {
		return // no id, and nothing that an answer could name
	}
	size := int64(len(m.Params))
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	_, twice := a.running[id]
	var full error
	if !twice {
		full = a.backlog.Add(size)
	}
	if !twice && full == nil {
		a.running[id] = cancel
	}
	a.mu.Unlock()
	switch {
	case twice:
		cancel()
		return // the first one's answer has this id
	case full != nil:
		cancel()
		a.refuse(response(id, nil, full))
		return
	}
	begun := a.tasks.Go(func() {
		defer cancel()
		result, err := json.RawMessage("{}"), error(nil)
		if m.Method != "ping" {
			result, err = a.request(ctx, m.Method, m.Params)
		}
		a.mu.Lock()
		delete(a.running, id)
		a.mu.Unlock()
		if ctx.Err() == nil || m.Method == "ping" { // whether the call goes on or not, we are there
			a.reply(response(id, result, err))
		}
		a.mu.Lock()
		a.backlog.Done(size)
		a.mu.Unlock()
	})
	if !begun { // the link has ended
		cancel()
	}
}

// refuse sends an answer behind others like it.
func (a *asks) refuse(answer []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.refusals) >= maxRefusals {
		return
	}
	a.refusals = append(a.refusals, answer)
	if a.refusing {
		return
	}
	a.refusing = a.tasks.Go(func() {
		for {
			a.mu.Lock()
			if len(a.refusals) == 0 {
				a.refusing, a.refusals = false, nil
				a.mu.Unlock()
				return
			}
			next := a.refusals[0]
			a.refusals = a.refusals[1:]
			a.mu.Unlock()
			a.reply(next)
		}
	})
}

// cancelled ends the request that notifications/cancelled names.
func (a *asks) cancelled(params json.RawMessage) {
	id := jsonscan.Member(params, "requestId")
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel, ok := a.running[string(id)]; ok {
		cancel()
	}
}

// response builds the answer to a request of the server.
func response(id string, result json.RawMessage, err error) []byte {
	if err == nil {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, wire.ErrorObject(err))
}
