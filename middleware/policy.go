package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"rlmproxy/middleware/pin"
	"rlmproxy/middleware/relay"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/shape"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline"
)

// A Caller is a connected server. [upstream.Upstream] is one.
type Caller interface {
	// Tools is the last good list.
	Tools() []upstream.Tool
	// Prompts likewise.
	Prompts() []upstream.Tool
	// Info is what the server last said of itself, nil if it never did.
	Info() *upstream.Info
	// Call returns the raw result; its errors are those of package upstream.
	Call(ctx context.Context, r upstream.Request) (json.RawMessage, error)
	Notify(ctx context.Context, method string, params json.RawMessage) error
	State() (upstream.State, error)
	// Settled waits for the end of the first attempt to connect, or of ctx.
	Settled(ctx context.Context)
}

// An Upstream is a server and what its operator wants of it.
type Upstream struct {
	Name string
	// Prefix of its exposed names. Empty: names as they are.
	Prefix string
	Conn   Caller
	// ID is what Ask, Tell and ListsChanged know Conn by, which no other ever has. Empty
	// means Name.
	ID string
	// PerAgent, if set, begins a connection for one agent, whose requests then go
	// there and not to Conn. It must not block. Where there is one client only, it
	// is best left nil.
	PerAgent func(c *relay.Connection) relay.OwnConn
	// MaxAgents bounds these connections at one time. Zero means 100.
	MaxAgents int
	Policy    Policy
	// Tools refines Policy for tools by name or glob; the first match in order
	// of length, longest first, counts.
	Tools map[string]Policy
	// Allow, if any, and Deny are globs over the server's own tool names.
	Allow, Deny []string
	// Fresh are globs of tools that proxy_* may call whatever they declare. TrustHints
	// has them call those that declare readOnlyHint, which is the server's own word.
	Fresh      []string
	TrustHints bool
	// NoHandles hands arguments on as they are, where a string is a handle too.
	NoHandles bool
	// NoModel keeps what the server sends, and what is made of it, from the sub-model.
	NoModel bool
	// Redact says what becomes of secrets in what the server sends.
	Redact Redact
	// Late says that the server has never said what it offers, when it was waited for the
	// last time. The first lists do not wait for it where there is another one.
	Late bool
	// Terms stand for what is taken out of what all servers send, see
	// [cache.Store.SetTerms], which is to be called before SetUpstreams: what
	// servers send by the old rules is not kept then.
	Terms string
	// Remote says that the server runs elsewhere, and is the same one for all replicas.
	Remote bool
	// Kind is the same on each replica where the server is, and another where it is another
	// server of this name. Empty: its ID.
	Kind string
	// Description says what the server is for, to agents that look for tools. Empty: it
	// says so itself.
	Description string
	// Exposure says how agents come to know its tools. Empty means that of Options.
	Exposure Exposure
	// Features are what of it is offered: "tools", "resources", "prompts". Nil is all.
	Features []string
	// ReadOnly leaves out tools that do not declare readOnlyHint.
	ReadOnly bool
	// Pins holds back tools that are not as the operator knows them. Nil: none is.
	Pins *pin.Server

	server *relay.Server // set by adopt
}

// A Policy is how calls to a tool are treated. The zero value is the default.
type Policy struct {
	Shape     *bool         // nil: shape
	Timeout   time.Duration // zero: Options.CallTimeout
	MaxTokens int           // zero: Options.MaxTokens
	// RateLimit is how many calls one agent may begin in a minute, Concurrency how many
	// of all agents run at one time; others wait. Zero is any number. What sets one, the
	// server or a glob, counts the calls of all its tools together.
	RateLimit, Concurrency int
	// Fields, Exclude and JQ narrow every result before the agent sees it; the
	// whole result stays in the cache.
	Fields, Exclude []string
	JQ              string
	// Hide are fields that no agent gets to see, see [pipeline.Hide]. Those of
	// the server and of every glob that matches add up.
	Hide []string

	rated, turning string // the globs that set RateLimit and Concurrency, "" the server
}

// allHidden is what is hidden of any tool of the server.
func (u *Upstream) allHidden() []string {
	hidden := slices.Clone(u.Policy.Hide)
	for _, glob := range slices.Sorted(maps.Keys(u.Tools)) {
		hidden = append(hidden, u.Tools[glob].Hide...)
	}
	return hidden
}

// listed reports whether it is known what the server has.
func (u *Upstream) listed() bool { return u.Conn.Info() != nil || len(u.Conn.Tools()) > 0 }

// kept reports whether that is from the last time, and the server itself is yet to say.
func (u *Upstream) kept() bool {
	conn, ok := u.Conn.(interface{ Seen() bool })
	return ok && !conn.Seen() && u.listed()
}

