package middleware

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
)

// listTools returns the result of tools/list: every definition as the upstream
// sent it, under its exposed name.
func (s *Server) listTools(ctx context.Context, r *request) (json.RawMessage, error) {
	s.awaitUpstreams(ctx)
	var items []json.RawMessage
	for _, t := range s.names.all() {
		p := t.up.policy(t.tool.Name)
		keep := (s.opts.PassThrough || !p.shapes()) && len(p.Hide) == 0
		raw, err := exposed(t.tool.Raw, t.exposed, keep)
		if err != nil {
			return nil, err
		}
		items = append(items, raw)
	}
	for _, tool := range tools.Definitions(s.opts.FreshCalls != FreshAll) {
		items = append(items, json.RawMessage(tool))
	}
	return page(r, "tools", items)
}

// exposed returns a tool definition under another name. It leaves outputSchema
// off unless results are passed on whole, since strict clients hold a shaped
// result against it. Everything else keeps its bytes.
func exposed(raw json.RawMessage, name string, keepOutput bool) ([]byte, error) {
	quoted, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	return jsonscan.Rewrite(raw, func(key string, value json.RawMessage) json.RawMessage {
		switch {
		case key == "name":
			return quoted
		case key == "outputSchema" && !keepOutput:
			return nil
		}
		return value
	})
}

// patience is how many times [Options.ListWait] after the start servers are waited
// for while none is ready.
const patience = 5

// awaitUpstreams gives upstreams a moment to connect before the first list,
// since some clients never ask again: until all have, or ListWait after the
// start if one is ready, or else patience times that.
func (s *Server) awaitUpstreams(ctx context.Context) {
	defer s.noteMissing()
	deadline := s.begun.Add(patience * s.opts.ListWait)
	if time.Now().After(deadline) {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	some := time.AfterFunc(time.Until(s.begun.Add(s.opts.ListWait)), func() {
		for i := range s.opts.Upstreams {
			if state, _ := s.opts.Upstreams[i].Conn.State(); state == upstream.Ready {
				cancel()
			}
		}
	})
	defer some.Stop()
	var wg sync.WaitGroup
	for i := range s.opts.Upstreams {
		wg.Go(func() {
			s.opts.Upstreams[i].Conn.Settled(ctx)
			if time.Since(s.begun) > s.opts.ListWait {
				cancel() // one has come late; the rest get no more time
			}
		})
	}
	wg.Wait()
}
