package middleware

import (
	"context"
	"encoding/json"
	"fmt"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/frame"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/shape"
	"rlmproxy/middleware/tools"
	"rlmproxy/pipeline"
)

// A freshCaller calls tools of servers for a query, request.
type freshCaller struct {
	s       *Server
	request *session.Request
}

var _ tools.FreshCaller = freshCaller{}

// FreshCall calls a tool, if its operator lets queries do that.
func (f freshCaller) FreshCall(ctx context.Context, tool string, arguments json.RawMessage) (json.RawMessage, cache.Origin, error) {
	t, err := f.s.find(ctx, tool)
	if err != nil {
		return nil, cache.Origin{}, err
	}
	if !f.s.mayCallFresh(t) {
		return nil, cache.Origin{}, &pipeline.Error{
			Code: pipeline.BadArguments,
			Text: fmt.Sprintf("%s is not declared read-only, so it is not called from here", t.exposed),
			Hint: fmt.Sprintf("call %s directly and use the cache_id of its reply", t.exposed),
		}
	}
	// Of the request, the client's progress token goes along and nothing else.
	params := jsonscan.AppendMember([]byte{'{'}, "name", jsonscan.Quote(t.tool.Name))
	if arguments != nil {
		params = jsonscan.AppendMember(params, "arguments", arguments)
	}
	raw, err := f.s.result(ctx, t, f.request, append(params, '}'))
	if err == nil && !shape.HasData(raw) {
		raw = frame.Label(raw, t.up.Name) // the agent reads it as it came
	}
	return raw, cache.Origin{Tool: t.exposed, Arguments: arguments, ReadOnly: t.readOnly()}, err
}

// mayCallFresh reports whether queries may call a tool.
func (s *Server) mayCallFresh(t target) bool {
	return s.opts.FreshCalls == FreshAll ||
		s.opts.FreshCalls == FreshReadOnly && (t.readOnly() || match(t.up.Fresh, t.tool.Name))
}