// starting reports whether the server is in its first attempt to connect.
func (u *Upstream) starting() bool {
	state, _ := u.Conn.State()
	return state == upstream.Connecting && (!u.listed() || u.kept())
}

func (u *Upstream) offers(tool string) bool {
	return (len(u.Allow) == 0 || rights.Match(u.Allow, tool)) && !rights.Match(u.Deny, tool)
}

// has reports whether a feature of the server is offered.
func (u *Upstream) has(feature string) bool {
	return u.Features == nil || slices.Contains(u.Features, feature)
}

// shows is offers for a tool with what it says of itself.
func (u *Upstream) shows(t upstream.Tool) bool {
	return u.has("tools") && u.offers(t.Name) && (!u.ReadOnly || readsOnly(t))
}

// verdict says which of tools, u's last list, are held back.
func (u *Upstream) verdict(tools []upstream.Tool) *pin.Verdict {
	if u.Pins == nil {
		return nil
	}
	if u.kept() {
		return u.Pins.CheckKept(tools, u.offers)
	}
	return u.Pins.Check(tools, u.offers)
}

// policy returns the policy for one of u's tools.
func (u *Upstream) policy(tool string) Policy {
	p := u.Policy
	best := ""
	for _, glob := range slices.Sorted(maps.Keys(u.Tools)) {
		if ok, _ := path.Match(glob, tool); !ok {
			continue
		}
		if len(glob) > len(best) {
			best = glob
		}
		// What one glob hides, a longer one does not show.
		p.Hide = slices.Concat(p.Hide, u.Tools[glob].Hide)
	}
	if best == "" {
		return p
	}
	t := u.Tools[best]
	if t.Shape != nil {
		p.Shape = t.Shape
	}
	if t.Timeout != 0 {
		p.Timeout = t.Timeout
	}
	if t.MaxTokens != 0 {
		p.MaxTokens = t.MaxTokens
	}
	if t.RateLimit != 0 {
		p.RateLimit, p.rated = t.RateLimit, best
	}
	if t.Concurrency != 0 {
		p.Concurrency, p.turning = t.Concurrency, best
	}
	p.Fields, p.Exclude, p.JQ = t.Fields, t.Exclude, t.JQ
	return p
}

// Check compiles the standing programs and paths, so that a mistake in one stops
// the start and not each call. It needs no Conn.
func (u *Upstream) Check() error {
	switch u.Redact {
	case "", RedactOff, RedactOn, RedactReport:
	default:
		return fmt.Errorf("server %q: redact is %q; it must be on, off or report", u.Name, u.Redact)
	}
	if _, err := pipeline.NewHide(u.Policy.Hide); err != nil {
		return fmt.Errorf("server %q: %w", u.Name, err)
	}
	for _, glob := range slices.Sorted(maps.Keys(u.Tools)) {
		if err := u.Tools[glob].check(); err != nil {
			return fmt.Errorf("server %q: tools %q: %w", u.Name, glob, err)
		}
	}
	return nil
}

func (p Policy) check() error {
	if _, err := pipeline.NewHide(p.Hide); err != nil {
		return err
	}
	return p.shaping(&Upstream{}).Narrow.Check()
}

func (p Policy) shapes() bool { return p.Shape == nil || *p.Shape }

// shaping is the part of the policy that is about answers, of a server.
func (p Policy) shaping(up *Upstream) shape.Policy {
	return shape.Policy{Server: up.Name, Terms: up.Terms, NoModel: up.NoModel, Whole: !p.shapes(), MaxTokens: p.MaxTokens,
		Narrow: shape.Narrow{Fields: p.Fields, Exclude: p.Exclude, JQ: p.JQ}}
}

// A hider takes fields out of what servers send, and masks secrets.
type hider struct {
	shaper *shape.Shaper
	fields []string
	redact *redactor // nil: none are looked for
}

// hider returns what does so with what up answers to request, a tool or a method; nil
// where there is nothing to do.
func (s *Server) hider(up *Upstream, fields []string, request string) relay.Hider {
	h := hider{s.shaper, fields, s.redactor(up, request)}
	if len(fields) == 0 && h.redact == nil {
		return nil
	}
	return h
}

// Result implements [relay.Hider].
func (h hider) Result(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	kept, err := h.shaper.Hide(ctx, raw, h.fields)
	if err != nil {
		return nil, err
	}
	return h.redact.json(ctx, kept)
}

// Notification implements [relay.Hider].
func (h hider) Notification(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	kept, err := h.shaper.HideInNotification(ctx, params, h.fields)
	if err != nil {
		return nil, err
	}
	return h.redact.json(ctx, kept)
}

// Error implements [relay.Hider].
func (h hider) Error(ctx context.Context, err error) error {
	return h.redact.error(ctx, h.shaper.HideInError(ctx, err, h.fields))
}
