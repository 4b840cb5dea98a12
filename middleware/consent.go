package middleware

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/scan"
	"rlmproxy/middleware/session"
	"rlmproxy/pipeline/show"
)

// A consentAnswer is what a person says to a call that proxy_* would make.
type consentAnswer int

const (
	notAsked consentAnswer = iota
	agreed                 // to this tool, until the session ends
	declined               // likewise
	dismissed
)

const (
	// maxDismissed is how often a person may leave the question without an answer before
	// that counts as a no: an agent that tries again must not wear a person down.
	maxDismissed = 2
	// maxConsentWait is how long a person may take.
	maxConsentWait = 10 * time.Minute
	// consentIdle is how long the answer of a client without sessions counts after it was
	// last of use.
	consentIdle = 30 * time.Minute
	// maxConsents bounds the answers that are remembered; who is forgotten is asked again.
	maxConsents = 4096
)

// consents are what persons have said, by session and tool.
type consents struct {
	mu  sync.Mutex // guards the fields below
	all map[consentKey]*consent
}

// A consentKey is a tool in a session. Clients of 2026-07-28 have none: there it is
// whoever the client is.
type consentKey struct {
	session *session.Session
	party   string
	tool    string // its exposed name
}

type consent struct {
	answer    consentAnswer
	dismissed int           // how often
	asked     chan struct{} // closed when the question at the client ends; nil: none is there
	state     string        // that a client of 2026-07-28 has beside the question, or ""
	used      time.Time
}

func newConsents() consents { return consents{all: map[consentKey]*consent{}} }

// of returns what was said, c.mu held.
func (c *consents) of(k consentKey) *consent {
	said := c.all[k]
	if said != nil && k.session == nil && time.Since(said.used) > consentIdle {
		said = nil
	}
	if said == nil {
		said = &consent{}
		c.all[k] = said
	}
	said.used = time.Now()
	for len(c.all) > maxConsents {
		var oldest consentKey
		for k, each := range c.all {
			if first := c.all[oldest]; first == nil || each.used.Before(first.used) {
				oldest = k
			}
		}
		delete(c.all, oldest)
	}
	return said
}

// forget forgets what was said in a session that has ended.
func (c *consents) forget(s *session.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.all {
		if k.session == s {
			delete(c.all, k)
		}
	}
}

// note takes the action of an answer. c.mu must be held.
func (said *consent) note(action string) consentAnswer {
	switch action {
	case "accept":
		said.answer = agreed
	case "decline":
		said.answer = declined
	default:
		if said.dismissed++; said.dismissed < maxDismissed {
			return dismissed
		}
		said.answer = declined
	}
	return said.answer
}

// canBeAsked reports whether a person can be asked by forms, of which ours has no fields.
func canBeAsked(r *session.Request) bool {
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

// mayAct asks the person at the client whether proxy_* may call a tool, once in a session.
// Question, if not nil, is the result of the request: the client comes back with the answer.
func (s *Server) mayAct(ctx context.Context, r *session.Request, t target, arguments json.RawMessage) (said consentAnswer, question json.RawMessage, err error) {
	if s.opts.FreshCalls != FreshAsk || !canBeAsked(r) {
		return notAsked, nil, nil
	}
	params := consentParams(r, t, arguments)
	if r.Stateless {
		said, question = s.consent.stateless(r, t, params)
	} else {
		said, err = s.consent.ask(ctx, r, t, params)
	}
	if said == agreed || said == declined {
		s.logger.Debug("a person was asked about a call of "+r.Name, "server", t.up.Name, "tool", t.exposed, "agreed", said == agreed)
	}
	return said, question, err
}

// consentParams are those of an elicitation.
func consentParams(r *session.Request, t target, arguments json.RawMessage) json.RawMessage {
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	until := "the session ends"
	if r.Stateless {
		until = fmt.Sprintf("it is left alone for %.0f minutes", consentIdle.Minutes())
	}
	message := fmt.Sprintf("The agent wants %s to call %s, a tool of the server \"%s\" that is not known to only read, with these arguments:\n%s\n"+
		"If you accept, this tool is called so until %s, with any arguments.",
		r.Name, t.exposed, scan.Line(t.up.Name), scan.Visible(show.ClipBytes(string(arguments), 2000)), until)
	params := jsonscan.Object("message", jsonscan.Quote(message))
	return jsonscan.With(params, "requestedSchema", []byte(`{"type":"object","properties":{}}`))
}

// ask asks the client of a session. Calls that come meanwhile wait for the answer.
func (c *consents) ask(ctx context.Context, r *session.Request, t target, params json.RawMessage) (consentAnswer, error) {
	key := consentKey{session: r.Session, tool: t.exposed}
	c.mu.Lock()
	said := c.of(key)
	for said.answer == notAsked && said.asked != nil {
		asked := said.asked
		c.mu.Unlock()
		select {
		case <-asked:
		case <-ctx.Done():
			return notAsked, context.Cause(ctx)
		}
		c.mu.Lock()
		said = c.of(key)
	}
	if said.answer != notAsked {
		defer c.mu.Unlock()
		return said.answer, nil
	}
	said.asked = make(chan struct{})
	c.mu.Unlock()

	asking, cancel := context.WithTimeout(guard.WithHold(r.About(), nil), maxConsentWait)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	answer, err := r.Session.Ask(asking, "elicitation/create", params, nil)

	c.mu.Lock()
	defer c.mu.Unlock()
	close(said.asked)
	said.asked = nil
	var refused *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return notAsked, context.Cause(ctx)
	case errors.As(err, &refused): // the client said that it cannot
		return notAsked, nil
	case err != nil && asking.Err() == nil:
		return notAsked, err
	}
	return said.note(jsonscan.StringMember(answer, "action")), nil
}

// stateless asks a client of 2026-07-28: by a result that it answers with another request.
func (c *consents) stateless(r *session.Request, t target, params json.RawMessage) (consentAnswer, json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := c.of(consentKey{party: r.Session.Party, tool: t.exposed})
	if said.answer != notAsked {
		return said.answer, nil
	}
	if said.state != "" && jsonscan.StringMember(r.Params, "requestState") == said.state {
		if answer := jsonscan.Member(jsonscan.Member(r.Params, "inputResponses"), "consent"); answer != nil {
			said.state = ""
			return said.note(jsonscan.StringMember(answer, "action")), nil
		}
	}
	if said.state == "" {
		said.state = "rlmproxy-consent:" + rand.Text()
	}
	one := jsonscan.With(jsonscan.Object("method", []byte(`"elicitation/create"`)), "params", params)
	result := jsonscan.Object("resultType", []byte(`"input_required"`))
	result = jsonscan.With(result, "inputRequests", jsonscan.Object("consent", one))
	return notAsked, jsonscan.With(result, "requestState", jsonscan.Quote(said.state))
}
