package web

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/rpc"
)

// A stream is what goes out in the response to one POST, or what a client listens for.
// One HTTP request reads it at a time. A client of a session that was cut off may come
// back for the rest by a GET.
//
// An event is a message; events count from one. The latest of those that were sent are kept
// for clients that come back, see [replay].
type stream struct {
	// Fixed before others know it:
	session *session // nil in revision 2026-07-28
	listens bool     // it has no end of its own: the client listens for what may come
	batch   bool     // it answers a batch, of one request too
	// With other replicas:
	answers   string              // stands in its id: the requests that it answers
	answering func(m rpc.Message) // hears of answers before the client; nil: nobody does

	id string // "" until the client learns it; set by its reader, see [streams]

	mu       sync.Mutex         // guards the fields below
	account  *guard.Account     // of the events that have not been read; nil once settled
	counted  int                // of the events, the first that are not counted any more
	pending  int                // answers that are still to come
	events   []*rpc.Message     // those kept that were sent, then those to be sent
	first    int                // how many there were before events
	next     int                // how many were sent
	reader   *reader            // nil: nobody reads
	expected bool               // the reader is about to come, or may come back
	absence  *time.Timer        // of abandon, while the client is away
	cancel   context.CancelFunc // ends the requests that it answers; nil when they have been
	unbind   func() bool        // takes them off the life of their token; nil likewise, or without one
}

// A reader is the HTTP request that a stream's events are sent to.
type reader struct {
	wake     chan struct{} // capacity 1: there may be more events
	replaced chan struct{} // closed when another reads instead
}

// Bounds on the notifications that wait on a stream for its reader.
const (
	maxQueued      = 256
	maxQueuedBytes = 1 << 20 // one may be longer than that
)

// smallAnswer is up to where an answer is never lost, in bytes: what agents read is
// shorter.
const smallAnswer = 64 << 10

// newStream returns a stream for the answers to so many requests, whose reader is about
// to come. What it has not read is counted on account.
func newStream(requests int, account *guard.Account) *stream {
	return &stream{pending: requests, expected: true, account: account}
}

// errUnread stands in the place of an answer that there is no room for.
var errUnread = &guard.BusyError{Text: "too many bytes of answers wait for this client to read them"}

// push queues a message. A notification is lost where too many wait already, and so are it
// and a long answer where its agent leaves far too much unread.
func (s *stream) push(m rpc.Message) {
	if m.Method == "" {
		m.ID = bytes.Clone(m.ID) // or it keeps the body of the request in memory
	} else {
		m = m.Clone() // the sender may use the memory again
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if isNotification(&m) && (s.full(size(&m)) || s.account.Over()) {
		return
	}
	if m.Method == "" && size(&m) > smallAnswer && s.account.Over() {
		m = rpc.Message{ID: m.ID, Error: rpc.ErrorObject(errUnread)}
	}
	s.account.Add(int64(size(&m)))
	s.events = append(s.events, &m)
	if m.Method == "" {
		s.answered()
	}
	s.wake()
}

// answered says that one request fewer waits. s.mu must be held.
func (s *stream) answered() {
	if s.pending--; s.pending <= 0 && s.unbind != nil {
		s.unbind()
		s.unbind = nil
	}
}

func isNotification(m *rpc.Message) bool { return m.Method != "" && m.ID == nil }

// size is how many bytes m has, without the few that every message has.
func size(m *rpc.Message) int {
	return len(m.ID) + len(m.Method) + len(m.Params) + len(m.Result) + len(m.Error)
}

// wake has the reader look. s.mu must be held.
func (s *stream) wake() {
	if s.reader != nil {
		select {
		case s.reader.wake <- struct{}{}:
		default:
		}
	}
}

// unanswered says that a request was cancelled and gets no answer.
func (s *stream) unanswered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered()
	s.wake()
}

// full reports whether there is no room for a notification of n bytes. s.mu must be
// held.
func (s *stream) full(n int) bool {
	queued, bytes := s.events[max(0, s.next-s.first):], 0
	for _, m := range queued {
		if isNotification(m) {
			bytes += size(m)
		}
	}
	return len(queued) >= maxQueued || bytes > 0 && bytes+n > maxQueuedBytes
}

