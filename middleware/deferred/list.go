package deferred

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"time"

	"rlmproxy/fleet"
	"rlmproxy/middleware/guard"
)

const (
	maxWait    = 10 * time.Minute // that a client may take to answer
	maxAll     = 1000             // then the one that waits longest ends
	maxOfAgent = 20               // of one agent, likewise
	// maxResultBytes bounds the results of requests that have ended while their clients
	// were away, likewise; one that is larger by itself is kept alone. No budget counts
	// them.
	maxResultBytes = 64 << 20
	// requestBytes is what a request takes beside its params.
	requestBytes = 4 << 10
)

var (
	errLate    = errors.New("the client did not come back to the request in time")
	errCrowded = errors.New("too many requests wait for input: this one waited longest")
)

// A List has the requests whose clients look for answers.
type List struct {
	// mark begins our states. Those of servers, which may be proxies like this one,
	// pass through. It names the replica, with what only its fleet can sign.
	mark     string
	fleet    *fleet.Store    // nil: there is one replica
	accounts *guard.Accounts // of what waiting requests hold

	mu      sync.Mutex          // guards the fields below
	waiting map[string]*waiting // by the state that their clients have
	bytes   int64               // of results that they have
	seq     int
}

// A waiting request is one that its client may come back to.
type waiting struct {
	*Request
	number int         // in the order in which they began to wait
	bytes  int64       // of the result, if it has come meanwhile
	held   int64       // bytes of the request, which its party's account counts
	expiry *time.Timer // of the time in which its client must come back
}

// NewList returns an empty list. Accounts count what waiting requests hold. States name the
// replica of shared, which is nil where there is one replica.
func NewList(accounts *guard.Accounts, shared *fleet.Store) *List {
	l := &List{fleet: shared, accounts: accounts, waiting: map[string]*waiting{}}
	name := rand.Text()[:8]
	if shared != nil {
		name = shared.Replica()
		name += ":" + sign(shared.Keys(purpose)[0], name)
	}
	l.mark = prefix + name + ":"
	return l
}

const (
	prefix  = "rlmproxy:"
	purpose = "deferred requests" // of a key
)

// sign is what shows that the name of a replica in a state was written by this fleet.
func sign(key []byte, replica string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(replica))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:9])
}

// Elsewhere is the replica that gave a state, "" if it was this one, or none of this fleet.
func (l *List) Elsewhere(state string) string {
	named, ours := strings.CutPrefix(state, prefix)
	if l.fleet == nil || !ours || l.Gave(state) {
		return ""
	}
	replica, rest, _ := strings.Cut(named, ":")
	given, _, _ := strings.Cut(rest, ":")
	for _, key := range l.fleet.Keys(purpose) {
		if hmac.Equal([]byte(given), []byte(sign(key, replica))) {
			return replica
		}
	}
	return ""
}

// Gave reports whether a state is one of ours, if no client made it up.
func (l *List) Gave(state string) bool { return strings.HasPrefix(state, l.mark) }

// Server returns the server of the request that an agent's state is of, or "".
func (l *List) Server(state, agent string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.waiting[state]; w != nil && w.key.agent == agent {
		return w.key.server
	}
	return ""
}

// Has reports whether a request waits under this state.
func (l *List) Has(state string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting[state] != nil
}

// Len is how many requests wait for their clients.
func (l *List) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// add has d wait for its client, and returns its state. The error is that there is no
// room for it.
func (l *List) add(d *Request) (string, error) {
	state := l.mark + rand.Text()
	held := int64(len(d.Current().Params)) + requestBytes
	if err := l.accounts.Of(d.party).Take(held); err != nil {
		return "", err
	}
	l.mu.Lock()
	drop := l.crowded(d.key.agent)
	l.seq++
	w := &waiting{Request: d, number: l.seq, held: held}
	w.expiry = time.AfterFunc(maxWait, func() { l.drop(state, errLate) })
	l.waiting[state] = w
	l.mu.Unlock()
	if drop != "" {
		l.drop(drop, errCrowded)
	}
	select {
	case <-d.done: // it has ended by now
		l.ended(d)
	default:
	}
	return state, nil
}

// claim takes the request with this state and key out of the list, or returns nil.
func (l *List) claim(state string, k key) *Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.waiting[state]; w == nil || w.key != k {
		return nil
	}
	return l.take(state)
}

// crowded is the state of the request that waits longest, of this agent or of all,
// where there are too many, or "": whoever leaves questions unanswered, or comes under
// many names, keeps nobody from being asked. l.mu must be held.
func (l *List) crowded(agent string) string {
	of := 0
	var oldest, own string // states
	for state, w := range l.waiting {
		if oldest == "" || w.number < l.waiting[oldest].number {
			oldest = state
		}
		if w.key.agent != agent {
			continue
		}
		if of++; own == "" || w.number < l.waiting[own].number {
			own = state
		}
	}
	switch {
	case of >= maxOfAgent:
		return own
	case len(l.waiting) >= maxAll:
		return oldest
	}
	return ""
}

// ended counts the result of a request that has ended while it waits for its client,
// and ends those that have waited longest with results while they are too large
// together.
func (l *List) ended(d *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		if w.Request == d && w.bytes == 0 {
			w.bytes = int64(len(d.raw))
			l.bytes += w.bytes
		}
	}
	for l.bytes > max(maxResultBytes, int64(len(d.raw))) {
		oldest := ""
		for state, w := range l.waiting {
			if w.Request != d && w.bytes > 0 && (oldest == "" || w.number < l.waiting[oldest].number) {
				oldest = state
			}
		}
		l.take(oldest)
	}
}

// take takes a request out of those that wait, nil if it is not there. l.mu must be
// held.
func (l *List) take(state string) *Request {
	w := l.waiting[state]
	if w == nil {
		return nil
	}
	w.expiry.Stop()
	delete(l.waiting, state)
	l.accounts.Of(w.party).Give(w.held)
	l.bytes -= w.bytes
	return w.Request
}

// drop ends a request that waits.
func (l *List) drop(state string, why error) {
	l.mu.Lock()
	d := l.take(state)
	l.mu.Unlock()
	if d != nil {
		d.cancel(why)
	}
}

// Forget ends the requests of an agent that has gone for good, and returns when they
// have ended, or ctx has.
func (l *List) Forget(ctx context.Context, agent string) {
	var ended []*Request
	l.mu.Lock()
	for state, w := range l.waiting {
		if w.key.agent == agent {
			ended = append(ended, l.take(state))
		}
	}
	l.mu.Unlock()
	for _, d := range ended {
		d.cancel(errCrowded)
	}
	for _, d := range ended {
		select {
		case <-d.done:
		case <-ctx.Done():
		}
	}
}
