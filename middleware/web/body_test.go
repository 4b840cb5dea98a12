package web

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/middleware/guard"
)

// bodies is a handler that reads bodies of one agent up to perAgent bytes together.
func bodies(max, perAgent int64) *Handler {
	return &Handler{
		opts:   Options{MaxBodyBytes: max, Accounts: guard.NewAccounts(perAgent, 4*perAgent)},
		bodies: guard.NewBudget(max, nil), places: newPlaces(1, 0, nil),
	}
}

// TestBodiesInMemory: of the bodies of one agent there are never more than it may have;
// the rest are refused at once, of whatever size. Those of up to a mebibyte were not
// counted: a thousand of them took 4 GB.
func TestBodiesInMemory(t *testing.T) {
	const most = 16 << 20
	for _, size := range []int{100 << 10, 1 << 20, 3 << 20} {
		for _, known := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				h := bodies(8<<20, most)
				body := bytes.Repeat([]byte(" "), size)
				var read, peak atomic.Int64
				var refused atomic.Int32
				var wg sync.WaitGroup
				for range 200 {
					wg.Go(func() {
						in := bytes.NewReader(body)
						defer func() { read.Add(-int64(size - in.Len())) }()
						r := httptest.NewRequest(http.MethodPost, "/mcp", counted{in, &read, &peak})
						r.ContentLength = int64(size)
						if !known {
							r.ContentLength = -1
						}
						c := h.claim(r)
						w := httptest.NewRecorder()
						got, ok := h.read(w, r, c)
						defer func() { _ = c.resize(0) }()
						switch {
						case ok && !bytes.Equal(got, body):
							t.Error("another body")
						case !ok && (w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "too_busy")):
							t.Errorf("%d %s", w.Code, w.Body)
						case !ok:
							refused.Add(1)
							return
						}
						time.Sleep(time.Second) // to answer takes a while
					})
				}
				wg.Wait()
				if n := peak.Load(); n > most {
					t.Errorf("%d bytes were in memory", n)
				}
				if n := int(refused.Load()); n == 0 || 200-n < most/max(size, largeBody)-1 {
					t.Errorf("%d of 200 were refused", n)
				}
				if n := h.opts.Accounts.Held(); n != 0 {
					t.Errorf("%d bytes are still counted", n)
				}
			})
		}
	}
}

// A deadlined response ends the reading of a pipe when its time is over.
type deadlined struct {
	*httptest.ResponseRecorder
	body *io.PipeReader
}

func (d deadlined) SetReadDeadline(at time.Time) error {
	if !at.IsZero() && !at.After(time.Now()) {
		d.body.CloseWithError(os.ErrDeadlineExceeded)
	}
	return nil
}

// TestSlowBodies: long bodies that come slowly keep their place as long as nobody else
// wants it. They kept it for a minute, one after the other.
func TestSlowBodies(t *testing.T) {
	const size = 4 << 20
	for _, tt := range []struct {
		name   string
		second int // bytes a second
		others bool
		want   int
	}{
		{"slow, alone", 100 << 10, false, http.StatusOK},
		{"slow, before others", 100 << 10, true, http.StatusRequestTimeout},
		{"quick, before others", 1 << 20, true, http.StatusOK},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := bodies(size, 4*size)
			read := func(agent string, second int) (status int, took time.Duration) {
				began := time.Now()
				in, out := io.Pipe()
				go func() {
					for range size / (second / 10) {
						time.Sleep(time.Second / 10)
						if _, err := out.Write(make([]byte, second/10)); err != nil {
							return
						}
					}
					_, _ = out.Write(make([]byte, size%(second/10)))
					out.Close()
				}()
				r := httptest.NewRequest(http.MethodPost, "/mcp", in)
				r.ContentLength = size
				w := deadlined{httptest.NewRecorder(), in}
				c := &claim{agent, h.opts.Accounts.Of(agent), 0}
				_, _ = h.read(w, r, c)
				_ = c.resize(0)
				in.Close()
				return w.Code, time.Since(began)
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				if status, took := read("slow", tt.second); status != tt.want {
					t.Errorf("%s: %d after %v", tt.name, status, took)
				}
			})
			time.Sleep(15 * time.Second) // it has its turn
			if tt.others {
				if status, took := read("other", 4<<20); status != http.StatusOK || took > 3*paceTime {
					t.Errorf("%s: the other's %d after %v", tt.name, status, took)
				}
			}
			wg.Wait()
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
	h := bodies(2*largeBody, 1<<30)
	for _, n := range []int{0, 1, largeBody - 1, largeBody, largeBody + 1, 2 * largeBody, 2*largeBody + 1} {
		body := strings.Repeat("x", n)
		for _, said := range []int64{int64(n), -1} {
			c := h.claim(httptest.NewRequest(http.MethodPost, "/mcp", nil))
			r := httptest.NewRequest(http.MethodPost, "/mcp", io.MultiReader(strings.NewReader(body)))
			r.ContentLength = said
			w := httptest.NewRecorder()
			got, ok := h.read(w, r, c)
			c.resize(0)
			if ok != (n > 0 && n <= 2*largeBody) || ok && string(got) != body || !ok && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%d bytes, %d said: %d, %v, %d", n, said, len(got), ok, w.Code)
			}
		}
	}
}

// TestBodyWithMark: a byte order mark before a message is no part of it.
func TestBodyWithMark(t *testing.T) {
	for _, body := range []string{`{"id":1,"method":"x"}`, "\ufeff" + `{"id":1,"method":"x"}`, "\r\n\ufeff [" + `{"id":1,"method":"x"}]`} {
		if msgs, _, err := parse([]byte(body)); err != nil || len(msgs) != 1 || msgs[0].Method != "x" {
			t.Errorf("%q: %v, %v", body, msgs, err)
		}
	}
}
