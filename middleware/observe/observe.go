// Package observe tells of each call of a client, once, when it has ended.
//
//	a request ─► Watch.Begin ─► Running: what is reached, answered, failed ─► End ─► Observers
//	                                └─► Fresh: a call of a server that a proxy_* tool makes
//
// The log, an audit log, metrics and traces observe. Without any, nothing is noted or counted.
package observe

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/shape"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline/show"
)

// An Observer is told of each call of a client once, when it has ended, refused ones
// included; and of each call that it made of a server, before that one: for a proxy_* call,
// or for a result that the cache had no more. Calls are those of tools, prompts/get,
// resources/read, completion/complete and methods that only a server knows; lists and what
// is about the session are none.
//
// Called is called concurrently, before the reply is sent, so it must not block. It may
// keep c, but not modify what that refers to.
type Observer interface{ Called(c *Call) }

// A Call is a call that has ended.
type Call struct {
	Number int64 // counts the calls of this server, from 1
	For    int64 // the number of the call that made this one, or zero
	Again  bool  // it was made for a result that the cache had no more

	Begun  time.Time
	Took   time.Duration
	Queued time.Duration // of Took: waiting for turns; that of a call with For is in the other's

	Agent  string // the party of its session, which shows no secret
	Client string // what the program says it is, as "name version"; it may say anything
	Method string
	Trace  string // the id of the trace that it is part of, or ""
	Server string // "": none was reached
	// Name of the tool or prompt, as agents know it. If Known is not set, it is what the
	// agent wrote, clipped, and there need not be anything of that name.
	Name  string
	Known bool

	Arguments json.RawMessage // as the agent wrote them; nil: none
	Handles   []Handle        // in them, which were replaced
	Result    json.RawMessage // what the agent is sent, or nil

	Outcome Outcome
	// Error says what failed: one of ours, as "rate_limited"; "tool_error" if the server's
	// result says that it is one; else the number of a JSON-RPC error, as "-32602".
	Error string

	// TokensIn is what the server's result has, TokensOut what the agent reads of it. A
	// proxy_* call reads what is kept, and has no TokensIn.
	TokensIn, TokensOut int
	Cut                 bool     // the agent is sent a part, and told so
	ReadID              cache.ID // of what a call read that the cache keeps
	CacheID             cache.ID // under which the cache keeps its result
}

// A Handle stood in an argument, and the server got what it stands for.
type Handle struct {
	Argument string   `json:"argument"` // its place
	CacheID  cache.ID `json:"cache_id"`
	Bytes    int      `json:"bytes"` // that stand there instead
}

// An Outcome is how a call ended.
type Outcome string

const (
	OK        Outcome = "ok"
	Error     Outcome = "error"
	Input     Outcome = "input_required" // the client is asked, and calls again
	Cancelled Outcome = "cancelled"      // by the client, or it has gone: it gets no reply
)

// Label names a call in counts: its server with its tool, or with its method where it is no
// call of a tool. Neither is what an agent made up: of a tool that nobody has it is
// "unknown", of a method that only servers know "other".
func (c *Call) Label() (server, tool string) {
	server = strings.ToValidUTF8(c.Server, "?")
	call := c.Method == "tools/call" || c.For > 0
	switch {
	case call && c.Known:
		return server, strings.ToValidUTF8(c.Name, "?")
	case call:
		return server, "unknown"
	case labelled[c.Method]:
		return server, c.Method
	}
	return server, "other"
}

// labelled are the methods of calls that are known.
var labelled = map[string]bool{
	"prompts/get": true, "resources/read": true, "completion/complete": true,
	"tasks/get": true, "tasks/result": true, "tasks/cancel": true, "tasks/update": true,
}

// CodeTool is the code of a result that says itself that it is an error.
const CodeTool = "tool_error"

// unobserved are the methods that are no calls.
var unobserved = map[string]bool{
	"tools/list": true, "prompts/list": true, "resources/list": true, "resources/templates/list": true,
	"resources/subscribe": true, "resources/unsubscribe": true, "subscriptions/listen": true, "logging/setLevel": true,
	"initialize": true, "ping": true, "server/discover": true,
}

// Options configures a [Watch]. Own and CodeOf are required.
type Options struct {
	Observers []Observer
	// Tracer, if not nil, traces each call.
	Tracer Tracer
	// Own reports whether a tool is one of the proxy's own.
	Own func(tool string) bool
	// CodeOf is the code of an error of a call, as in Call.Error.
	CodeOf func(tool string, err error) string
}

// A Watch observes the calls of a server. It is safe for concurrent use.
type Watch struct {
	opts   Options
	number atomic.Int64 // calls that observers have been told of, or will be
}

// New returns a Watch.
func New(opts Options) *Watch { return &Watch{opts: opts} }

