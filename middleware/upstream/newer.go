package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
)

// A server is asked for the revision that its client speaks, since what one
// revision has the other may lack: clients of NewestVersion are answered with
// what they are to be asked, those before are asked. Over HTTP both can be used
// side by side. On a stream the first message decides (as the SDKs for Python
// and TypeScript do it, too), so another process takes the place of the first, if
// no client has used that one yet.

// A live is a link that serves requests. Its fields are guarded by Upstream.mu.
type live struct {
	link
	wish  chan struct{} // capacity 1: somebody wants a newer link
	used  bool          // a client of an older revision has sent a request
	tried chan struct{} // closed when there is a newer one, or will be none; nil: not asked for yet
	newer link          // nil: none
	dead  link          // a newer one that has ended and is to be closed
}

// A newer is what came of asking for a newer link.
type newer struct {
	link   link // nil: nothing
	beside bool
	lists  lists // what a link that is not beside offers
	err    error
}

func (n newer) close() {
	if n.link != nil {
		n.link.Close()
	}
}

func (l *live) alive() bool {
	select {
	case <-l.Done():
		return false
	default:
		return true
	}
}

// retire ends a link that is live no more, and lets go who waits for a newer one.
func (u *Upstream) retire(l *live) {
	u.mu.Lock()
	if l.tried != nil {
		select {
		case <-l.tried:
		default:
			close(l.tried)
		}
	}
	u.mu.Unlock()
	for _, l := range []link{l.link, l.newer, l.dead} {
		if l != nil {
			l.Close()
		}
	}
}

// neutral are requests that a new process is sent once more.
var neutral = map[string]bool{"resources/subscribe": true, "resources/unsubscribe": true, "logging/setLevel": true}

// watches are requests for news, which a deaf link would never bring.
var watches = map[string]bool{"resources/subscribe": true, "resources/unsubscribe": true}

// deaf reports whether the older link has nowhere to hear what belongs to no
// request: a server without sessions answers each and knows of nothing else.
func (l *live) deaf() bool {
	h, ok := l.link.(*httpLink)
	return ok && h.session == ""
}

// choose returns the link for a request, or what to wait for before it can. u.mu
// must be held.
func (u *Upstream) choose(l *live, r Request) (link, <-chan struct{}) {
	if l.newer != nil && l.tried != nil {
		select {
		case <-l.newer.Done(): // a server that was away may have come back as another
			l.dead, l.newer, l.tried = l.newer, nil, nil
		default:
		}
	}
	old := !r.Newest
	if watches[r.Method] && l.Beside() { // of two links, all are on one
		old = !l.deaf()
	}
	switch {
	case l.Meta() != nil:
		return l.link, nil
	case old:
		l.used = l.used || !neutral[r.Method]
		return l.link, nil
	case l.newer != nil:
		return l.newer, nil
	case l.tried == nil && !u.old && (l.Beside() || !l.used):
		l.tried = make(chan struct{})
		l.wish <- struct{}{}
		return nil, l.tried
	case l.tried == nil:
		return l.link, nil
	}
	select {
	case <-l.tried:
		return l.link, nil
	default:
		return nil, l.tried
	}
}

// tryNewer asks for a newer link than l.
func (u *Upstream) tryNewer(ctx context.Context, l *live) newer {
	u.mu.Lock()
	dead := l.dead
	l.dead = nil
	u.mu.Unlock()
	if dead != nil {
		dead.Close()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeWait, fmt.Errorf("no answer within %v", probeWait))
	defer cancel()
	n := newer{beside: l.Beside()}
	n.link, n.err = l.Newer(ctx)
	if n.err == nil && !n.beside {
		n.lists, n.err = u.readLists(ctx, n.link)
	}
	if n.err != nil {
		n.close()
		n.link = nil
	}
	return n
}

// take puts a newer link beside the older one, or returns it to take its place.
func (u *Upstream) take(l *live, n newer) (next link) {
	u.mu.Lock()
	switch {
	case n.err != nil:
		u.logger.Debug("not in the newest revision", "error", n.err)
		// A server that was not reached may know it all the same.
		u.old = !n.beside || refusedHandshake(n.err)
	case n.beside:
		l.newer, n.link = n.link, nil
	case !l.used:
		// Nobody sends anything to the older one any more.
		u.state, u.live, u.newest = Connecting, nil, true
		u.publish(n.lists)
		next, n.link = n.link, nil
	}
	close(l.tried)
	u.mu.Unlock()
	n.close() // of two processes, what the first one knows counts
	return next
}

// older are requests that NewestVersion has no more.
var older = map[string]bool{"resources/subscribe": true, "resources/unsubscribe": true, "logging/setLevel": true, "ping": true}

// instead does what a request of an older revision wants from a server of
// NewestVersion.
func (u *Upstream) instead(ctx context.Context, l link, r Request) (json.RawMessage, error) {
	if on := r.Method == "resources/subscribe"; on || r.Method == "resources/unsubscribe" {
		if err := l.Watch(ctx, gjson.ParseBytes(jsonscan.Member(r.Params, "uri")).String(), on); err != nil {
			return nil, err
		}
	}
	return json.RawMessage("{}"), nil // levels go with each request
}

// meta is what a link wants in the request, hop being what it wants in all.
func (r Request) meta(hop map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if hop == nil || r.Newest || r.Can == nil && r.Level == "" {
		return hop, nil
	}
	hop = maps.Clone(hop)
	if r.Can != nil {
		hop[mcp.MetaKeyClientCapabilities] = r.Can
	}
	if r.Level != "" {
		level, err := json.Marshal(r.Level)
		if err != nil {
			return nil, err
		}
		//lint:ignore SA1019 clients of the older revisions still ask for it
		hop[mcp.MetaKeyLogLevel] = level
	}
	return hop, nil
}
