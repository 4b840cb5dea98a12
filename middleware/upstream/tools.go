package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
)

// Bounds on what one server may offer: a hostile list must not grow for ever.
const (
	maxTools     = 10000
	maxPages     = 1000
	maxListBytes = 16 << 20 // of definitions
	// maxLeftOut is how many of those left out are logged one by one, maxNameLogged
	// how many bytes of a name.
	maxLeftOut    = 16
	maxNameLogged = 200
)

// listTools reads the whole list. A definition that would make clients refuse the
// list of all servers is logged and left out.
func (u *Upstream) listTools(ctx context.Context, l link) ([]Tool, error) {
	return u.list(ctx, l, "tools", checkTool)
}

// listPrompts reads the whole list.
func (u *Upstream) listPrompts(ctx context.Context, l link) ([]Tool, error) {
	return u.list(ctx, l, "prompts", checkPrompt)
}

// list reads a list of things with names, page by page: what is "tools" under
// tools/list. What check refuses is logged and left out, as is what goes beyond
// the bounds, and a server that does not know the method has none.
func (u *Upstream) list(ctx context.Context, l link, what string, check func(json.RawMessage) (string, error)) ([]Tool, error) {
	var things []Tool
	seen := map[string]bool{}
	bytes, left := 0, 0
	method := what + "/list"
	cursor := ""
	defer func() {
		if left > maxLeftOut {
			u.logger.Warn(method+": left out", "all", left)
		}
	}()
	for range maxPages {
		params := json.RawMessage("{}")
		if cursor != "" {
			quoted, err := json.Marshal(cursor)
			if err != nil {
				return nil, err
			}
			params = append(jsonscan.AppendMember([]byte{'{'}, "cursor", quoted), '}')
		}
		params, err := withMeta(params, l.Meta(), "")
		if err != nil {
			return nil, err
		}
		result, err := l.Call(ctx, method, params)
		if methodNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		last := cursor
		cursor = ""
		err = jsonscan.Members(result, func(key string, value json.RawMessage) error {
			switch key {
			case "nextCursor":
				if json.Unmarshal(value, &cursor) != nil {
					u.logger.Warn(method + ": nextCursor is no string")
				}
			case what:
				if value[0] != '[' {
					u.logger.Warn(method + ": " + what + " is no array")
					return nil
				}
				return jsonscan.Elements(value, func(raw json.RawMessage) error {
					name, err := check(raw)
					switch {
					case err == nil && seen[name]:
						err = errors.New("a second one of this name")
					case err == nil && len(things) == maxTools:
						err = fmt.Errorf("more than %d", maxTools)
					case err == nil && bytes+len(raw) > maxListBytes:
						err = fmt.Errorf("more than %d bytes", maxListBytes)
					}
					if err != nil {
						if left++; left <= maxLeftOut {
							u.logger.Warn(method+": left out", "name", name[:min(len(name), maxNameLogged)], "error", err)
						}
						return nil
					}
					seen[name] = true
					bytes += len(raw)
					things = append(things, Tool{name, slices.Clone(raw)}) // the rest of the page is not kept
					return nil
				})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		switch cursor {
		case "":
			return things, nil
		case last:
			u.logger.Warn(method + ": nextCursor is that of the page before")
			return things, nil
		}
	}
	u.logger.Warn(fmt.Sprintf("%s: more than %d pages", method, maxPages))
	return things, nil
}

// checkPrompt returns a prompt's name.
func checkPrompt(raw json.RawMessage) (name string, err error) {
	t := gjson.GetBytes(raw, "name")
	if t.Type != gjson.String || t.Str == "" {
		err = errors.New("no name")
	}
	return t.String(), err
}

// checkTool returns a definition's name, and an error for what the schema of the
// MCP specification does not allow and strict clients refuse. raw is valid JSON
// no deeper than [jsonscan.MaxDepth].
func checkTool(raw json.RawMessage) (name string, err error) {
	t := gjson.GetManyBytes(raw, "name", "inputSchema.type", "title", "description", "annotations")
	name = t[0].String()
	switch {
	case t[0].Type != gjson.String || name == "":
		err = errors.New("no name")
	case t[1].String() != "object":
		err = errors.New(`inputSchema is not of "type":"object"`)
	case t[2].Exists() && t[2].Type != gjson.String, t[3].Exists() && t[3].Type != gjson.String:
		err = errors.New("title or description is no string")
	case t[4].Exists() && !t[4].IsObject():
		err = errors.New("annotations are no object")
	}
	return name, err
}

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

func (u *Upstream) onProgress(params json.RawMessage) {
	var token string
	_ = jsonscan.Members(params, func(key string, value json.RawMessage) error {
		if key == "progressToken" {
			return json.Unmarshal(value, &token)
		}
		return nil
	})
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
