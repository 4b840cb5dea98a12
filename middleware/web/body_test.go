package web

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/middleware/guard"
)

// TestBodiesInMemory: of long bodies there are never more than the bound, those
// included that wait. Each used to be read whole and then to wait behind others.
func TestBodiesInMemory(t *testing.T) {
	const max, size = 8 << 20, 3 << 20
	body := bytes.Repeat([]byte(" "), size)
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := &Handler{opts: Options{MaxBodyBytes: max}, bodies: guard.NewBudget(max, nil)}
			var read, most atomic.Int64
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					hold := h.bodies.Hold()
					defer hold.Release()
					r := httptest.NewRequest(http.MethodPost, "/mcp", counted{bytes.NewReader(body), &read, &most})
					r.ContentLength = size
					if !known {
						r.ContentLength = -1
					}
					if got, ok := h.read(httptest.NewRecorder(), r, hold); !ok || !bytes.Equal(got, body) {
						t.Error("another body")
					}
					time.Sleep(time.Second) // to answer takes a while
					read.Add(-size)
				})
			}
			wg.Wait()
			// Of each, the first mebibyte is small.
			if n := most.Load(); n > max+10*largeBody {
				t.Errorf("%d bytes were in memory", n)
			}
		})
	}
}

// A counted reader adds what is read of it.
type counted struct {
	io.Reader
	read, most *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if now := c.read.Add(int64(n)); now > c.most.Load() {
		c.most.Store(now)
	}
	return n, err
}

// TestBodyLengths: what is read is what was sent, whatever length is said.
func TestBodyLengths(t *testing.T) {
	h := &Handler{opts: Options{MaxBodyBytes: 2 * largeBody}, bodies: guard.NewBudget(2*largeBody, nil)}
	for _, n := range []int{0, 1, largeBody - 1, largeBody, largeBody + 1, 2 * largeBody, 2*largeBody + 1} {
		body := strings.Repeat("x", n)
		for _, said := range []int64{int64(n), -1} {
			hold := h.bodies.Hold()
			r := httptest.NewRequest(http.MethodPost, "/mcp", io.MultiReader(strings.NewReader(body)))
			r.ContentLength = said
			w := httptest.NewRecorder()
			got, ok := h.read(w, r, hold)
			hold.Release()
			if ok != (n > 0 && n <= 2*largeBody) || ok && string(got) != body || !ok && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%d bytes, %d said: %d, %v, %d", n, said, len(got), ok, w.Code)
			}
		}
	}
}
