package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"rlmproxy/fleet"
	"rlmproxy/middleware"
	"rlmproxy/middleware/queue"
	"rlmproxy/middleware/roster"
	"rlmproxy/middleware/rpc"
)

// A session whose requests come to several replicas is there at each of them. The first has
// it from initialize, and the others take it over from its record:
//
//	a request of a session that is not known here ─► roster.Find ─► Options.Resume
//	idle, no place, shutdown ─► left here, and the record stays
//	DELETE, a revoked token ─► ended at all replicas
//
// What one replica learns of a session, the others are told by the bus, see elsewhere.go.

// A Roamer is a [Session] that several replicas may have at one time. With Options.Fleet,
// all are.
type Roamer interface {
	Session
	// Leave is End for a session that goes on at other replicas: nothing is forgotten that
	// the client finds there.
	Leave()
	// Past is what another replica needs to go on with it, with Subscriptions.
	Past() middleware.Past
	Subscriptions() []string
	// Follow does what the client has asked another replica for.
	Follow(ctx context.Context, method string, params json.RawMessage) error
	// Serves and Waits report whether a request of the client with this id, or one to it,
	// waits for its answer here.
	Serves(id json.RawMessage) bool
	Waits(id json.RawMessage) bool
}

// shared is what sessions have to do with other replicas.
type shared struct {
	h      *Handler
	store  *fleet.Store
	roster *roster.Roster

	refused atomic.Bool  // the store did not take the last change, and that was logged
	backs   atomic.Int64 // how often the store was back since it was looked late, see back

	work  sync.WaitGroup // what is done beside requests; none is added once closed is set
	tells *queue.Queue   // what servers tell clients that listen elsewhere

	mu       sync.Mutex // guards the fields below
	closed   bool
	number   int // of sessions that were attached
	sessions map[roster.Key]*session
	taking   map[taking]*takeover
	ends     map[roster.Key]bool // sessions that have ended while the store was away
}

// maxEnds bounds the sessions that the store is to hear of later.
const maxEnds = 10_000

// A taking is who takes a session over.
type taking struct {
	key     roster.Key
	subject string
}

// A takeover is under way until done is closed.
type takeover struct {
	done  chan struct{}
	err   error // why the session is not here; set before that
	ended bool  // it ended meanwhile; guarded by shared.mu
}

// sharing is what other replicas know of a session, nil where there are none.
type sharing struct {
	key     roster.Key
	prefix  string       // of the ids of its streams and of requests to its client
	resumed bool         // another replica began it
	follows *queue.Queue // what is done here as elsewhere

	mu       sync.Mutex // guards the fields below
	saved    bool       // the store has a record of it
	shown    bool       // a token that may be revoked was shown for it here
	renewed  time.Time  // when the store was last asked to keep the record
	listener string     // the replica that the client listens at, or ""
}

// Why a session is not to be had here.
var (
	errNoSession = errors.New("no such session; it may have expired: begin another with initialize")
	errNotYours  = errors.New("the session belongs to another agent")
	errCrowded   = errors.New("too many sessions")
	errLeft      = errors.New("the session is not at this replica any more: send the request again")
)

// newShared returns what h's sessions share by its store.
func newShared(h *Handler) *shared {
	sh := &shared{
		h: h, store: h.opts.Fleet,
		// A record outlasts each replica's own time, so that none ends what another uses.
		roster:   roster.New(h.opts.Fleet, h.opts.SessionIdle+h.opts.SessionIdle/16),
		tells:    queue.New(h.log),
		sessions: map[roster.Key]*session{},
		taking:   map[taking]*takeover{},
		ends:     map[roster.Key]bool{},
	}
	sh.listen()
	sh.store.OnBack(sh.back)
	return sh
}

// do does something beside requests, unless the handler has closed.
func (sh *shared) do(f func()) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if !sh.closed {
		sh.work.Go(f)
	}
}

// close returns when nothing is done any more.
func (sh *shared) close() {
	if sh == nil {
		return
	}
	sh.mu.Lock()
	sh.closed = true
	sh.mu.Unlock()
	sh.work.Wait()
	sh.tells.Cancel()
}

// prepare gives a session what it needs to be known elsewhere, before it is attached.
func (sh *shared) prepare(s *session, opts *rpc.Options, resumed bool) {
	if sh == nil {
		return
	}
	sh.mu.Lock()
	sh.number++
	number := sh.number
	sh.mu.Unlock()
	s.sharing = &sharing{
		key: roster.KeyOf(s.id), resumed: resumed, saved: resumed,
		// A session that comes back to a replica is another one to what was asked before.
		prefix:  sh.store.Replica() + "-" + strconv.Itoa(number) + "-",
		follows: queue.New(sh.h.log),
	}
	opts.IDs = s.sharing.prefix
}

