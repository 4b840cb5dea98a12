package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/handle"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/session"
	"rlmproxy/pipeline/show"
)

// Ask passes on what the server asks of its client: sampling, elicitation, roots.
// Requests that wait for the answer do not run out of time meanwhile, and the likeliest of
// them leaves its turn to others of its agent: questions that nobody answers must not keep
// these from the server, nor an answer that needs the server from coming.
func (c *Connection) Ask(ctx context.Context, method string, params json.RawMessage) (answer json.RawMessage, err error) {
	defer c.survive(&err)
	if c.agent == "" && c.server.PerAgent() {
		return nil, refused("this connection has no client: each agent has a connection of its own")
	}
	h, about := c.handleIn(method, params)
	to := recipient{}
	if about {
		to = c.ownerOf(ctx, h, c.ownersSoon(ctx, h), c.askedBy)
	} else {
		to = c.askedBy(ctx)
	}
	if to.client == nil {
		return nil, refused(to.why)
	}
	if to.request != nil && !session.Declares(to.request.Capabilities, method) || to.request == nil && !to.client.Can(method) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("the client does not support %s", show.ClipBytes(method, 80))}
	}
	if params, err = hidden(ctx, c.server.hide(), frame.Strip(params)); err != nil {
		return nil, err
	}
	if method == "elicitation/create" {
		c.giveElicitation(to.client.Party, params)
	}
	defer func() {
		if task := jsonscan.Member(answer, "task"); err == nil && c.agent == "" && jsonscan.StringMember(task, "taskId") != "" {
			c.handles().Give(to.client.Party, c.handle(handle.ClientTask, jsonscan.StringMember(task, "taskId")), lifeOf(task))
		}
	}()
	asking, cancel := context.WithCancel(to.about(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	for _, r := range to.waiting {
		defer r.timer.pause()()
	}
	if len(to.waiting) == 0 {
		return c.askClient(asking, to.client, method, params)
	}
	first := to.waiting[0]
	defer first.turn.Rest()()
	if len(to.waiting) == 1 || first.deferred != nil {
		defer context.AfterFunc(first.ctx, cancel)()
	}
	if first.deferred != nil {
		return first.deferred.Ask(asking, method, params)
	}
	return c.askClient(asking, to.client, method, params)
}

func refused(why string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: why}
}

// askClient asks a client, whose reports of progress go to the server under the
// server's own token.
func (c *Connection) askClient(ctx context.Context, s *session.Session, method string, params json.RawMessage) (json.RawMessage, error) {
	token := rpc.ProgressToken(params)
	if token == nil {
		return s.Ask(ctx, method, params, nil)
	}
	return s.Ask(ctx, method, params, func(report json.RawMessage) {
		if report, err := rpc.WithToken(report, token); err == nil {
			c.server.TellServer(s, "", "notifications/progress", report)
		}
	})
}

// hidden returns raw without the fields that h hides; a nil h hides nothing.
func hidden(ctx context.Context, h Hider, raw json.RawMessage) (json.RawMessage, error) {
	if h == nil || len(raw) == 0 {
		return raw, nil
	}
	return h.Result(ctx, raw)
}

// survive keeps a fault of ours from ending the proxy where servers call us: err, if not
// nil, is what it costs.
func (c *Connection) survive(err *error) {
	if v := recover(); v != nil {
		c.log.Error("internal error", "error", fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
		if err != nil {
			*err = refused("internal error: the proxy's log has the details")
		}
	}
}
