package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/transport"
)

// A patient is a server over a pipe, of the older revisions, that a test does harm to.
type patient struct {
	mu       sync.Mutex // guards the fields below
	session  *pipeConn  // the last
	deaf     bool       // that session reads nothing more
	mute     bool       // it answers nothing more
	refuses  error      // no session can be opened
	silent   bool       // sessions are mute from their begin
	busy     time.Duration
	sessions int
	asked    map[string]int // requests, by method
}

// A pipeConn is a connection with a patient.
type pipeConn struct {
	*rpc.Conn
	far  net.Conn
	over context.Context
	end  context.CancelFunc
}

func (c *pipeConn) Exit() string { return "" }
func (c *pipeConn) Close()       { c.end(); c.far.Close(); c.Conn.Close() }

func (p *patient) dial() Dialer {
	return dialer(func(_ context.Context, opts transport.Options) (conn, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.refuses != nil {
			return nil, p.refuses
		}
		near, far := net.Pipe()
		c := &pipeConn{Conn: rpc.NewConn(near, near, opts.ConnOptions), far: far}
		c.over, c.end = context.WithCancel(context.Background())
		p.session, p.deaf, p.mute = c, false, p.silent
		p.sessions++
		go p.serve(c)
		return c, nil
	})
}

// change does f while nothing else looks at p.
func (p *patient) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *patient) serve(c *pipeConn) {
	defer c.far.Close()
	in := bufio.NewScanner(c.far)
	for in.Scan() {
		var m rawMessage
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		var deaf, mute bool
		var busy time.Duration
		p.change(func() {
			deaf, mute = p.deaf && p.session == c, p.mute && p.session == c
			if p.asked == nil {
				p.asked = map[string]int{}
			}
			p.asked[m.Method]++
			if m.Method == "tools/call" {
				busy = p.busy
			}
		})
		if deaf {
			<-c.over.Done()
			return
		}
		if mute || transport.Sleep(c.over, busy) != nil {
			continue
		}
		result := `{"content":[]}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
		}
		fmt.Fprintf(c.far, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// TestTroubles: twenty servers, of which fifteen crash, hang, go deaf, write what is no
// message and cannot be started, at random for a minute under load. Each call is
// answered in its time, those of the other five with a result; afterwards all work; and
// nothing is left, which the bubble sees.
func TestTroubles(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) { testTroubles(t, seed) })
	}
}

func testTroubles(t *testing.T, seed uint64) {
	const servers, healthy, callTime = 20, 5, 3 * time.Second
	minute, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var work sync.WaitGroup
	var ups []*Upstream
	results, failures := make([]int, servers), make([]int, servers)
	for i := range servers {
		p := &patient{}
		u := New(Options{Name: fmt.Sprint("s", i), Dial: p.dial(), ConnectTimeout: 5 * time.Second})
		ups = append(ups, u)
		if i >= healthy {
			work.Go(func() { p.suffer(minute, rand.New(rand.NewPCG(seed, uint64(i)))) })
		}
		for caller := range 3 {
			pauses := rand.New(rand.NewPCG(seed, uint64(100*i+caller)))
			work.Go(func() {
				for transport.Sleep(minute, time.Duration(pauses.IntN(400))*time.Millisecond) == nil {
					begun := time.Now()
					state, _ := u.State()
					ctx, cancel := context.WithTimeout(t.Context(), callTime)
					_, err := u.Call(ctx, toolCall("t", `{}`))
					cancel()
					took := time.Since(begun)
					if took > callTime || state == Failed && took > 0 && err != nil && !strings.Contains(err.Error(), "ended while") && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("server %d, %v: a call took %v: %v", i, state, took, err)
					}
					if err != nil && i < healthy {
						t.Errorf("healthy server %d: %v", i, err)
					}
					if caller == 0 && err == nil {
						results[i]++
					} else if caller == 0 {
						failures[i]++
					}
				}
			})
		}
	}
	work.Wait()
	time.Sleep(5 * time.Minute)
	for i, u := range ups {
		if _, err := u.Call(t.Context(), toolCall("t", `{}`)); err != nil {
			t.Errorf("server %d, when all is over: %v", i, err)
		}
	}
	var closing sync.WaitGroup
	for _, u := range ups {
		closing.Go(u.Close)
	}
	closing.Wait()
	t.Logf("results %d, failures %d", results, failures)
}

// suffer has p crash, hang and so on until ctx ends, and recover then.
func (p *patient) suffer(ctx context.Context, r *rand.Rand) {
	for transport.Sleep(ctx, time.Duration(200+r.IntN(6000))*time.Millisecond) == nil {
		p.change(func() {
			p.refuses, p.silent = nil, false
			if p.session == nil {
				return
			}
			far := p.session.far
			switch r.IntN(7) {
			case 0, 1:
				far.Close()
			case 2:
				p.mute = true
			case 3:
				p.deaf = true
			case 4:
				p.refuses = errors.New("cannot be started")
				far.Close()
			case 5:
				p.silent = true
				far.Close()
			case 6:
				junk := []string{"oops\n", `{"jsonrpc":"2.0","id":"rlm-3","result":` + "\n", `{"jsonrpc":"2.0","id":99,"result":{}}` + "\n", `{"half`}[r.IntN(4)]
				go func() {
					_, _ = far.Write([]byte(junk))
					if !strings.HasSuffix(junk, "\n") {
						far.Close()
					}
				}()
			}
		})
	}
	p.change(func() { p.refuses, p.silent = nil, false })
}
