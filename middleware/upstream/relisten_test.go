package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/transport"
)

// A lineConn is a connection that does not know how it ended.
type lineConn struct{ *rpc.Conn }

func (lineConn) Exit() string { return "" }

// TestStreamListensAgain: a subscription that the server ends is begun again, less
// and less often, and what may have changed meanwhile is told.
func TestStreamListensAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		var begun []time.Duration
		start := time.Now()
		go func() {
			in := bufio.NewScanner(far)
			for in.Scan() {
				var m rawMessage
				if err := json.Unmarshal(in.Bytes(), &m); err != nil || m.Method != transport.ListenMethod {
					continue // it is cancelled in the end
				}
				begun = append(begun, time.Since(start).Round(time.Second))
				if len(begun) == 5 {
					time.Sleep(2 * transport.SteadyTime)
				}
				fmt.Fprintf(far, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
			}
		}()
		missed := 0
		s := newSession(hooks{listChanged: func() { missed++ }})
		s.conn = lineConn{rpc.NewConn(near, near, rpc.ConnOptions{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := s.listen(ctx, json.RawMessage(`{"toolsListChanged":true}`)); err != context.DeadlineExceeded {
			t.Errorf("ended with %v", err)
		}
		s.Close()
		far.Close()
		synctest.Wait()
		want := []time.Duration{0, 1, 3, 7, 15, 36, 38}
		for i, at := range want {
			if i >= len(begun) || begun[i] != at*time.Second {
				t.Fatalf("begun at %v, want %v first", begun, want)
			}
		}
		if len(begun) > 70 || missed != len(begun)-1 {
			t.Errorf("begun %d times, told %d times", len(begun), missed)
		}
	})
}

// TestHTTPListensInTime: a server that asks for another stream at once, and says
// nothing on any, is asked less and less often.
func TestHTTPListensInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &rawServer{get: func(w http.ResponseWriter, _ *http.Request) { stream(w)("retry: 1\nid: a\ndata:\n\n") }}
		u := inMemory(t, s, Options{})
		defer u.Close()
		time.Sleep(time.Minute)
		if n := s.count("GET"); n < 15 || n > 20 {
			t.Errorf("%d streams in a minute", n)
		}
	})
}
