package upstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/upstream/transport"
)

// A server is asked for the revision that its client speaks, since what one
// revision has the other may lack: clients of the stateless revision are answered with
// what they are to be asked, those before are asked. Over HTTP both can be used
// side by side. On a stream the first message decides (as the SDKs for Python
// and TypeScript do it, too), so another process takes the place of the first, if
// no client has used that one yet.

// An active session serves requests, and with it, over HTTP, one in the stateless revision.
type active struct {
	*session
	ctx         context.Context // ends with its service
	end         context.CancelFunc
	background  transport.Tasks // reads lists again, tries the stateless revision
	replacement chan *session   // capacity 1: what takes its place

	// Guarded by Upstream.mu.
	used   bool          // a client of an older revision has sent a request
	probed chan struct{} // closed when the stateless revision has been tried; nil: not asked for yet
	beside *session      // in the stateless revision; nil: none
}

func newActive(ctx context.Context, s *session) *active {
	a := &active{session: s, replacement: make(chan *session, 1)}
	a.ctx, a.end = context.WithCancel(ctx)
	return a
}

// close ends the sessions when no request gets them any more.
func (a *active) close() {
	a.end()
	a.background.Wait()
	select {
	case s := <-a.replacement: // too late
		s.Close()
	default:
	}
	a.session.Close()
	if a.beside != nil {
		a.beside.Close()
	}
}

// subscribing are the requests for news of a resource.
var subscribing = map[string]bool{"resources/subscribe": true, "resources/unsubscribe": true}

// repeated reports whether a new process is sent the requests of this method once more.
func repeated(method string) bool { return subscribing[method] || method == "logging/setLevel" }

// choose returns the session for a request, or what to wait for before it can. u.mu
// must be held.
func (u *Upstream) choose(a *active, r Request) (*session, <-chan struct{}) {
	if a.beside != nil && !a.beside.alive() { // a server that was away may have come back as another
		a.background.Go(a.beside.Close)
		a.beside, a.probed = nil, nil
	}
	older := !r.Stateless
	if subscribing[r.Method] && a.http != nil {
		// Of two sessions, all subscriptions are on the one that can bring news.
		older = a.http.HasSession()
	}
	switch {
	case a.meta != nil:
		return a.session, nil
	case older:
		a.used = a.used || !repeated(r.Method)
		return a.session, nil
	case a.beside != nil:
		return a.beside, nil
	case a.probed != nil:
		select {
		case <-a.probed: // in vain
			return a.session, nil
		default:
			return nil, a.probed
		}
	case u.lacksStateless, a.http == nil && a.used:
		return a.session, nil
	}
	a.probed = make(chan struct{})
	a.background.Go(func() { u.probe(a) })
	return nil, a.probed
}

// probe tries to open a session in the stateless revision with the server of a, to be used
// beside it or in its place.
func (u *Upstream) probe(a *active) {
	ctx, cancel := context.WithTimeoutCause(a.ctx, probeWait, fmt.Errorf("no answer within %v", probeWait))
	defer cancel()
	sideBySide := a.http != nil
	var all Offers
	s, err := a.session.newer(ctx)
	if err == nil && !sideBySide {
		all, err = u.readOffers(ctx, s)
	}
	unused := s
	u.mu.Lock()
	ended := u.active != a || a.ctx.Err() != nil // whoever waits is told that
	switch {
	case ended:
	case err != nil:
		u.logger.Debug("the server does not speak the stateless revision", "error", err)
		// A server that was not reached may know it all the same.
		u.lacksStateless = !sideBySide || refusedHandshake(err)
	case sideBySide:
		a.beside, unused = s, nil
	case !a.used: // else what the first process knows counts
		u.state, u.active, u.speaksStateless, u.offers, u.seen = Connecting, nil, true, all, true
		a.replacement <- s
		unused = nil
	}
	if !ended {
		close(a.probed)
	}
	u.mu.Unlock()
	if unused != nil {
		unused.Close()
	}
}

// emulate does what a request that the stateless revision has no more wants from a server that
// speaks it, and reports whether the request is one of those.
func (s *session) emulate(ctx context.Context, r Request) (json.RawMessage, bool, error) {
	var err error
	switch r.Method {
	case "resources/subscribe":
		err = s.subscriptions.begin(ctx, s, uriOf(r))
	case "resources/unsubscribe":
		s.subscriptions.end(uriOf(r))
	case "logging/setLevel", "ping": // levels go with each request
	default:
		return nil, false, nil
	}
	return json.RawMessage("{}"), true, err
}

func uriOf(r Request) string { return gjson.ParseBytes(jsonscan.Member(r.Params, "uri")).String() }
