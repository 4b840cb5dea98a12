package middleware

import (
	"context"
	"fmt"
	"sync"

	"rlmproxy/judge"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/sampling"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
)

// A SubModel judges items of results for agents.
type SubModel struct {
	Judge *judge.Judge
	// Model is what is asked. Nil: each client's own model, where the client can be asked.
	Model judge.Model
}

// judges reports whether there is a sub-model for a client.
func (s *Server) judges(r *session.Request) bool {
	return s.opts.SubModel != nil && (s.opts.SubModel.Model != nil || sampling.Can(r))
}

// judgeOf is what asks the sub-model while a request is answered, or nil.
func (s *Server) judgeOf(r *session.Request, a *relay.Asking) tools.Judge {
	if !s.judges(r) {
		return nil
	}
	model := s.opts.SubModel.Model
	if model == nil {
		model = sampling.New(clientName(r), a)
	}
	return &clientJudge{judge: s.opts.SubModel.Judge, model: model, agent: r.Session.Agent, asking: a}
}

// A clientJudge asks the sub-model for one request of a client.
type clientJudge struct {
	judge  *judge.Judge
	model  judge.Model
	agent  string
	asking *relay.Asking

	mu          sync.Mutex // guards the fields below, and the order in which the client is told
	done, total int        // items, of all questions of the request
}

var _ tools.Judge = (*clientJudge)(nil)

// Ask implements [tools.Judge].
func (c *clientJudge) Ask(ctx context.Context, q judge.Question, items []string) (*judge.Report, error) {
	guard.HoldOf(ctx).Pause() // others have their turns meanwhile
	c.mu.Lock()
	c.total += len(items)
	c.mu.Unlock()
	before := 0 // of these items
	report, err := c.judge.Ask(ctx, c.agent, c.model, q, items, func(done int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if done <= before { // progress only grows
			return
		}
		c.done += done - before
		before = done
		c.asking.Current().Progress(fmt.Appendf(nil, `{"progress":%d,"total":%d,"message":"%d of %d items judged"}`, c.done, c.total, c.done, c.total))
	})
	if ctx.Err() != nil { // nobody reads the report
		return nil, context.Cause(ctx)
	}
	return report, err
}
