package middleware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"rlmproxy/middleware/consent"
	"rlmproxy/middleware/scan"
	"rlmproxy/middleware/session"
	"rlmproxy/middleware/tools"
	"rlmproxy/middleware/upstream"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// A Manager changes which servers there are. It is safe for concurrent use.
type Manager interface {
	// Entries are the servers of the configuration as it counts now, in its order.
	Entries() []Entry
	// Plan says what changes would do, and what speaks against them: nothing is changed.
	Plan(changes []tools.Change) (*Plan, error)
}

// An Entry is a server of the configuration, for an agent: without values that may be secret.
type Entry struct {
	Name     string
	About    string // how it is reached, and names of what it is given
	Disabled bool
}

// A Plan is what changes would do.
type Plan struct {
	// Does says it of each, in full, for the person who is asked.
	Does []string
	// Asks are servers of which a person must agree to what becomes of them; ByHand is what the
	// operator can do where nobody can be asked.
	Asks   []string
	ByHand string
	// Review are the commands by which a person looks at the tools of those that are in
	// quarantine from then on.
	Review []string
	// Make makes the changes for an agent. It waits for no server.
	Make func(agent string, asked bool) error
}

// Manage offers agents that may use everything the tool proxy_upstreams. It is to be called
// before any client comes.
func (s *Server) Manage(m Manager) { s.manager = m }

// manages reports whether the client of r may change which servers there are.
func (s *Server) manages(r *session.Request) bool { return s.manager != nil && s.viewOf(r).all() }

const (
	// connectTime is how long an answer waits for servers that connect.
	connectTime = 5 * time.Second
	// maxQuestion bounds what a person is asked at once, in bytes: nothing of it is left out,
	// and all of it is to be read.
	maxQuestion = 4000
	// errorBytes is how much an agent reads of why a server is not there.
	errorBytes = 200
)

// A clientManager changes servers for the client that has made a request.
type clientManager struct {
	s       *Server
	request *session.Request
}

var _ tools.Upstreams = clientManager{}

// List implements [tools.Upstreams].
func (m clientManager) List(ctx context.Context) (lines []string) {
	m.settle(ctx, func(*Upstream) bool { return true })
	for _, e := range m.s.manager.Entries() {
		lines = append(lines, m.line(ctx, e))
	}
	return lines
}

// line is what an agent reads of a server.
func (m clientManager) line(ctx context.Context, e Entry) string {
	line := e.Name + ": "
	up := m.s.upstream(e.Name)
	switch {
	case e.Disabled:
		line += "disabled"
	case up == nil: // it is being replaced
		line += upstream.Connecting.String()
	default:
		all, held := up.count()
		state, err := up.Conn.State()
		state = state.Quarantine(state == upstream.Ready && all > 0 && held == all)
		line += state.String()
		if err != nil {
			line += ": " + show.ClipBytes(m.s.redactor(up, "").error(ctx, err).Error(), errorBytes)
		}
		line += ", " + show.Plural(all, "tools")
		if held > 0 {
			line += fmt.Sprintf(", %d held back until the person has looked at them: %s", held, up.Pins.Review())
		}
	}
	return scan.Line(line + " (" + e.About + ")")
}

// Change implements [tools.Upstreams].
func (m clientManager) Change(ctx context.Context, changes []tools.Change) (lines []string, question json.RawMessage, err error) {
	plan, err := m.s.manager.Plan(changes)
	if err != nil {
		return nil, nil, err
	}
	message := plan.question()
	if len(message) > maxQuestion {
		return nil, nil, &pipeline.Error{Code: pipeline.BadArguments, Text: fmt.Sprintf("a person who is asked would have to read %d bytes, of at most %d", len(message), maxQuestion),
			Hint: "make fewer changes at a time"}
	}
	said, question, err := m.s.consent.AskAnew(ctx, m.request, message)
	switch {
	case errors.Is(err, consent.ErrOpen), errors.Is(err, consent.ErrTired):
		err = &pipeline.Error{Code: pipeline.BadArguments, Text: "nothing is changed: " + err.Error(), Hint: "ask them what to do instead"}
	case err != nil || question != nil:
	case said == consent.NotAsked && len(plan.Asks) > 0:
		err = &pipeline.Error{Code: pipeline.BadArguments, Hint: plan.ByHand,
			Text: fmt.Sprintf("nothing is changed: a person must agree to what becomes of %s, and this client cannot ask them", strings.Join(plan.Asks, ", "))}
	case said == consent.Declined:
		err = &pipeline.Error{Code: pipeline.BadArguments, Text: "nothing is changed: the person who was asked does not want it", Hint: "ask them what to do instead"}
	case said == consent.Dismissed:
		err = &pipeline.Error{Code: pipeline.BadArguments, Text: "nothing is changed: the person who was asked did not say", Hint: "ask them what to do instead"}
	default:
		err = plan.Make(m.request.Session.Party, said == consent.Agreed)
	}
	if err != nil || question != nil {
		return nil, question, err
	}
	return m.outcome(ctx, changes), nil, nil
}

// question is what the person reads.
func (p *Plan) question() string {
	text := "The agent wants to change the servers of this proxy:\n- " + strings.Join(p.Does, "\n- ")
	if len(p.Review) > 0 {
		text += "\nA server in quarantine is started at once. Its tools are held back until you have looked at them:\n  " + strings.Join(p.Review, "\n  ")
	}
	return text
}

// settle waits a moment for servers that connect.
func (m clientManager) settle(ctx context.Context, which func(*Upstream) bool) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	var wait sync.WaitGroup
	for _, up := range m.s.upstreams() {
		if which(up) {
			wait.Go(func() { up.Conn.Settled(ctx) })
		}
	}
	wait.Wait()
}

// outcome has a line for each server that was to change.
func (m clientManager) outcome(ctx context.Context, changes []tools.Change) (lines []string) {
	m.settle(ctx, func(up *Upstream) bool {
		return slices.ContainsFunc(changes, func(c tools.Change) bool { return c.Name == up.Name })
	})
	entries := m.s.manager.Entries()
	for _, c := range changes {
		at := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == c.Name })
		if at < 0 {
			lines = append(lines, scan.Line(c.Name+": removed"))
			continue
		}
		lines = append(lines, m.line(ctx, entries[at]))
	}
	return lines
}
