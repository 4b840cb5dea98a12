package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const mb = 1 << 20

// TestBudget: never more than the bound at one time, all get their turn, and who
// gives up leaves the queue as it was.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var idle atomic.Int64
		b := NewBudget(64*mb, func() { idle.Add(1) })
		var now, most atomic.Int64
		var wg sync.WaitGroup
		for i := range int64(100) {
			wg.Go(func() {
				h := b.Hold()
				defer h.Release()
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%3)*time.Second)
				defer cancel()
				n := (i%9 + 2) * 10 * mb
				if h.Take(ctx, n) != nil || h.Take(ctx, n/2) != nil {
					return
				}
				n = min(n, 64*mb)
				if v := now.Add(n); v > most.Load() {
					most.Store(v)
				}
				time.Sleep(100 * time.Millisecond)
				now.Add(-n)
				h.Pause()
				_ = h.Take(ctx, 3*mb)
			})
		}
		wg.Wait()
		if most.Load() > 64*mb || most.Load() < 40*mb {
			t.Errorf("%d bytes at one time", most.Load())
		}
		if b.large.taken != 0 || len(b.large.queue) != 0 {
			t.Errorf("left: %d bytes taken, %d wait", b.large.taken, len(b.large.queue))
		}
		time.Sleep(2 * idleTime)
		synctest.Wait()
		if idle.Load() != 1 {
			t.Errorf("idle %d times", idle.Load())
		}
	})
}

// TestBudgetSmall: small results do not wait for large ones.
func TestBudgetSmall(t *testing.T) {
	b := NewBudget(64*mb, nil)
	large, small := b.Hold(), b.Hold()
	if err := large.Take(t.Context(), 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := small.Take(t.Context(), mb); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := b.Hold().Take(ctx, 2*mb); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside the largest: %v", err)
	}
	large.Release()
	if err := large.Take(t.Context(), 2*mb); !errors.Is(err, context.Canceled) || b.large.taken != 0 {
		t.Errorf("after the release: %v, %d taken", err, b.large.taken)
	}
	var none *Hold
	if err := none.Take(t.Context(), mb); err != nil {
		t.Error(err)
	}
	none.Release()
}

// TestAnswersWaitForTheirTurn: while one call works on its answer, the next
// answer is not handed on, and a call that gives up frees the way.
func TestAnswersWaitForTheirTurn(t *testing.T) {
	r, w := io.Pipe()
	sent := make(lineCount, 10)
	conn := NewConn(r, sent, Options{})
	defer conn.Close()
	b := NewBudget(2*mb, nil)
	first, second := b.Hold(), b.Hold()
	defer first.Release()
	defer second.Release()
	go func() {
		long := `"` + strings.Repeat("x", 3*mb/2) + `"`
		<-sent
		io.WriteString(w, `{"id":"rlm-1","result":`+long+"}\n")
		<-sent
		io.WriteString(w, `{"id":"rlm-2","result":`+long+"}\n")
		<-sent // that nobody waits for the second
		<-sent
		io.WriteString(w, `{"id":"rlm-3","result":3}`+"\n")
	}()
	if _, err := conn.Call(WithHold(t.Context(), first), "x", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(WithHold(t.Context(), second), 20*time.Millisecond)
	defer cancel()
	if _, err := conn.Call(ctx, "x", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second: %v", err)
	}
	if raw, err := conn.Call(t.Context(), "x", nil); string(raw) != "3" {
		t.Errorf("the third: %s, %v", raw, err)
	}
}

// A lineCount has one element for each line that was written.
type lineCount chan struct{}

func (c lineCount) Write(p []byte) (int, error) {
	c <- struct{}{}
	return len(p), nil
}
func (lineCount) Close() error { return nil }

// TestLongLinesHaveNoRoomBehind: a line that the cache keeps holds its own bytes.
func TestLongLinesHaveNoRoomBehind(t *testing.T) {
	for _, n := range []int{1, 60_000, 64 << 10, 64<<10 + 1, 200_000, 9 * mb} {
		want := bytes.Repeat([]byte("x"), n)
		want[n/2] = 'y'
		in := append(append(bytes.Clone(want), '\n'), want...) // the last without an end
		l := newLineReader(bytes.NewReader(in), 10*mb)
		for i := range 2 {
			line, err := l.next()
			if err != nil || !bytes.Equal(line, want) {
				t.Fatalf("%d bytes, line %d: %d bytes, %v", n, i, len(line), err)
			}
			if cap(line) > n+n/8+32 {
				t.Errorf("%d bytes in %d", n, cap(line))
			}
		}
	}
}

// TestLongRequestsAreCounted: together they are no longer than one may be.
func TestLongRequestsAreCounted(t *testing.T) {
	clientR, serverW := io.Pipe()
	serverR, clientW := io.Pipe()
	server := NewConn(serverR, serverW, Options{MaxLineBytes: mb, Refuse: true})
	client := NewConn(clientR, clientW, Options{})
	defer server.Close()
	defer client.Close()
	go func() {
		for {
			if _, err := server.Read(t.Context()); err != nil {
				return
			}
		}
	}()
	long, _ := json.Marshal(strings.Repeat("x", 700_000))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go client.Call(ctx, "unanswered", long)
	for {
		server.mu.Lock()
		held := !server.backlog.Empty()
		server.mu.Unlock()
		if held {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := client.Call(t.Context(), "one too many", long); err == nil || !strings.Contains(err.Error(), "wait for their answers") {
		t.Errorf("the second: %v", err)
	}
}

// TestBudgetKeep: what is given back is another's, and what is kept is not.
func TestBudgetKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(64*mb, nil)
		h, other := b.Hold(), b.Hold()
		if err := h.Take(t.Context(), 64*mb); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = other.Take(t.Context(), 40*mb) })
		synctest.Wait()
		h.Keep(64 * mb)
		h.Keep(100 * mb)
		h.Keep(30 * mb)
		synctest.Wait()
		if b.large.taken != 30*mb {
			t.Errorf("%d bytes taken", b.large.taken)
		}
		h.Keep(20 * mb)
		wg.Wait()
		if b.large.taken != 60*mb {
			t.Errorf("%d bytes taken", b.large.taken)
		}
		h.Release()
		h.Keep(0)
		other.Release()
		if b.large.taken != 0 {
			t.Errorf("%d bytes left", b.large.taken)
		}
		(*Hold)(nil).Keep(1)
	})
}
