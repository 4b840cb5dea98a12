package replicas

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// backends starts n servers that answer with h, and a balancer before them.
func backends(t *testing.T, n int, h func(i int, w http.ResponseWriter, r *http.Request)) (*Balancer, []*atomic.Int64) {
	t.Helper()
	b := NewBalancer(t, n)
	var seen []*atomic.Int64
	for i := range n {
		count := new(atomic.Int64)
		seen = append(seen, count)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/readyz" {
				return
			}
			count.Add(1)
			h(i, w, r)
		}))
		t.Cleanup(s.Close)
		b.Join(i, s.URL+"/mcp")
	}
	return b, seen
}

func post(t *testing.T, b *Balancer, call, replica string) (int, string) {
	t.Helper()
	r, err := http.NewRequest("POST", b.URL, strings.NewReader("a body"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(HeaderCall, call)
	if replica != "" {
		r.Header.Set(HeaderReplica, replica)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err.Error()
	}
	return resp.StatusCode, string(body)
}

func echo(i int, w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%d %s %q", i, body, r.Header.Get(HeaderCall)+r.Header.Get(HeaderReplica))
}

// TestInTurn: each replica gets the next request, unless the request names one. Replicas do
// not see the headers that are for the balancer.
func TestInTurn(t *testing.T) {
	b, seen := backends(t, 3, echo)
	for range 9 {
		if status, body := post(t, b, "x", ""); status != 200 || !strings.HasSuffix(body, `a body ""`) {
			t.Fatalf("%d %s", status, body)
		}
	}
	for i := range seen {
		if n := seen[i].Load(); n != 3 || b.Answered(i) != 3 || b.Open(i) != 0 {
			t.Errorf("replica %d: %d requests, %d answered, %d open", i, n, b.Answered(i), b.Open(i))
		}
	}
	for range 3 {
		if _, body := post(t, b, "x", "1"); !strings.HasPrefix(body, "1 ") {
			t.Error(body)
		}
	}
}

// TestNotSent: a replica that cannot be reached costs nobody an error.
func TestNotSent(t *testing.T) {
	b, _ := backends(t, 2, echo)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	b.Join(0, "http://"+l.Addr().String()+"/mcp")
	for i := range 4 {
		call := fmt.Sprint("call ", i)
		status, body := post(t, b, call, "")
		if status != 200 || !strings.HasPrefix(body, "1 a body") {
			t.Errorf("%d %s", status, body)
		}
		hops := b.Hops(call)
		if last := hops[len(hops)-1]; last.Replica != 1 || !last.Sent || last.Status != 200 || last.Ended.IsZero() || last.Err != nil {
			t.Errorf("%+v", hops)
		}
		if len(hops) > 1 && (hops[0].Replica != 0 || hops[0].Sent || hops[0].Err == nil) {
			t.Errorf("%+v", hops)
		}
	}
	if hops := b.Hops("call 0"); hops != nil {
		t.Errorf("not forgotten: %v", hops)
	}
}

// TestSentOnce: a request that a replica may have executed goes to no other; the client
// learns of it, before the answer and in the middle of it.
func TestSentOnce(t *testing.T) {
	hang := func(i int, w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Begin") != "" {
			fmt.Fprint(w, "the beginning")
			_ = http.NewResponseController(w).Flush()
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		conn.Close()
	}
	b, seen := backends(t, 3, hang)
	for i := range 6 {
		call := fmt.Sprint("call ", i)
		status, body := post(t, b, call, "")
		if hops := b.Hops(call); status != 502 || len(hops) != 1 || !hops[0].Sent || hops[0].Err == nil {
			t.Errorf("%d %s %+v", status, body, hops)
		}
	}
	if n := seen[0].Load() + seen[1].Load() + seen[2].Load(); n != 6 {
		t.Errorf("%d requests came of 6", n)
	}
	r, err := http.NewRequest("POST", b.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Begin", "1")
	r.Header.Set(HeaderCall, "half")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("half an answer is whole: %q", body)
	}
	if hops := b.Hops("half"); len(hops) != 1 || hops[0].Err == nil {
		t.Errorf("%+v", hops)
	}
}

// TestUnbuffered: an event reaches the client while the response goes on.
func TestUnbuffered(t *testing.T) {
	more := make(chan bool)
	b, _ := backends(t, 1, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: one\n\n")
		_ = http.NewResponseController(w).Flush()
		<-more
		fmt.Fprint(w, "data: two\n\n")
	})
	resp, err := http.Post(b.URL, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	if !in.Scan() || in.Text() != "data: one" {
		t.Fatal(in.Text())
	}
	more <- true
	for in.Scan() {
		if in.Text() == "data: two" {
			return
		}
	}
	t.Error("the second event is missing")
}

// TestNotReady: a replica that says it is not ready gets no requests, unless there is no
// other.
func TestNotReady(t *testing.T) {
	var ready atomic.Bool
	b := NewBalancer(t, 2)
	for i := range 2 {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/readyz" && i == 0 && !ready.Load() {
				http.Error(w, "shutting down", http.StatusServiceUnavailable)
				return
			}
			echo(i, w, r)
		}))
		t.Cleanup(s.Close)
		b.Join(i, s.URL+"/mcp")
	}
	all := func(want string) bool {
		for range 8 {
			if _, body := post(t, b, "", ""); !strings.HasPrefix(body, want) {
				return false
			}
		}
		return true
	}
	for since := time.Now(); !all("1 "); time.Sleep(lookTime / 10) {
		if time.Since(since) > 10*time.Second {
			t.Fatal("requests go to a replica that is not ready")
		}
	}
	b.Leave(1)
	if !all("0 ") {
		t.Error("the last one gets none")
	}
}
