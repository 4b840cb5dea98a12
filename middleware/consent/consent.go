// Package consent asks the person at a client: whether a proxy_* tool may call a tool of a
// server that is not known to only read, and whether servers may be changed.
//
//	a question, once a session and tool ─► elicitation/create, or input_required ─► an Answer
//	one of its own, each time           ─┘
package consent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/fleet"
	"rlmproxy/jsonscan"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/scan"
	"rlmproxy/middleware/session"
	"rlmproxy/pipeline/show"
)

// An Answer is what a person says to a call that proxy_* would make.
type Answer int

const (
	NotAsked  Answer = iota
	Agreed           // to this tool, until the session ends
	Declined         // likewise
	Dismissed        // without an answer
)

const (
	// maxDismissed is how often a person may leave the question without an answer before
	// that counts as a no: an agent that tries again must not wear a person down.
	maxDismissed = 2
	// maxWait is how long a person may take.
	maxWait = 10 * time.Minute
	// idleTime is how long the answer of a client without sessions counts after it was
	// last of use.
	idleTime = 30 * time.Minute
	// maxKept bounds the answers that are remembered; who is forgotten is asked again.
	maxKept = 4096
)

// Consents are what persons have said, by session and tool.
type Consents struct {
	fleet *fleet.Store // that knows of them, too; nil where there is one replica

	mu  sync.Mutex // guards the fields below
	all map[key]*consent
}

// A key is a tool in a session. Clients of 2026-07-28 have none: there it is
// whoever the client is.
type key struct {
	session *session.Session
	party   string
	tool    string // its exposed name
	conn    string // Question.Conn
}

type consent struct {
	answer    Answer
	dismissed int           // how often
	asked     chan struct{} // closed when the question at the client ends; nil: none is there
	state     string        // that a client of 2026-07-28 has beside the question, or ""
	message   string        // of AskAnew: what the question with that state was
	used      time.Time
}

// New returns a Consents without an answer. What replicas share, if not nil, knows of those of all.
func New(shared *fleet.Store) *Consents { return &Consents{fleet: shared, all: map[key]*consent{}} }

// of returns what was said, c.mu held.
func (c *Consents) of(k key) *consent {
	said := c.all[k]
	if said != nil && k.session == nil && time.Since(said.used) > idleTime {
		said = nil
	}
	if said == nil {
		said = &consent{}
		c.all[k] = said
	}
	said.used = time.Now()
	for len(c.all) > maxKept {
		var oldest key
		for k, each := range c.all {
			if first := c.all[oldest]; first == nil || each.used.Before(first.used) {
				oldest = k
			}
		}
		delete(c.all, oldest)
	}
	return said
}

// Forget forgets what was said in a session that has ended.
func (c *Consents) Forget(s *session.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.all {
		if k.session == s {
			delete(c.all, k)
		}
	}
}

// note takes the action of an answer. c.mu must be held.
func (said *consent) note(action string) Answer {
	switch action {
	case "accept":
		said.answer = Agreed
	case "decline":
		said.answer = Declined
	default:
		if said.dismissed++; said.dismissed < maxDismissed {
			return Dismissed
		}
		said.answer = Declined
	}
	return said.answer
}

// CanBeAsked reports whether a person can be asked by forms, of which ours has no fields.
func CanBeAsked(r *session.Request) bool {
	can := r.Capabilities
	if !r.Stateless {
		can = r.Session.Capabilities()
	}
	elicitation := jsonscan.Member(can, "elicitation")
	if jsonscan.Kind(elicitation) != '{' {
		return false
	}
	return jsonscan.Member(elicitation, "form") != nil || jsonscan.Member(elicitation, "url") == nil
}

// A Question is about a call that a proxy_* tool would make.
type Question struct {
	Tool, Server string          // the tool's exposed name, and whose it is
	Conn         string          // the server's connection: what was said does not count for another
	Kind         string          // what stands for it on each replica alike
	Arguments    json.RawMessage // of the call, or nil
}

// Ask asks the person at the client of r, once in a session and for a tool. Result, if not
// nil, is that of the request: the client comes back with the answer.
func (c *Consents) Ask(ctx context.Context, r *session.Request, q Question) (said Answer, result json.RawMessage, err error) {
	if !CanBeAsked(r) {
		return NotAsked, nil, nil
	}
	if r.Stateless {
		said, result = c.stateless(ctx, r, q)
	} else {
		said, err = c.ask(ctx, r, q)
	}
	return said, result, err
}

// elicitation is the params of one.
func elicitation(r *session.Request, q Question) json.RawMessage {
	arguments := q.Arguments
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	until := "the session ends"
	if r.Stateless {
		until = fmt.Sprintf("it has not been called for %.0f minutes", idleTime.Minutes())
	}
	message := fmt.Sprintf("The agent wants %s to call %s. This tool of the server \"%s\" may change something. The arguments:\n%s\n"+
		"If you accept, the agent may call it this way, with any arguments, until %s.",
		r.Name, q.Tool, scan.Line(q.Server), scan.Visible(show.ClipBytes(string(arguments), 2000)), until)
	return form(message)
}

