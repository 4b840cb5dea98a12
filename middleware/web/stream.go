package web

import (
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An event is a message to the client.
type event struct {
	head, body, tail []byte // the message, in three parts
	answer           bool   // to a request of the stream
	asks             bool   // the client is to answer it
	status           int    // of HTTP, if the message is all of a reply; 0 is 200
}

func (e *event) size() int { return len(e.head) + len(e.body) + len(e.tail) }

// A stream is what one POST is owed, or what a client listens for. One request
// reads it at a time; one that was cut off may be followed by a GET.
//
// Events count from one. An event's id is the stream's and its number, so that
// the id says how many the client has.
type stream struct {
	// Fixed once the link has it:
	id      string
	link    *link
	owed    []jsonrpc.ID // what it answers
	listens bool         // it takes what no request is about
	batch   bool         // a single answer is no whole reply
	begins  bool         // it answers initialize

	mu       sync.Mutex // guards the fields below
	open     int        // answers that are still to come
	events   []*event   // sent ones that are kept, then those to be sent
	first    int        // how many came before events
	next     int        // how many have been sent
	reader   *reader    // nil: nobody reads
	awaits   bool       // whoever made the request is about to read
	numbered bool       // the client has an event's id
	lost     bool       // a notification was dropped
	gone     *time.Timer
}

// A reader is whoever sends a stream to its client now.
type reader struct {
	wake chan struct{} // capacity 1: there may be more
	out  chan struct{} // closed when another reads instead
}

// Bounds on the notifications that wait on a stream for its reader.
const (
	maxQueued      = 256
	maxQueuedBytes = 1 << 20 // one may be longer than that
)

// newStream returns a stream of l that l does not know yet.
func newStream(l *link, owed ...jsonrpc.ID) *stream {
	return &stream{link: l, owed: owed, open: len(owed)}
}

// push queues an event. Notifications are lost when too many wait already.
func (s *stream) push(e *event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !e.answer && !e.asks && !s.admits(e.size()) {
		if !s.lost {
			s.lost = true
			s.link.log.Debug("notifications dropped, others wait", "stream", s.id, "reads", s.reader != nil)
		}
		return
	}
	if e.answer {
		s.open--
	}
	s.events = append(s.events, e)
	s.wake()
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

// excuse is an answer fewer to wait for: its request was cancelled.
func (s *stream) excuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.wake()
}

// done reports whether the client has all that there was after n events. It is
// told so, since clients come back to a stream that ended without an answer.
func (s *stream) done(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n >= 0 && s.over() && n == s.first+len(s.events)
}

// admits reports whether there is room for a notification of n bytes. s.mu must be
// held.
func (s *stream) admits(n int) bool {
	waiting := s.events[max(0, s.next-s.first):]
	bytes := 0
	for _, e := range waiting {
		if !e.answer && !e.asks {
			bytes += e.size()
		}
	}
	return len(waiting) < maxQueued && (bytes == 0 || bytes+n <= maxQueuedBytes)
}

func (s *stream) unanswered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listens || s.open > 0
}

// reaches reports whether a client reads the stream, or is about to, or may come
// back to it.
func (s *stream) reaches() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reader != nil || s.awaits || s.gone != nil
}

// resume makes the event after the nth the next; -1 is wherever it stands. It
// reports whether that one is kept.
func (s *stream) resume(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case n < 0:
	case n > s.first+len(s.events):
		return false
	case n >= s.first:
		s.next = n
	case s.listens:
		s.next = s.first // what is lost there would have been lost without a reader, too
	default:
		return false
	}
	return true
}

// attach begins to read, in the place of whoever reads now.
func (s *stream) attach() *reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaits = false
	if s.reader != nil {
		close(s.reader.out)
	}
	if s.gone != nil {
		s.gone.Stop()
		s.gone = nil
	}
	s.reader = &reader{make(chan struct{}, 1), make(chan struct{})}
	return s.reader
}

// take returns the next event and its number; over means that none will come, a
// number below zero that the next one was dropped since the stream was resumed.
func (s *stream) take(r *reader) (e *event, n int, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listens {
		s.next = max(s.next, s.first)
	}
	switch {
	case s.reader != r:
		return nil, 0, false
	case s.next < s.first:
		return nil, -1, false
	case s.next < s.first+len(s.events):
		e = s.events[s.next-s.first]
		s.next++
		return e, s.next, false
	}
	return nil, 0, s.over()
}

// forget drops the first n events, and reports whether nothing is left of a
// stream that is over.
func (s *stream) forget(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	drop := min(n-s.first, len(s.events))
	if drop > 0 {
		clear(s.events[:drop])
		s.events = s.events[drop:]
		s.first += drop
	}
	return s.over() && len(s.events) == 0
}

// over reports whether nothing more will come. s.mu must be held.
func (s *stream) over() bool { return s != s.link.standalone && s.open <= 0 }

// detach ends the reading. What nobody can read any more is cancelled.
func (s *stream) detach(r *reader, over bool) {
	s.mu.Lock()
	mine := s.reader == r
	if mine {
		s.reader = nil
	}
	numbered := s.numbered
	if mine && numbered && !over && !s.listens {
		s.gone = time.AfterFunc(s.link.resumeTime, s.abandon)
	}
	s.mu.Unlock()
	switch {
	case !mine || s.link.session == "" || s.listens || numbered:
		// Another reads it, its link ends with it, it has no end, or replay has what
		// is kept of it.
	case over:
		s.link.drop(s)
	default:
		s.abandon()
	}
}

// abandon cancels what the stream is owed, unless somebody reads it again.
func (s *stream) abandon() {
	s.mu.Lock()
	read := s.reader != nil
	s.gone = nil
	s.mu.Unlock()
	if !read {
		s.link.drop(s)
		s.link.cancel(s)
	}
}

func (s *stream) number() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.numbered = true
}
