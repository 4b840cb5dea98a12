package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/transport"
)

// A Request is what a client asks of the server.
type Request struct {
	Method string
	// Params are the client's own, or nil. Of their _meta everything goes on but
	// what is between two neighbours: the progress token and what a stateless
	// revision repeats with each request.
	Params json.RawMessage
	// Stateless says that the client speaks the stateless revision and understands its results.
	Stateless bool
	// Can is what the client can be asked, Level the least of the log messages that
	// it wants, for a server that wants to read it in each request and a client
	// that does not write it there: an object, or nil, and a name, or none at all.
	Can   json.RawMessage
	Level string
	// Progress receives the params of the request's progress notifications, one
	// after the other, all before Call returns. Nil asks for none.
	Progress func(params json.RawMessage)
}

// Call sends a request and returns the raw result, an object. While the server
// connects for the first time or is being restarted the call waits; while it has
// failed the call fails at once, and has it tried again if that was some time ago. A call that the server surely has not begun,
// because it was not reached or had forgotten the session, is sent once more when
// it is connected again.
//
// Errors: *[jsonrpc.Error] as the server sent it, *[UnavailableError], or ctx's
// cause.
func (u *Upstream) Call(ctx context.Context, r Request) (json.RawMessage, error) {
	for again := true; ; again = false {
		s, err := u.ready(ctx, r)
		if err != nil {
			return nil, err
		}
		if s.meta != nil {
			if result, done, err := s.emulate(ctx, r); done {
				return result, err
			}
		}
		meta, err := r.meta(s.meta)
		if err != nil {
			return nil, err
		}
		params, err := withMeta(r.Params, meta)
		if err != nil {
			return nil, err
		}
		answered := s.pulse.call()
		result, err := s.Call(ctx, r.Method, params, r.Progress)
		answered(err)
		if err == nil && (len(result) == 0 || result[0] != '{') {
			err = fmt.Errorf("%w: its result is not an object", rpc.ErrBadAnswer)
		}
		if err == nil {
			return result, nil
		}
		if !again || !notTaken(err) {
			return nil, u.unavailable(s, err)
		}
		select {
		case <-s.Done(): // in a moment
		case <-ctx.Done():
		}
	}
}

// Notify sends a notification. A server that is not connected now misses it.
func (u *Upstream) Notify(ctx context.Context, method string, params json.RawMessage) error {
	u.mu.Lock()
	a, state := u.active, u.state
	u.mu.Unlock()
	if state != Ready || a.meta != nil && method == "notifications/roots/list_changed" {
		return nil
	}
	return a.Notify(ctx, method, params)
}

// ready returns the session for a request, waiting for one that is being made: for a
// request of the stateless revision the one that speaks it, if there is any.
func (u *Upstream) ready(ctx context.Context, r Request) (*session, error) {
	unavailable := func(err error) (*session, error) { return nil, &UnavailableError{Server: u.opts.Name, Err: err} }
	for {
		u.mu.Lock()
		state, changed := u.state, u.changed
		var probed <-chan struct{}
		what := "connecting"
		if state == Ready && u.active.alive() { // or it is about to be replaced
			var s *session
			if s, probed = u.choose(u.active, r); s != nil {
				u.mu.Unlock()
				return s, nil
			}
			what = "asking whether it speaks " + revision.Stateless
		}
		if state != Ready && state != Connecting {
			now := time.Now()
			if u.call(now) {
				select {
				case u.wake <- struct{}{}:
				default:
				}
			}
			err := u.why(now)
			u.mu.Unlock()
			return unavailable(err)
		}
		u.mu.Unlock()
		select {
		case <-changed:
		case <-probed:
		case <-ctx.Done():
			return unavailable(fmt.Errorf("still %s: %w", what, context.Cause(ctx)))
		}
	}
}

// notTaken reports whether a call that failed was surely not begun.
func notTaken(err error) bool {
	var untaken *transport.NotTakenError
	return errors.As(err, &untaken) || errors.Is(err, rpc.ErrNotSent)
}

// unavailable says what the error of a call over s means. What the server itself said,
// and the end of ctx, stay as they are.
func (u *Upstream) unavailable(s *session, err error) error {
	down := &UnavailableError{Server: u.opts.Name, Err: err}
	switch status := statusOf(err); {
	case notTaken(err), signInOf(err) != nil:
	case status != nil:
		down.Lost = status.Code/100 == 5
	case errors.Is(err, rpc.ErrBadAnswer):
		down.Lost = true
	case errors.Is(err, rpc.ErrClosed):
		down.Lost, down.Err = true, s.why(err)
	default:
		return err
	}
	down.Err = u.masked(down.Err)
	return down
}

// meta is what a session wants in the request, all being what it wants in each.
func (r Request) meta(all map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if all == nil || r.Stateless || r.Can == nil && r.Level == "" {
		return all, nil
	}
	all = maps.Clone(all)
	if r.Can != nil {
		all[mcp.MetaKeyClientCapabilities] = r.Can
	}
	if r.Level != "" {
		level, err := json.Marshal(r.Level)
		if err != nil {
			return nil, err
		}
		//lint:ignore SA1019 clients of the older revisions still ask for it
		all[mcp.MetaKeyLogLevel] = level
	}
	return all, nil
}

// perHop are members of _meta that are agreed between neighbours.
var perHop = map[string]bool{
	"progressToken":               true,
	mcp.MetaKeyProtocolVersion:    true,
	mcp.MetaKeyClientInfo:         true,
	mcp.MetaKeyClientCapabilities: true,
	//lint:ignore SA1019 clients still send it
	mcp.MetaKeyLogLevel: true,
}

// withMeta returns params with the members of _meta that this hop needs instead
// of those of the last one. All else keeps its bytes.
func withMeta(params json.RawMessage, hop map[string]json.RawMessage) (json.RawMessage, error) {
	if len(params) == 0 || params[0] != '{' {
		params = json.RawMessage("{}")
	}
	old := jsonscan.Member(params, "_meta")
	if len(old) == 0 || old[0] != '{' {
		old = json.RawMessage("{}")
	}
	has := map[string]bool{}
	changed := len(hop) > 0
	meta, err := jsonscan.Rewrite(old, func(key string, value json.RawMessage) json.RawMessage {
		// What the client said of itself goes on to a server that asks for it.
		if perHop[key] && (hop == nil || key == "progressToken" || key == mcp.MetaKeyProtocolVersion) {
			changed = true
			return nil
		}
		has[key] = true
		return value
	})
	if err != nil || !changed {
		return params, err
	}
	meta = meta[:len(meta)-1]
	for _, key := range slices.Sorted(maps.Keys(hop)) {
		if !has[key] {
			meta = jsonscan.AppendMember(meta, key, hop[key])
		}
	}
	out, err := jsonscan.Rewrite(params, func(key string, value json.RawMessage) json.RawMessage {
		if key == "_meta" {
			return nil
		}
		return value
	})
	if err != nil || len(meta) == len("{") {
		return out, err
	}
	return jsonscan.With(out, "_meta", append(meta, '}')), nil
}