// enter has a session hear what other replicas tell.
func (sh *shared) enter(s *session) {
	if sh == nil {
		return
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.sessions[s.sharing.key] = s
}

// part takes out a session that has no place any more, and returns when nothing is done for
// it.
func (sh *shared) part(s *session) {
	if sh == nil {
		return
	}
	sh.mu.Lock()
	if sh.sessions[s.sharing.key] == s {
		delete(sh.sessions, s.sharing.key)
	}
	sh.mu.Unlock()
	s.sharing.follows.Cancel()
}

// of returns the session of a key here, or nil.
func (sh *shared) of(key roster.Key) *session {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.sessions[key]
}

// all are the sessions that are here.
func (sh *shared) all() (all []*session) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, s := range sh.sessions {
		all = append(all, s)
	}
	return all
}

func (s *session) roamer() Roamer { return s.client.(Roamer) }

// takeOver returns a session of another replica, in use here from now on. Of several
// requests that come at once, one takes it over. The error is errNoSession, errNotYours,
// errCrowded, or that of the store.
func (h *Handler) takeOver(r *http.Request, id, subject string) (*session, error) {
	sh, at := h.shared, taking{roster.KeyOf(id), subject}
	if sh == nil || at.key == "" {
		return nil, errNoSession
	}
	sh.mu.Lock()
	t := sh.taking[at]
	mine := t == nil
	if mine {
		t = &takeover{done: make(chan struct{})}
		sh.taking[at] = t
	}
	sh.mu.Unlock()
	if mine {
		s, err := sh.take(r, id, at, t)
		sh.mu.Lock()
		delete(sh.taking, at)
		sh.mu.Unlock()
		t.err = err
		close(t.done)
		return s, err
	}
	select {
	case <-t.done:
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
	if t.err != nil {
		return nil, t.err
	}
	if s := h.places.use(id, subject); s != nil {
		return s, nil
	}
	return nil, errLeft // others need its place already
}

// take takes a session over.
func (sh *shared) take(r *http.Request, id string, at taking, t *takeover) (*session, error) {
	h := sh.h
	if s := h.places.use(id, at.subject); s != nil { // another request was quicker
		return s, nil
	}
	// What others wait for does not end with this request.
	rec, err := sh.roster.Find(h.life, at.key)
	switch {
	case err != nil:
		return nil, err
	case rec == nil:
		return nil, errNoSession
	case rec.Subject != at.subject:
		return nil, errNotYours
	}
	s := h.attach(r, id, &middleware.Past{Handshake: rec.Handshake, Level: rec.Level})
	if s == nil {
		return nil, errCrowded
	}
	s.sharing.setListener(rec.Listener)
	sh.mu.Lock()
	ended := t.ended
	sh.mu.Unlock()
	if ended {
		h.places.release(s)
		h.remove(s, "it ended elsewhere", endedElsewhere)
		return nil, errNoSession
	}
	s.sharing.follows.Add("", 0, func(ctx context.Context) { sh.follow(ctx, s, rec, "", true) })
	return s, nil
}

// refuseSession answers a request whose session is not here.
func refuseSession(w http.ResponseWriter, r *http.Request, err error) {
	status, code := http.StatusServiceUnavailable, int64(codeInternal)
	var away *fleet.AwayError
	switch {
	case errors.Is(err, errNoSession):
		status, code = http.StatusNotFound, codeNoSession
	case errors.Is(err, errNotYours):
		status, code = http.StatusForbidden, codeNoSession
	case errors.Is(err, errCrowded):
		w.Header().Set("Retry-After", "60")
	case errors.As(err, &away) && r.Method == http.MethodGet:
		comeBack(w, r.Header.Get("Last-Event-ID"), away.Retry)
		return
	case errors.As(err, &away):
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(away.Retry.Seconds()))))
		err = fmt.Errorf("the session is not known at this replica, and the shared store is away: try again in %v", away.Retry)
	default:
		w.Header().Set("Retry-After", "1")
		if !errors.Is(err, errLeft) { // the store's own words are for the log
			err = errors.New("the shared store does not say whether there is such a session: try again")
		}
	}
	fail(w, status, nil, code, err.Error())
}

// save has the store know a session. Where it cannot, the session is known here alone until
// it can.
func (sh *shared) save(s *session) {
	x := s.sharing
	x.mu.Lock()
	past := s.roamer().Past()
	rec := roster.Record{Subject: s.subject, Handshake: past.Handshake, Level: past.Level, Listener: x.listener}
	shown := x.shown
	x.mu.Unlock()
	rec.Subscriptions = s.roamer().Subscriptions()
	state, err := sh.roster.Save(sh.store.Life(), x.key, rec, shown)
	sh.noted(s, state, err)
}

