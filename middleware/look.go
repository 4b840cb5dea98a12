package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/tools"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

const (
	// operator is the party whose turns queries of [Server.Look] take. No session is of
	// that party.
	operator = "operator"

	// maxLooks is how many of them run at one time: a person has a page or two open, which
	// ask for two things at once.
	maxLooks = 4

	// lookTime bounds one, with its turns.
	lookTime = 30 * time.Second
)

// Look answers a call of a proxy_* tool about what an agent keeps, for the operator, who
// sees what the agent would: the bytes that the cache has are without what is hidden or
// masked. Shelf is the agent, as [cache.Store.List] names it.
//
// To look is no call of the agent. It is not observed, makes no call of a server, leaves
// the cache and what sessions were shown as they were, and waits for its turn behind agents
// that have less. The error is that of ctx, or that there is no Desk; all else that fails
// is a result with isError.
func (s *Server) Look(ctx context.Context, shelf, tool string, arguments json.RawMessage) (raw json.RawMessage, err error) {
	if s.desk == nil {
		return nil, errors.New("middleware: there is no desk")
	}
	defer func() {
		if v := recover(); v != nil {
			raw, err = s.failure(ctx, tool, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
		}
	}()
	if !slices.Contains(tools.Names, tool) {
		return s.failure(ctx, tool, &pipeline.Error{Code: codeUnknownTool, Text: fmt.Sprintf("no tool %q looks at results", show.ClipBytes(tool, 80)),
			Hint: "proxy_explore, proxy_filter and proxy_search do"})
	}
	done, err := s.looks.Begin(operator)
	if err != nil {
		return s.failure(ctx, tool, &guard.BusyError{Text: fmt.Sprintf("%d queries run for the operator, the most that may", maxLooks)})
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	hold := s.budget.Hold(operator)
	defer hold.Release()
	raw, err = s.desk.Call(guard.WithHold(ctx, hold), shelf, tool, arguments, tools.Reach{})
	if err != nil {
		return s.failure(ctx, tool, err)
	}
	return raw, nil
}