// errNoAnswer is why a call failed that ended with neither a reply nor an error: a panic.
var errNoAnswer = errors.New("no answer")

// A Running call is observed. A nil one notes nothing.
type Running struct {
	watch *Watch
	call  Call
	hold  *guard.Hold
	came  json.RawMessage // the server's result
	maker *Running        // the client's call that made this one, or nil
	span  Span            // nil: it is not traced

	mu   sync.Mutex // guards the fields below
	made []*Running // the calls of servers that it made
	took bool       // it has ended
}

type runningKey struct{}

// Of returns the call that ctx is of, or nil.
func Of(ctx context.Context) *Running {
	o, _ := ctx.Value(runningKey{}).(*Running)
	return o
}

// Begin begins to observe a request, if somebody wants to know.
func (w *Watch) Begin(ctx context.Context, r *session.Request) (context.Context, *Running) {
	if !w.observes(r.Method) {
		return ctx, nil
	}
	o := w.newRunning(r.Session, r.Method, r.Params)
	if r.ClientInfo != nil {
		o.call.Client = programOf(r.ClientInfo)
	}
	return context.WithValue(ctx, runningKey{}, o), o
}

// observes reports whether somebody wants to know of requests of this method.
func (w *Watch) observes(method string) bool {
	return (len(w.opts.Observers) > 0 || w.opts.Tracer != nil) && !unobserved[method]
}

// newRunning is a call of a client with these params, which may be anything.
func (w *Watch) newRunning(c *session.Session, method string, params json.RawMessage) *Running {
	o := &Running{watch: w, call: Call{
		Number: w.number.Add(1), Begun: time.Now(),
		Agent: c.Party, Client: programOf(c.ClientInfo()), Method: clip(method),
	}}
	if len(params) == 0 || params[0] != '{' {
		o.trace(TraceContext{})
		return o
	}
	defer o.trace(traceOf(params))
	switch method {
	case "tools/call", "prompts/get":
		o.call.Name, o.call.Arguments = clip(gjson.ParseBytes(jsonscan.Member(params, "name")).String()), jsonscan.Member(params, "arguments")
		if o.call.Known = method == "tools/call" && w.opts.Own(o.call.Name); o.call.Known {
			o.call.ReadID = tools.ReadID(o.call.Arguments)
		}
	case "resources/read":
		o.call.Arguments = jsonscan.Object("uri", jsonscan.Quote(jsonscan.StringMember(params, "uri")))
		o.call.ReadID = shape.ReadID(jsonscan.StringMember(params, "uri"))
	default:
		o.call.Arguments = params
	}
	return o
}

// programOf is what a client says it is, in a line.
func programOf(info json.RawMessage) string {
	if info == nil {
		return ""
	}
	return clip(strings.TrimSpace(jsonscan.StringMember(info, "name") + " " + jsonscan.StringMember(info, "version")))
}

// Holds notes what the call takes, which knows how long it waited for that.
func (o *Running) Holds(hold *guard.Hold) {
	if o != nil {
		o.hold = hold
	}
}

// Reached notes which server a call is for, and the name that agents know what it calls
// by, if it has one.
func (o *Running) Reached(server, name string) {
	if o != nil {
		o.call.Server = server
		if name != "" {
			o.call.Name, o.call.Known = name, true
		}
	}
}

// Answered notes what a server has answered.
func (o *Running) Answered(raw json.RawMessage, err error) {
	switch {
	case o == nil:
	case err != nil:
		o.Failed(err)
	default: // it may have been asked after another that failed
		o.came, o.call.Error = raw, ""
	}
}

// Failed notes why a call fails. The last one counts.
func (o *Running) Failed(err error) {
	if o == nil || errors.Is(err, context.Canceled) {
		return
	}
	o.call.Error = o.watch.opts.CodeOf(o.call.Name, err)
	var down *upstream.UnavailableError
	if errors.As(err, &down) && o.call.Server == "" {
		o.call.Server = down.Server // which may have had the tool
	}
}

// Fresh begins a call that o makes of a tool; again, if the cache has its result no more.
func (o *Running) Fresh(server, tool string, arguments json.RawMessage, again bool) *Running {
	if o == nil {
		return nil
	}
	made := &Running{watch: o.watch, maker: o, call: Call{
		Number: o.watch.number.Add(1), For: o.call.Number, Again: again, Begun: time.Now(),
		Agent: o.call.Agent, Client: o.call.Client, Method: o.call.Method,
		Server: server, Name: tool, Known: true, Arguments: arguments,
	}}
	if o.maker != nil { // a tool that was made of others
		made.maker = o.maker
	}
	made.trace(o.traceContext())
	made.maker.mu.Lock()
	defer made.maker.mu.Unlock()
	made.maker.tellMade()
	if !made.maker.took { // else it tells of itself
		made.maker.made = append(made.maker.made, made)
	}
	return made
}

