package web

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestForgottenMeanwhile: what a client comes back for may be dropped before it is
// sent again, for the sake of others. Its reply ends, and it can ask in vain; on a
// stream of notifications the rest comes. That was an index out of range.
func TestForgottenMeanwhile(t *testing.T) {
	for _, listens := range []bool{false, true} {
		l := (&Handler{log: slog.New(slog.DiscardHandler), replay: newReplay(3*(replayCost+10) + streamCost)}).newLink("s")
		s := newStream(l)
		if err := l.admit(s); err != nil {
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
		other := newStream(l)
		if err := l.admit(other); err != nil {
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

// TestReplayCost: what is kept takes no more memory than was reckoned. Of small
// answers, each on a stream of its own, it took almost twice as much.
func TestReplayCost(t *testing.T) {
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	for _, apart := range []bool{true, false} {
		for _, size := range []int{20, 100, 1000} {
			h := &Handler{log: slog.New(slog.DiscardHandler), replay: newReplay(4 << 20)}
			l := h.newLink("s")
			before := heap()
			s := l.standalone
			r := s.attach()
			for i := range 30000 {
				if apart {
					id, err := jsonrpc.MakeID(fmt.Sprint("request-", i))
					if err != nil {
						t.Fatal(err)
					}
					s = newStream(l, id)
					if err := l.admit(s); err != nil {
						t.Fatal(err)
					}
					delete(l.owed, id) // as Write does
					r = s.attach()
				}
				s.push(&event{head: make([]byte, 35), body: make([]byte, size), tail: []byte{'}'}, answer: apart})
				s.number()
				e, n, _ := s.take(r)
				if e == nil {
					t.Fatal("no event")
				}
				h.replay.keep(s, n, e.size())
				if apart {
					s.detach(r, true)
				}
			}
			if took, reckoned := heap()-before, h.replay.bytes; took > reckoned+reckoned/5 {
				t.Errorf("%d bytes each, apart %v: %d bytes in memory, %d reckoned", size, apart, took, reckoned)
			}
			runtime.KeepAlive(h)
			runtime.KeepAlive(l)
		}
	}
}
