package web

import (
	"log/slog"
	"testing"
)

// TestForgottenMeanwhile: what a client comes back for may be dropped before it is
// sent again, for the sake of others. Its reply ends, and it can ask in vain; on a
// stream of notifications the rest comes. That was an index out of range.
func TestForgottenMeanwhile(t *testing.T) {
	for _, listens := range []bool{false, true} {
		l := (&Handler{log: slog.New(slog.DiscardHandler), replay: newReplay(3 * (replayCost + 10))}).newLink("s")
		s, err := l.admit(nil)
		if err != nil {
			t.Fatal(err)
		}
		if listens {
			s = l.standalone
		} else {
			s.open = 1
		}
		r := s.attach()
		for range 4 {
			s.push(&event{body: make([]byte, 10)})
		}
		for n := 1; n <= 3; n++ {
			if e, _, _ := s.take(r); e == nil {
				t.Fatal("no event")
			}
			l.replay.keep(s, n, 10)
		}
		if !s.resume(0) {
			t.Fatal("not resumed")
		}
		r = s.attach()
		other, err := l.admit(nil)
		if err != nil {
			t.Fatal(err)
		}
		l.replay.keep(other, 1, 10)
		l.replay.keep(other, 2, 10)
		e, n, over := s.take(r)
		switch {
		case over:
			t.Error("it is over")
		case listens && (e == nil || n != 3):
			t.Errorf("event %d", n)
		case !listens && (e != nil || n >= 0):
			t.Errorf("event %d, and not those before it", n)
		case !listens && (s.resume(0) || !s.resume(2)):
			t.Error("what is kept can be had, what is not cannot")
		}
		s.push(&event{body: make([]byte, 10)})
	}
}
