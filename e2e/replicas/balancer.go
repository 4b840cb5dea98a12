package replicas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Headers of requests to a [Balancer], which replicas do not see.
const (
	HeaderCall    = "X-Call"    // a name for the request, see [Balancer.Hops]
	HeaderReplica = "X-Replica" // the only replica that it may go to, by number
)

const (
	// outTime is how long a replica gets no requests after one could not connect.
	outTime = 300 * time.Millisecond
	// lookTime is how often each replica is asked whether it is ready.
	lookTime = 100 * time.Millisecond
)

// A Balancer hands each request to the next replica, as nginx does by default. Where it
// cannot connect, it tries the next one; a request that may have been executed it sends to
// no other. What replicas answer goes out as it comes.
//
// A replica whose /readyz says no gets no requests, as in Kubernetes.
type Balancer struct {
	URL string // of the endpoint

	members []*member
	server  *httptest.Server
	look    *http.Client
	done    chan struct{}
	wg      sync.WaitGroup

	mu    sync.Mutex // guards the fields below, and those of members
	next  int
	calls map[string][]*Hop
}

type member struct {
	addr    string // host and port; "" while it does not run
	start   int    // counts the addresses that it had
	out     time.Time
	ready   bool
	client  *http.Transport
	open    int
	answers int // requests that it has answered
}

// A Hop is one way of a request to a replica.
type Hop struct {
	Replica, Start int // which one, and in which of its lives, from 1
	Begun          time.Time
	Ended          time.Time // zero: it goes on
	Sent           bool      // it may have been executed
	Status         int       // 0: no answer came
	Err            error     // why what came is not all
}

// NewBalancer returns a balancer before so many replicas, which get no requests before
// [Balancer.Join]. It ends with the test.
func NewBalancer(tb testing.TB, n int) *Balancer {
	b := &Balancer{calls: map[string][]*Hop{}, done: make(chan struct{}), look: &http.Client{Timeout: 5 * time.Second}}
	for range n {
		b.members = append(b.members, &member{client: &http.Transport{MaxIdleConnsPerHost: 1000, DisableCompression: true}})
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host },
		Transport:     b,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "bad gateway: "+err.Error(), http.StatusBadGateway)
		},
	}
	b.server = httptest.NewServer(proxy)
	b.server.Config.ErrorLog = proxy.ErrorLog // what it says of responses that break off
	b.URL = b.server.URL + "/mcp"
	for i := range n {
		b.wg.Go(func() { b.watch(i) })
	}
	tb.Cleanup(func() {
		close(b.done)
		b.server.CloseClientConnections()
		b.server.Close()
		b.wg.Wait()
		for _, m := range b.members {
			m.client.CloseIdleConnections()
		}
		b.look.CloseIdleConnections()
	})
	return b
}

// Join has the ith replica, at the URL of its endpoint, get requests.
func (b *Balancer) Join(i int, url string) {
	addr, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.members[i]
	m.addr, m.out, m.ready = addr, time.Time{}, true
	m.start++
}

// Leave has the ith replica get no more requests.
func (b *Balancer) Leave(i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members[i].addr = ""
}

// watch asks a replica whether it is ready.
func (b *Balancer) watch(i int) {
	tick := time.NewTicker(lookTime)
	defer tick.Stop()
	for {
		select {
		case <-b.done:
			return
		case <-tick.C:
		}
		b.mu.Lock()
		addr := b.members[i].addr
		b.mu.Unlock()
		if addr == "" {
			continue
		}
		resp, err := b.look.Get("http://" + addr + "/readyz")
		if err != nil {
			continue // requests find out by themselves
		}
		resp.Body.Close()
		b.mu.Lock()
		if b.members[i].addr == addr {
			b.members[i].ready = resp.StatusCode == http.StatusOK
		}
		b.mu.Unlock()
	}
}

// Hops are the ways that the request of a name has taken, and forgets them.
func (b *Balancer) Hops(call string) []Hop {
	b.mu.Lock()
	defer b.mu.Unlock()
	var hops []Hop
	for _, h := range b.calls[call] {
		hops = append(hops, *h)
	}
	delete(b.calls, call)
	return hops
}

// Open is how many requests are at the ith replica, other than by GET, which are streams on
// which clients listen.
func (b *Balancer) Open(i int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.members[i].open
}

// Answered is how many requests the ith replica has answered.
func (b *Balancer) Answered(i int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.members[i].answers
}

// order are the replicas to try, the next one first. Those that are out or not ready come
// last: where there is no other, they may be back.
func (b *Balancer) order(only string) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i, err := strconv.Atoi(only); err == nil && i >= 0 && i < len(b.members) {
		return []int{i}
	}
	b.next++
	var good, rest []int
	for k := range b.members {
		i := (b.next + k) % len(b.members)
		switch m := b.members[i]; {
		case m.addr == "":
		case m.ready && time.Now().After(m.out):
			good = append(good, i)
		default:
			rest = append(rest, i)
		}
	}
	return append(good, rest...)
}

// RoundTrip implements [http.RoundTripper] for the reverse proxy.
func (b *Balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	call, only := r.Header.Get(HeaderCall), r.Header.Get(HeaderReplica)
	err := errors.New("no replica runs")
	for _, i := range b.order(only) {
		var resp *http.Response
		var sent bool
		if resp, sent, err = b.try(r, body, i, call); err == nil || sent {
			return resp, err
		}
	}
	return nil, err
}

// try sends a request to a replica, and says whether it may have been executed.
func (b *Balancer) try(r *http.Request, body []byte, i int, call string) (resp *http.Response, sent bool, err error) {
	b.mu.Lock()
	m := b.members[i]
	addr := m.addr
	hop := &Hop{Replica: i, Start: m.start, Begun: time.Now(), Sent: true}
	if r.Method != http.MethodGet {
		m.open++
	}
	if call != "" {
		b.calls[call] = append(b.calls[call], hop)
	}
	b.mu.Unlock()
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = "http", addr
	out.Header.Del(HeaderCall)
	out.Header.Del(HeaderReplica)
	if body != nil {
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	resp, err = m.client.RoundTrip(out)
	if err == nil {
		b.mu.Lock()
		hop.Status = resp.StatusCode
		b.mu.Unlock()
		resp.Body = &whole{resp.Body, func(err error) { b.end(r, m, hop, err) }, sync.Once{}}
		return resp, true, nil
	}
	var op *net.OpError
	sent = !(addr == "" || errors.As(err, &op) && op.Op == "dial" && r.Context().Err() == nil)
	b.mu.Lock()
	hop.Sent = sent
	if !sent {
		m.out = time.Now().Add(outTime)
	}
	b.mu.Unlock()
	b.end(r, m, hop, err)
	if sent {
		err = fmt.Errorf("sent to replica %d: %w", i, err)
	}
	return nil, sent, err
}

func (b *Balancer) end(r *http.Request, m *member, hop *Hop, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	hop.Ended, hop.Err = time.Now(), err
	if r.Method != http.MethodGet {
		m.open--
	}
	if err == nil {
		m.answers++
	}
}

// whole is a body that tells of its end, with nil if it was read to the end.
type whole struct {
	io.ReadCloser
	end  func(error)
	once sync.Once
}

func (w *whole) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	switch err {
	case nil:
	case io.EOF:
		w.once.Do(func() { w.end(nil) })
	default:
		w.once.Do(func() { w.end(err) })
	}
	return n, err
}

func (w *whole) Close() error {
	w.once.Do(func() { w.end(context.Canceled) })
	return w.ReadCloser.Close()
}