// ended reports whether all its requests have been answered.
func (s *stream) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending <= 0
}

// reachable reports whether a client reads it, is about to, or may come back to it.
func (s *stream) reachable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reader != nil || s.expected
}

// expect says whether a reader is about to come.
func (s *stream) expect(soon bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected = soon
}

// resume makes the event after the nth the next one; -1 is wherever it stands. It
// returns the status of HTTP: there may be more, there is no more, or the event after
// the nth is not kept.
func (s *stream) resume(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch last := s.first + len(s.events); {
	case n < 0:
	case n == last && s.pending <= 0:
		// Clients come back to a stream that has ended without an answer, unless they
		// are told not to.
		return http.StatusNoContent
	case n > last, n < s.first && !s.listens:
		return http.StatusBadRequest
	default:
		s.next = max(n, s.first) // what is not kept would be lost without a reader, too
	}
	return http.StatusOK
}

// attach begins to read, in the place of whoever reads now.
func (s *stream) attach() *reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil {
		close(s.reader.replaced)
	}
	if s.absence != nil {
		s.absence.Stop()
		s.absence = nil
	}
	s.expected = false
	s.reader = &reader{make(chan struct{}, 1), make(chan struct{})}
	return s.reader
}

// take returns the next event and its number, or nil. More says that others may come:
// they do not where the stream has ended, another reads it, or the next one has been
// dropped since the client came back.
func (s *stream) take(r *reader) (event *rpc.Message, n int, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listens {
		s.next = max(s.next, s.first)
	}
	switch at := s.next - s.first; {
	case s.reader != r || at < 0:
		return nil, 0, false
	case at < len(s.events):
		s.next++
		return s.events[at], s.next, true
	}
	return nil, 0, s.pending > 0
}

// read says that the first n events have reached the client, or are not kept for it.
func (s *stream) read(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uncount(n)
}

// uncount takes the first n events off the account. s.mu must be held.
func (s *stream) uncount(n int) {
	for n = min(n, s.first+len(s.events)); s.counted < n; s.counted++ {
		if at := s.counted - s.first; at >= 0 && at < len(s.events) {
			s.account.Give(int64(size(s.events[at])))
		}
	}
}

// unread takes out what nobody has read of a stream on which a client listens, in its order,
// unless somebody reads it.
func (s *stream) unread() (all []*rpc.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil {
		return nil
	}
	s.next = max(s.next, s.first)
	s.uncount(s.first + len(s.events))
	at := s.next - s.first
	all = slices.Clone(s.events[at:])
	clear(s.events[at:])
	s.events = s.events[:at]
	s.counted = min(s.counted, s.next)
	return all
}

// settle says that nobody reads the stream any more: nothing of it is counted.
func (s *stream) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uncount(s.first + len(s.events))
	s.account = nil
}

// forget drops the first n events, and reports whether nothing is left of a stream that
// has ended.
func (s *stream) forget(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uncount(n)
	if drop := min(n-s.first, len(s.events)); drop > 0 {
		clear(s.events[:drop])
		s.events = s.events[drop:]
		s.first += drop
	}
	return s.pending <= 0 && len(s.events) == 0
}

// detach ends the reading. The requests of a session's stream are cancelled if the client
// cannot come back to it, or does not within that time. In revision 2026-07-28 they end
// with their HTTP request.
func (s *stream) detach(r *reader, resumeTime time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != r {
		return
	}
	s.reader = nil
	finished := s.pending <= 0 && s.next == s.first+len(s.events)
	if finished {
		s.uncount(s.next)
		s.cancel = nil // which would keep the context of a request as long as its answer
	}
	if finished || s.listens || s.session == nil {
		return
	}
	if s.id == "" {
		resumeTime = 0
	}
	s.expected = s.id != ""
	s.absence = time.AfterFunc(resumeTime, s.abandon)
}

// abandon cancels the requests of a stream that the client did not come back to.
func (s *stream) abandon() {
	s.mu.Lock()
	left, cancel := s.reader == nil, s.cancel
	s.expected, s.absence = false, nil
	s.mu.Unlock()
	if left {
		s.settle()
		s.session.streams.remove(s)
		if cancel != nil {
			cancel()
		}
	}
}