// tellMade tells of the calls that o made and that have ended, so that what they hold is not held
// until o ends. o.mu must be held.
func (o *Running) tellMade() {
	running := o.made[:0]
	for _, made := range o.made {
		if made.took {
			made.tell()
		} else {
			running = append(running, made)
		}
	}
	clear(o.made[len(running):])
	o.made = running
}

// In is ctx of what is done for the call.
func (o *Running) In(ctx context.Context) context.Context {
	if o == nil {
		return ctx
	}
	return context.WithValue(ctx, runningKey{}, o)
}

// Kept notes where the result of the fresh call that o made last is kept.
func (o *Running) Kept(id cache.ID) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made != nil {
		o.made[len(o.made)-1].call.CacheID = id
	}
}

// Replaced notes that a server got something in place of a handle.
func (o *Running) Replaced(h Handle) {
	if o != nil {
		o.call.Handles = append(o.call.Handles, h)
	}
}

// Took ends a fresh call. Of one that outlasts the request that has made it, as its client looks
// for the answer with another, the observers are told at once.
func (o *Running) Took(ctx context.Context) {
	if o == nil {
		return
	}
	o.call.Took = time.Since(o.call.Begun)
	switch {
	case ctx.Err() != nil:
		o.call.Outcome, o.call.Error = Cancelled, ""
	case o.came == nil && o.call.Error == "":
		o.call.Error = o.watch.opts.CodeOf(o.call.Name, errNoAnswer) // a panic
	}
	o.count(nil)
	o.came = nil
	o.maker.mu.Lock()
	o.took = true
	late := o.maker.took
	o.maker.mu.Unlock()
	if late {
		o.tell()
	}
}

// End tells the observers of a call that has ended with a reply, or with an error. Of a
// panic it hears neither.
func (o *Running) End(ctx context.Context, reply json.RawMessage, err error) {
	if o == nil {
		return
	}
	c := &o.call
	c.Took = time.Since(c.Begun)
	c.Queued = o.hold.Waited()
	o.mu.Lock()
	o.took = true
	o.tellMade()
	o.made = nil // those tell of themselves
	o.mu.Unlock()
	switch {
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		c.Outcome, c.Error = Cancelled, ""
	case err != nil && c.Error == "":
		o.Failed(err)
	case err == nil && reply == nil:
		c.Error = o.watch.opts.CodeOf(o.call.Name, errNoAnswer) // a panic
	case err == nil:
		c.Result = reply
	}
	o.count(reply)
	o.tell()
}

// count counts tokens, and reads from the results how the call ended. Reply is what the
// agent reads, nil for nothing.
func (o *Running) count(reply json.RawMessage) {
	c := &o.call
	untouched := len(reply) > 0 && len(o.came) == len(reply) && &o.came[0] == &reply[0]
	facts, shaped := shape.Facts{}, false
	if !untouched && reply != nil {
		facts, shaped = shape.FactsOf(reply)
	}
	switch {
	case shaped:
		c.TokensOut, c.Cut = facts.ShownTokens, !facts.Complete
		if facts.CacheID != c.ReadID {
			c.CacheID = facts.CacheID
		}
		if o.came != nil {
			c.TokensIn = facts.Tokens
		}
	default:
		if reply != nil {
			c.TokensOut = shape.Tokens(reply)
		}
		switch {
		case untouched:
			c.TokensIn = c.TokensOut
		case o.came != nil:
			c.TokensIn = shape.Tokens(o.came)
		}
	}
	if reply == nil {
		reply = o.came
	}
	switch isError, asks := shape.Ending(reply); {
	case c.Outcome != "":
	case c.Error != "":
		c.Outcome = Error
	case isError:
		c.Outcome, c.Error = Error, CodeTool
	case asks:
		c.Outcome = Input
	default:
		c.Outcome = OK
	}
}

func (o *Running) tell() {
	for _, w := range o.watch.opts.Observers {
		w.Called(&o.call)
	}
	if o.span != nil {
		o.span.End(&o.call)
	}
}

// Refused tells of a request that was refused before anything of it began.
func (w *Watch) Refused(c *session.Session, method string, params json.RawMessage, err error) {
	if !w.observes(method) {
		return
	}
	o := w.newRunning(c, method, params)
	if o.call.Outcome = Error; errors.Is(err, rpc.ErrClosed) {
		o.call.Outcome = Cancelled
	} else {
		o.Failed(err)
	}
	o.tell()
}

// clip is what a call shows of what a client wrote.
func clip(s string) string { return show.ClipBytes(s, 80) }
