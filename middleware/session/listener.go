package session

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/rpc"
)

// A List is one of the lists that clients keep.
type List string

// The lists, named as in the methods of their notifications.
const (
	Tools     List = "tools"
	Prompts   List = "prompts"
	Resources List = "resources"
)

func (l List) changed() string { return "notifications/" + string(l) + "/list_changed" }

// A Listener is a stream on which a client of revision 2026-07-28 hears of changes: a
// request that is answered when it ends (SEP-2575).
type Listener struct {
	request *Request
	meta    json.RawMessage // of what is told on it: which stream it is
	lists   map[List]bool

	mu    sync.Mutex      // guards the fields below
	begun bool            // the client has been told what it hears of, which comes first
	early map[string]bool // URIs of resources that changed before that
}

// NewListener returns the listener of a request, subscriptions/listen. Close ends it.
func (s *Session) NewListener(r *Request) *Listener {
	return &Listener{request: r, meta: jsonscan.Object(mcp.MetaKeySubscriptionID, rpc.RequestID(r.about))}
}

// Listen tells the client what it hears of from now on: what is agreed, an object, of
// which lists are the lists.
func (l *Listener) Listen(agreed json.RawMessage, lists []List) {
	l.lists = map[List]bool{}
	for _, list := range lists {
		l.lists[list] = true
	}
	l.mu.Lock() // what changes from now on waits for the first message
	defer l.mu.Unlock()
	s := l.request.Session
	s.mu.Lock()
	s.listeners[l] = true
	s.mu.Unlock()
	l.tell("notifications/subscriptions/acknowledged", jsonscan.Object("notifications", agreed))
	for uri := range l.early {
		l.tellUpdated(uri)
	}
	l.begun, l.early = true, nil
}

// tell sends what is about the stream.
func (l *Listener) tell(method string, params json.RawMessage) {
	if params == nil {
		params = json.RawMessage("{}")
	}
	params = jsonscan.With(params, "_meta", l.meta)
	l.request.Session.Tell(l.request.about, method, params)
}

// Updated tells of a resource, by the URI that the client named: once the client knows
// what it hears of.
func (l *Listener) Updated(uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.begun:
		l.tellUpdated(uri)
	case l.early == nil:
		l.early = map[string]bool{uri: true}
	default:
		l.early[uri] = true
	}
}

func (l *Listener) listChanged(list List) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell(list.changed(), nil)
}

func (l *Listener) tellUpdated(uri string) {
	l.tell("notifications/resources/updated", jsonscan.Object("uri", jsonscan.Quote(uri)))
}

// Wait returns when ctx has ended, or the client asks nothing more.
func (l *Listener) Wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-l.request.Session.draining:
	}
}

// Result is the answer to the request, at its end.
func (l *Listener) Result() json.RawMessage { return jsonscan.Object("_meta", l.meta) }

// Close ends the stream: nothing more is told on it.
func (l *Listener) Close() {
	s := l.request.Session
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

// ListChanged tells the client that a list has changed: on each stream that it hears of
// that on, or without any where it has shaken hands. One that is not initialized has
// not listed anything yet.
func (s *Session) ListChanged(list List) {
	s.mu.Lock()
	shaken := s.shaken
	var listeners []*Listener
	for l := range s.listeners {
		if l.lists[list] {
			listeners = append(listeners, l)
		}
	}
	s.mu.Unlock()
	if shaken && s.gate.isOpen() {
		s.TryNotify(context.Background(), list.changed(), json.RawMessage("{}"))
	}
	for _, l := range listeners {
		l.listChanged(list)
	}
}

// Updated tells a client of an older revision of a resource, by the URI that it
// subscribed to.
func (s *Session) Updated(uri string) {
	s.Tell(context.Background(), "notifications/resources/updated", jsonscan.Object("uri", jsonscan.Quote(uri)))
}
