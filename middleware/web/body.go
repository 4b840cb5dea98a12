package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/rpc"
)

const (
	// bodyTime is how long a message may take to arrive.
	bodyTime = time.Minute

	// bodyWait is how long a long one waits for its share before it is refused:
	// most clients have given up by then.
	bodyWait = 2 * time.Minute

	// largeBody is from where it shares the bytes that all have. A hold counts
	// from one byte more.
	largeBody = 1<<20 + 1

	// maxBatch bounds the messages of one body: a session may have as many requests.
	maxBatch = 1024
)

var (
	// errLongBodies is why a long body is refused.
	errLongBodies = errors.New("the proxy is still reading other clients' long messages")
	// errSlowBody is why one is given up that keeps others waiting.
	errSlowBody = errors.New("the message came too slowly while other messages waited")
)

// A claim is what a body takes of what its agent may have, until the requests in it,
// which are slices of it, count themselves.
type claim struct {
	party   string
	account *guard.Account
	n       int64 // bytes in account
}

// resize counts n bytes instead of those that were counted.
func (c *claim) resize(n int64) error {
	if n > c.n {
		if err := c.account.Take(n - c.n); err != nil {
			return err
		}
	} else {
		c.account.Give(c.n - n)
	}
	c.n = n
	return nil
}

// claim returns what a request may take, on the account of whoever it says that it is
// from before its body is read.
func (h *Handler) claim(r *http.Request) *claim {
	who := h.identity(r, nil)
	if id := r.Header.Get(headerSession); h.places.has(id) {
		who.Session = id
	}
	party := who.Party(0)
	return &claim{party: party, account: h.opts.Accounts.Of(party)}
}

// read reads a body, or answers why it cannot.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, c *claim) ([]byte, bool) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // tests have connections without
	length := h.opts.MaxBodyBytes
	in := http.MaxBytesReader(w, r.Body, length)
	if r.ContentLength >= 0 {
		length = min(length, r.ContentLength)
	}
	body, err := h.readParts(r, rc, in, length, c)
	if err == nil { // else what is left of it is read, in what is left of its time
		_ = rc.SetReadDeadline(time.Time{})
	}
	if err == nil && len(body) > 0 {
		_ = c.resize(int64(len(body))) // not more than was counted
		return body, true
	}
	var busy *guard.BusyError
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &busy):
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusTooManyRequests, nil, codeInvalidRequest, err.Error())
	case errors.Is(err, errSlowBody):
		fail(w, http.StatusRequestTimeout, nil, codeInvalidRequest, err.Error())
	case errors.As(err, &over):
		fail(w, http.StatusRequestEntityTooLarge, nil, codeInvalidRequest, fmt.Sprintf("a message of more than %d bytes", over.Limit))
	case errors.Is(err, errLongBodies):
		w.Header().Set("Retry-After", "60")
		fail(w, http.StatusServiceUnavailable, nil, codeInvalidRequest, err.Error())
	case err != nil:
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "the body could not be read")
	default:
		fail(w, http.StatusBadRequest, nil, codeParse, "the body is empty")
	}
	return nil, false
}

// readParts reads a body of at most length bytes: at once what is short, and the rest of
// a long one when it is its turn.
func (h *Handler) readParts(r *http.Request, rc *http.ResponseController, in io.Reader, length int64, c *claim) ([]byte, error) {
	if err := c.resize(min(length, largeBody)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if r.ContentLength > 0 {
		b.Grow(int(min(length, largeBody)) + bytes.MinRead) // or it is copied as it grows
	}
	_, err := b.ReadFrom(io.LimitReader(in, largeBody))
	if err != nil || b.Len() < largeBody {
		return b.Bytes(), err
	}
	hold := h.bodies.Hold(c.party)
	defer hold.Release()
	wait, end := context.WithTimeoutCause(r.Context(), bodyWait, errLongBodies)
	err = hold.Take(wait, length)
	end()
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // it may have waited
	if err != nil {
		return nil, err
	}
	if r.ContentLength > largeBody {
		b.Grow(int(length) - b.Len() + bytes.MinRead)
	}
	p := newPace(rc, hold)
	rest := io.TeeReader(in, p)
	for more := true; more && err == nil; {
		if err = c.resize(min(length, int64(b.Len()+stepBytes))); err == nil {
			var n int64
			n, err = b.ReadFrom(io.LimitReader(rest, stepBytes))
			more = n == stepBytes
		}
	}
	if p.end() {
		err = errSlowBody
	}
	return b.Bytes(), err
}

// stepBytes of a long body are counted at a time: its length may not be known.
const stepBytes = 1 << 20

const (
	// paceTime is how long a long body may take for paceBytes while another agent's
	// waits: 256 KiB a second, which a connection of 2 Mbit/s has.
	paceTime  = 2 * time.Second
	paceBytes = 512 << 10
)

// A pace sees how fast a body comes that has its turn, and takes the connection's time
// away from one that is slow while another agent's body waits.
type pace struct {
	read atomic.Int64
	done chan struct{}
	seen sync.WaitGroup
	slow bool // for use after seen
}

func newPace(rc *http.ResponseController, hold *guard.Hold) *pace {
	p := &pace{done: make(chan struct{})}
	p.seen.Go(func() {
		look := time.NewTicker(paceTime)
		defer look.Stop()
		for last := int64(0); ; last = p.read.Load() {
			select {
			case <-p.done:
				return
			case <-look.C:
			}
			if p.read.Load()-last < paceBytes && hold.Wanted() {
				p.slow = true
				_ = rc.SetReadDeadline(time.Now()) // which ends the reading
				return
			}
		}
	})
	return p
}

// Write implements [io.Writer] for what is read.
func (p *pace) Write(b []byte) (int, error) {
	p.read.Add(int64(len(b)))
	return len(b), nil
}

// end stops looking, and reports whether the body was too slow.
func (p *pace) end() bool {
	close(p.done)
	p.seen.Wait()
	return p.slow
}

// parse slices the messages out of a body: one, or those of a batch.
func parse(body []byte) (msgs []rpc.Message, batch bool, err error) {
	add := func(b json.RawMessage) error {
		m, err := rpc.Parse(b)
		switch {
		case err != nil:
			return err
		case m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil):
			return rpc.ErrNotMessage
		case len(msgs) == maxBatch:
			return fmt.Errorf("more than %d messages", maxBatch)
		}
		msgs = append(msgs, m)
		return nil
	}
	if body = rpc.Trim(body); len(body) > 0 && body[0] == '[' {
		err = jsonscan.Elements(body, add)
		return msgs, true, err
	}
	err = add(body)
	return msgs, false, err
}
