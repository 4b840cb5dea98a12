package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
)

// A Request is what a client asks of the server.
type Request struct {
	Method string
	// Params are the client's own, or nil. Of their _meta everything goes on but
	// what is between two neighbours: the progress token and what a stateless
	// revision repeats with each request.
	Params json.RawMessage
	// Newest says that the client speaks NewestVersion and understands its results.
	Newest bool
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
// failed the call fails at once. A call that the server surely has not begun,
// because it was not reached or had forgotten the session, is sent once more when
// it is connected again.
//
// Errors: *[jsonrpc.Error] as the server sent it, *[UnavailableError], or ctx's
// cause.
func (u *Upstream) Call(ctx context.Context, r Request) (json.RawMessage, error) {
	token := ""
	if r.Progress != nil {
		var done func()
		token, done = u.follow(r.Progress)
		defer done()
	}
	for again := true; ; again = false {
		l, err := u.ready(ctx, r)
		if err != nil {
			return nil, err
		}
		if l.Meta() != nil && older[r.Method] {
			return u.instead(ctx, l, r)
		}
		meta, err := r.meta(l.Meta())
		if err != nil {
			return nil, err
		}
		params, err := withMeta(r.Params, meta, token)
		if err != nil {
			return nil, err
		}
		result, err := u.call(ctx, l, r.Method, params)
		var untaken *notTakenError
		if !again || !errors.As(err, &untaken) {
			return result, err
		}
	}
}

// Notify sends a notification. A server that is not connected now misses it.
func (u *Upstream) Notify(ctx context.Context, method string, params json.RawMessage) error {
	u.mu.Lock()
	l, state := u.live, u.state
	u.mu.Unlock()
	if state != Ready || l.Meta() != nil && method == "notifications/roots/list_changed" {
		return nil
	}
	return l.Notify(ctx, method, params)
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
func withMeta(params json.RawMessage, hop map[string]json.RawMessage, token string) (json.RawMessage, error) {
	if len(params) == 0 || params[0] != '{' {
		params = json.RawMessage("{}")
	}
	own := func(meta json.RawMessage) (json.RawMessage, error) {
		has := map[string]bool{}
		meta, err := jsonscan.Rewrite(meta, func(key string, value json.RawMessage) json.RawMessage {
			// What the client said of itself goes on to a server that asks for it.
			if perHop[key] && (hop == nil || key == "progressToken" || key == mcp.MetaKeyProtocolVersion) {
				return nil
			}
			has[key] = true
			return value
		})
		if err != nil {
			return nil, err
		}
		meta = meta[:len(meta)-1]
		for _, key := range slices.Sorted(maps.Keys(hop)) {
			if !has[key] {
				meta = jsonscan.AppendMember(meta, key, hop[key])
			}
		}
		if token != "" {
			meta = jsonscan.AppendMember(meta, "progressToken", []byte(strconv.Quote(token)))
		}
		return append(meta, '}'), nil
	}
	merged := false
	var failed error
	out, err := jsonscan.Rewrite(params, func(key string, value json.RawMessage) json.RawMessage {
		if key != "_meta" || value[0] != '{' {
			return value
		}
		merged = true
		meta, err := own(value)
		if failed = errors.Join(failed, err); len(meta) == len("{}") && len(value) > len(meta) {
			return nil
		}
		return meta
	})
	if err = errors.Join(err, failed); err != nil || merged || len(hop) == 0 && token == "" {
		return out, err
	}
	meta, err := own(json.RawMessage("{}"))
	return append(jsonscan.AppendMember(out[:len(out)-1], "_meta", meta), '}'), err
}

// progressBacklog is how many notifications may wait for a slow client; then the
// oldest are dropped, since each one replaces the last.
const progressBacklog = 16

// follow registers a token for a call's progress. done unregisters it and
// returns when everything received has been passed on.
func (u *Upstream) follow(f func(json.RawMessage)) (token string, done func()) {
	ch := make(chan json.RawMessage, progressBacklog)
	u.mu.Lock()
	u.seq++
	token = "rlm-" + strconv.FormatInt(u.seq, 10)
	u.progress[token] = ch
	u.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() {
		for params := range ch {
			f(params)
		}
	})
	return token, func() {
		u.mu.Lock()
		delete(u.progress, token)
		close(ch)
		u.mu.Unlock()
		wg.Wait()
	}
}

// onProgress hands the params of notifications/progress to the call that they are about.
// It does not block.
func (u *Upstream) onProgress(params json.RawMessage) {
	token, _ := text(jsonscan.Member(params, "progressToken"))
	u.mu.Lock()
	defer u.mu.Unlock()
	if ch, ok := u.progress[token]; ok {
		if len(ch) == cap(ch) {
			select {
			case <-ch:
			default: // the client is not that slow
			}
		}
		ch <- params // u.mu lets nobody else send
	}
}
