package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/cache"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/shape"
	"rlmproxy/middleware/tools"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// maxHeals bounds the calls that one request has made again.
const maxHeals = 20

// A healer makes calls again, for a request, whose results the cache has no more. It makes
// those that change nothing: of tools that declare so and that queries may call without a
// word from anybody, and of proxy_*.
type healer struct {
	s       *Server
	request *session.Request
	*heals
}

// heals are the calls of all healers of one request: arguments of a call that is made again
// may be handles, and what those stand for may be gone as well.
type heals struct {
	left int      // that may begin
	made []string // the tools that were called, in order
}

var _ tools.Healer = (*healer)(nil)

// healerOf is what makes calls again for a request, which may be of another method. Of is nil
// unless the request has some already.
func (s *Server) healerOf(r *session.Request, of *heals) *healer {
	if r.Method != "tools/call" {
		call := *r
		call.Method = "tools/call"
		r = &call
	}
	if of == nil {
		of = &heals{left: maxHeals}
	}
	return &healer{s, r, of}
}

// heals reports whether a call of a tool may be made again for its result.
func (s *Server) heals(t target) bool { return !s.opts.NoHealing && t.readOnly() && s.trusts(t) }

// Heal implements [tools.Healer]. Requests of one agent that ask for the same result at one
// time share a call.
func (h *healer) Heal(ctx context.Context, gone *pipeline.Error) (tools.Healed, error) {
	var was *cache.GoneError
	if !errors.As(gone, &was) || !h.may(ctx, was.Origin) {
		return tools.Healed{}, nil
	}
	h.left--
	guard.HoldOf(ctx).Pause() // others have their turns meanwhile
	return h.s.healing.share(ctx, h.request.Session.Agent+"\x00"+string(was.ID), func() (tools.Healed, error) {
		if _, err := h.s.opts.Store.Get(h.request.Session.Agent, was.ID); err == nil {
			return tools.Healed{ID: was.ID}, nil // another request's call has ended just now
		}
		before := len(h.made)
		id, question, err := h.again(ctx, was.Origin)
		switch {
		case errors.Is(err, context.Canceled):
			return tools.Healed{}, err
		case err != nil:
			return tools.Healed{}, h.failed(gone, was.Origin.Tool, err)
		}
		return tools.Healed{ID: id, Question: question,
			Line: "cache_id " + string(was.ID) + " had " + goneHow[was.Reason] + ": " + strings.Join(h.made[before:], ", then ") + " was called again"}, nil
	})
}

// goneHow is what became of a result.
var goneHow = map[cache.Reason]string{cache.Expired: "expired", cache.Evicted: "been evicted"}

// may reports whether the call that a result came from may be made again: not at another
// server that has the tool's name by now, and not where it may cost money. The cache does not
// keep long arguments.
func (h *healer) may(ctx context.Context, o cache.Origin) bool {
	if h.s.opts.NoHealing || tools.Judges(o.Tool) || !o.ReadOnly || o.Arguments == nil || h.left == 0 {
		return false
	}
	if h.s.tools.Has(o.Tool) {
		return true
	}
	t, err := h.s.find(ctx, h.s.viewOf(h.request), o.Tool)
	return err == nil && t.up.Name == o.Server && h.s.heals(t)
}

// firstText is what the result of a tools/call says first.
func firstText(raw json.RawMessage) string {
	if r, err := shape.ParseToolResult(raw); err == nil && len(r.Docs) > 0 {
		return string(r.Docs[0].Text)
	}
	return "the server gave no reason"
}

// again makes a call again, and returns the id of its result, or what the server asks.
func (h *healer) again(ctx context.Context, o cache.Origin) (cache.ID, json.RawMessage, error) {
	agent, caller := h.request.Session.Agent, freshCaller{s: h.s, request: h.request, healer: h}
	if h.s.tools.Has(o.Tool) {
		raw, err := h.s.tools.Call(ctx, agent, o.Tool, o.Arguments, tools.Reach{Fresh: caller, Healer: h, Catalogue: clientCatalogue{h.s, h.request}})
		if err != nil {
			return "", nil, err
		}
		h.made = append(h.made, o.Tool)
		if _, asks := shape.Ending(raw); asks {
			return "", raw, nil
		}
		facts, _ := shape.FactsOf(raw)
		if kept, err := h.s.opts.Store.Get(agent, facts.CacheID); err == nil && kept.Origin.Tool == o.Tool && string(kept.Origin.Arguments) == string(o.Arguments) {
			return facts.CacheID, nil, nil
		}
		return "", nil, &pipeline.Error{Code: pipeline.BadArguments, Text: "its reply is no longer cut, so it has no cache_id", Hint: "call " + o.Tool + " " + string(o.Arguments)}
	}
	raw, origin, err := caller.FreshCall(ctx, o.Tool, o.Arguments)
	if err != nil {
		return "", nil, err
	}
	switch isError, asks := shape.Ending(raw); {
	case asks:
		return "", raw, nil
	case isError:
		return "", nil, &jsonrpc.Error{Message: firstText(raw)}
	}
	id, err := h.s.shaper.Keep(agent, origin, raw)
	caller.Kept(ctx, id)
	return id, nil, err
}

// failed is the error for a result that is gone, and that a call of tool did not bring back.
func (h *healer) failed(gone *pipeline.Error, tool string, err error) error {
	var said *jsonrpc.Error
	out := *gone
	why := ""
	switch e, ok := explained(tool, err); {
	case ok:
		why = e.Code + ": " + e.Text
		out.Hint = cmp.Or(e.Hint, gone.Hint)
		if e.Code == codeInternal {
			h.s.logger.Error("internal error", "ref", reference(err), "tool", tool, "error", err)
		}
	case errors.As(err, &said): // by the server itself
		why = said.Message
	default:
		return err
	}
	out.Text += "; " + tool + " was called again, and failed: " + show.ClipBytes(frame.OneLine(why), 500)
	return &out
}

// A healing lets requests for the same result wait for one call.
type healing struct {
	mu   sync.Mutex            // guards the field below
	runs map[string]*healingOf // by agent and id
}

type healingOf struct {
	done   chan struct{} // closed when the field below is set
	healed tools.Healed  // zero: it failed, or is a question to one client
}

// share returns what call does, or what another request's call did meanwhile.
func (g *healing) share(ctx context.Context, key string, call func() (tools.Healed, error)) (tools.Healed, error) {
	for {
		g.mu.Lock()
		other := g.runs[key]
		if other == nil {
			break // with the lock
		}
		g.mu.Unlock()
		select {
		case <-other.done:
		case <-ctx.Done():
			return tools.Healed{}, context.Cause(ctx)
		}
		if other.healed.ID != "" {
			return other.healed, nil
		}
	}
	run := &healingOf{done: make(chan struct{})}
	if g.runs == nil {
		g.runs = map[string]*healingOf{}
	}
	g.runs[key] = run
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		delete(g.runs, key)
		g.mu.Unlock()
		close(run.done)
	}()
	healed, err := call()
	if err == nil {
		run.healed = healed
	}
	return healed, err
}
