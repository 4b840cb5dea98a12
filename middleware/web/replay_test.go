package web

import (
	"testing"
)

// TestForgottenMeanwhile: what a client comes back for may be dropped before it is
// sent again, for the sake of others. Its response ends, and it can ask in vain; on a
// stream of notifications the rest comes. That was an index out of range.
func TestForgottenMeanwhile(t *testing.T) {
	for _, listens := range []bool{false, true} {
		session := newTestSession()
		replay := newReplay(3 * (eventBytes + 10))
		add := func() *stream {
			s := newStream(1, nil)
			s.session = session
			session.streams.identify(s)
			return s
		}
		s := add()
		if listens {
			s = session.streams.listening
		}
		r := s.attach()
		for range 4 {
			s.push(note([]byte("{}")))
		}
		for n := 1; n <= 3; n++ {
			if e, _, _ := s.take(r); e == nil {
				t.Fatal("no event")
			}
			replay.keep(s, n, 10)
		}
		if s.resume(0) != 200 {
			t.Fatal("not resumed")
		}
		r = s.attach()
		other := add()
		replay.keep(other, 1, 10)
		replay.keep(other, 2, 10)
		e, n, more := s.take(r)
		switch {
		case listens && (e == nil || n != 3):
			t.Errorf("event %d", n)
		case !listens && (e != nil || more):
			t.Errorf("event %d, and not those before it", n)
		case !listens && (s.resume(0) != 400 || s.resume(2) != 200):
			t.Error("what is kept can be had, what is not cannot")
		}
		s.push(note([]byte("{}")))
	}
}