// form is the params of an elicitation without fields.
func form(message string) json.RawMessage {
	params := jsonscan.Object("message", jsonscan.Quote(message))
	return jsonscan.With(params, "requestedSchema", []byte(`{"type":"object","properties":{}}`))
}

// ask asks the client of a session. Calls that come meanwhile wait for the answer.
func (c *Consents) ask(ctx context.Context, r *session.Request, q Question) (Answer, error) {
	key := key{session: r.Session, tool: q.Tool, conn: q.Conn}
	c.mu.Lock()
	said := c.of(key)
	for said.answer == NotAsked && said.asked != nil {
		asked := said.asked
		c.mu.Unlock()
		select {
		case <-asked:
		case <-ctx.Done():
			return NotAsked, context.Cause(ctx)
		}
		c.mu.Lock()
		said = c.of(key)
	}
	if said.answer != NotAsked {
		defer c.mu.Unlock()
		return said.answer, nil
	}
	said.asked = make(chan struct{})
	c.mu.Unlock()
	answer, err := c.askOnce(ctx, r, q, key, said)
	c.mu.Lock()
	defer c.mu.Unlock()
	close(said.asked)
	said.asked = nil
	if answer == Agreed || answer == Declined {
		said.answer = answer
	}
	return answer, err
}

// askOnce asks the client, unless it was asked by another replica.
func (c *Consents) askOnce(ctx context.Context, r *session.Request, q Question, k key, said *consent) (Answer, error) {
	shared := c.entry(k, q.Kind)
	if shared != nil {
		answer, end, err := shared.ask(ctx)
		switch {
		case end != nil:
			defer end()
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return NotAsked, err
		} // the store is away: one question too many harms nobody
	}
	action, cannot, err := put(ctx, r, elicitation(r, q))
	if err != nil || cannot {
		return NotAsked, err
	}
	c.mu.Lock()
	answer := said.note(action)
	c.mu.Unlock()
	if shared != nil {
		if together, _, err := shared.take(ctx, answer, cmp.Or(action, "cancel"), "", ""); err == nil {
			return together, nil
		}
	}
	return answer, nil
}

// put puts a question to the person at the client of a session, and returns what they do: "" is
// nothing in maxWait. cannot says that the client has no way to ask.
func put(ctx context.Context, r *session.Request, params json.RawMessage) (action string, cannot bool, err error) {
	asking, cancel := context.WithTimeout(guard.WithHold(r.About(), nil), maxWait)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	answer, err := r.Session.Ask(asking, "elicitation/create", params, nil)
	var refused *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return "", false, context.Cause(ctx)
	case errors.As(err, &refused):
		return "", true, nil
	case err != nil && asking.Err() == nil:
		return "", false, err
	}
	return jsonscan.StringMember(answer, "action"), false, nil
}

// statePrefix is how states begin that a question comes with.
const statePrefix = "rlmproxy-consent:"

// Answers reports whether the params of a request answer a question of a Consents, and none of
// a server.
func Answers(params json.RawMessage) bool {
	return strings.HasPrefix(jsonscan.StringMember(params, "requestState"), statePrefix)
}

// stateless asks a client of 2026-07-28: by a result that it answers with another request.
func (c *Consents) stateless(ctx context.Context, r *session.Request, q Question) (Answer, json.RawMessage) {
	k := key{party: r.Session.Party, tool: q.Tool, conn: q.Conn}
	state, action := "", ""
	if answer := jsonscan.Member(jsonscan.Member(r.Params, "inputResponses"), "consent"); answer != nil && Answers(r.Params) {
		state, action = jsonscan.StringMember(r.Params, "requestState"), cmp.Or(jsonscan.StringMember(answer, "action"), "cancel")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	said := c.of(k)
	if shared := c.entry(k, q.Kind); shared != nil {
		known := said.answer
		c.mu.Unlock()
		together, out, err := shared.take(ctx, known, action, state, newState())
		c.mu.Lock()
		if err == nil {
			if together == Agreed || together == Declined {
				said.answer = together
			}
			if said.state = out; together == NotAsked {
				return NotAsked, inputRequired(out, elicitation(r, q))
			}
			return together, nil
		} // the store is away: who was asked by another replica is asked again
	}
	if said.answer != NotAsked {
		return said.answer, nil
	}
	if said.state != "" && state == said.state {
		said.state = ""
		return said.note(action), nil
	}
	if said.state == "" {
		said.state = newState()
	}
	return NotAsked, inputRequired(said.state, elicitation(r, q))
}

// newState is what a client of 2026-07-28 shows again with the answer.
func newState() string { return statePrefix + rand.Text() }

// inputRequired is the result that has a client of 2026-07-28 ask.
func inputRequired(state string, params json.RawMessage) json.RawMessage {
	one := jsonscan.With(jsonscan.Object("method", []byte(`"elicitation/create"`)), "params", params)
	result := jsonscan.Object("resultType", []byte(`"input_required"`))
	result = jsonscan.With(result, "inputRequests", jsonscan.Object("consent", one))
	return jsonscan.With(result, "requestState", jsonscan.Quote(state))
}