// noted takes in what became of what the store was told about a session.
func (sh *shared) noted(s *session, state roster.State, err error) {
	var away *fleet.AwayError
	switch {
	case errors.As(err, &away): // back sees to it
	case err != nil:
		if !sh.refused.Swap(true) {
			sh.h.log.Warn("the shared store does not take what is new about sessions: it is known to this replica", "error", err)
		}
	case state == roster.Ended:
		sh.do(func() { sh.h.remove(s, "it ended elsewhere", endedElsewhere) })
	case state == roster.Full:
		sh.h.log.Debug("a session has more subscriptions than other replicas are told of")
	case state == roster.Missing:
		sh.save(s)
	default:
		if sh.refused.Swap(false) {
			sh.h.log.Info("the shared store takes what is new about sessions again")
		}
		s.sharing.mu.Lock()
		s.sharing.saved, s.sharing.renewed = true, time.Now()
		s.sharing.mu.Unlock()
	}
}

// renewals is how many times at most the store is asked to keep a session, in the time that
// sessions are kept without use.
const renewals = 64

// touch has the store keep a session that is in use, now and then.
func (sh *shared) touch(s *session) {
	if sh == nil || !s.client.Initialized() {
		return
	}
	x := s.sharing
	x.mu.Lock()
	due := time.Since(x.renewed) >= sh.h.opts.SessionIdle/renewals
	if due {
		x.renewed = time.Now()
	}
	x.mu.Unlock()
	if due {
		sh.do(func() { sh.renew(s) })
	}
}

func (sh *shared) renew(s *session) {
	state, err := sh.roster.Touch(sh.store.Life(), s.sharing.key)
	sh.noted(s, state, err)
}

// back tells the store what it has missed, and looks what this replica has missed.
func (sh *shared) back() {
	sh.mu.Lock()
	ends := sh.ends
	sh.ends = map[roster.Key]bool{}
	sh.mu.Unlock()
	for key := range ends {
		sh.end(key)
	}
	look := func() {
		for _, s := range sh.all() {
			if s.client.Initialized() {
				sh.renew(s)
				s.sharing.follows.Add("changed", 0, func(ctx context.Context) { sh.catchUp(ctx, s, "") })
			}
		}
	}
	look()
	// What others tell right then is lost on who does not listen to the store again yet.
	if sh.backs.Add(1) > 1 {
		return // one that waits sees to it
	}
	sh.do(func() {
		late := time.NewTimer(backTime)
		defer late.Stop()
		for {
			times := sh.backs.Load()
			select {
			case <-late.C:
			case <-sh.h.life.Done():
				return
			}
			look()
			if sh.backs.CompareAndSwap(times, 0) {
				return
			}
			late.Reset(backTime)
		}
	})
}

// backTime is how long after the store is back all replicas listen to it again.
const backTime = 5 * time.Second

// end ends a session for all replicas, and reports whether it has just ended. While the
// store is away, that is done later.
func (sh *shared) end(key roster.Key) (first bool) {
	first, err := sh.roster.End(sh.store.Life(), key)
	if err != nil {
		sh.mu.Lock()
		if len(sh.ends) < maxEnds {
			sh.ends[key] = true
		}
		sh.mu.Unlock()
		return true
	}
	_ = sh.tellAll(told{Kind: toldEnded, Session: key})
	sh.ended(key) // it may have been taken over here again meanwhile
	return first
}

// ended ends here a session that is over, also one that is being taken over.
func (sh *shared) ended(key roster.Key) {
	sh.mu.Lock()
	for at, takeover := range sh.taking {
		if at.key == key {
			takeover.ended = true
		}
	}
	s := sh.sessions[key]
	sh.mu.Unlock()
	if s != nil {
		sh.do(func() { sh.h.remove(s, "it ended elsewhere", endedElsewhere) })
	}
}

// How a session comes to its end here.
type ending int

const (
	ended          ending = iota // for all replicas
	endedElsewhere               // another replica has ended it
	left                         // it may go on elsewhere, or here
)

// ending says how a session ends here that is to end so. One that no other replica can know
// of ends for good; for one that another has ended already, nothing is forgotten twice.
func (sh *shared) ending(s *session, how ending) ending {
	if sh == nil {
		return ended
	}
	s.sharing.mu.Lock()
	saved := s.sharing.saved
	s.sharing.mu.Unlock()
	switch {
	case !saved:
		return ended
	case how == ended && !sh.end(s.sharing.key):
		return endedElsewhere
	}
	return how
}

// revokedAt ends a session no token of which is good any more, unless one was shown at another
// replica.
func (h *Handler) revokedAt(s *session) {
	how := ended
	if sh := h.shared; sh != nil {
		if state, err := sh.roster.Revoke(sh.store.Life(), s.sharing.key); err == nil && state == roster.Kept {
			how = left
		}
	}
	h.remove(s, "its token was revoked", how)
}

// shows notes that a token which may be revoked was shown for a session here.
func (sh *shared) shows(s *session) {
	x := s.sharing
	x.mu.Lock()
	first, saved := !x.shown, x.saved
	x.shown = true
	x.mu.Unlock()
	if first && saved {
		state, err := sh.roster.Show(sh.store.Life(), x.key)
		sh.noted(s, state, err)
	}
}
