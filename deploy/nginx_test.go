package deploy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rlmproxy/fleet/fleettest"
)

// three starts three replicas with one store.
func three(t *testing.T, s *server, env ...string) (replicas []*replica, store *fleettest.Server) {
	store = fleettest.Start(t)
	for range 3 {
		replicas = append(replicas, startReplica(t, s, store.URL, env...))
	}
	for _, r := range replicas {
		until(t, "a replica is ready", func() bool { status, _ := r.get("/readyz", ""); return status == 200 })
	}
	return replicas, store
}

// callsAt is how many calls of a tool each replica has answered.
func callsAt(replicas []*replica, tool string) (n []int, sum int) {
	for _, r := range replicas {
		at := int(r.metric("rlmproxy_calls_total", `tool="example_`+tool+`"`))
		n, sum = append(n, at), sum+at
	}
	return n, sum
}

// TestNginx: through nginx.conf, each replica gets its share of the requests that stand for
// themselves, a session stays at one, events come while a call runs, and of a replica only
// /mcp is to be seen.
func TestNginx(t *testing.T) {
	s := startServer(t)
	replicas, store := three(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, sticky := range []bool{true, false} {
		t.Run(fmt.Sprint("sticky=", sticky), func(t *testing.T) {
			nginx := startNginx(t, sticky, replicas...)
			before, _ := callsAt(replicas, "do")
			for i := range 60 {
				if status, text := nginx.call(ctx, "do", fmt.Sprint("alone", sticky, i), ""); status != 200 || !strings.Contains(text, "done") {
					t.Fatalf("%d %s", status, text)
				}
			}
			after, _ := callsAt(replicas, "do")
			for i := range after {
				if n := after[i] - before[i]; n < 6 {
					t.Errorf("of 60 calls replica %d got %d", i+1, n)
				}
			}
			// A message that is longer than nginx keeps in memory.
			if status, text := nginx.call(ctx, "do", "large"+strings.Repeat("x", 2<<20), ""); status != 200 || !strings.Contains(text, "cache_id=") {
				t.Errorf("a long message: %d %.300s", status, text)
			}
			for path, want := range map[string]int{"/readyz": 200, "/metrics": 404, "/ui": 404, "/": 404} {
				c := client{nginx.http, "http://localhost" + path}
				if status, text := c.says(ctx, "GET", "", "Authorization", "Bearer "+metricsToken); status != want {
					t.Errorf("%s: %d %s", path, status, text)
				}
			}
		})
	}
	nginx := startNginx(t, true, replicas...)
	id, err := nginx.session(ctx)
	for err == nil { // as a client does whose session is gone
		status, text := nginx.says(ctx, "POST", toolCall("do", "first", "", ""), "Mcp-Session-Id", id)
		if status == 200 && strings.Contains(text, "done") {
			break
		}
		if status != 404 {
			t.Fatalf("%d %s", status, text)
		}
		id, err = nginx.session(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	before, _ := callsAt(replicas, "do")
	for i := range 20 {
		if status, text := nginx.says(ctx, "POST", toolCall("do", fmt.Sprint("session", i), "", ""), "Mcp-Session-Id", id); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
	}
	after, _ := callsAt(replicas, "do")
	served := 0
	for i := range after {
		if after[i] > before[i] {
			served++
		}
	}
	if served != 1 {
		t.Errorf("calls of one session: %v before, %v after", before, after)
	}

	resp, err := nginx.send(ctx, "POST", toolCall("wait", "events", "", `"progressToken":7`), "Mcp-Session-Id", id)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	all := ""
	for in.Scan() && !strings.Contains(in.Text(), "progressToken") {
		all += in.Text() + "\n"
	}
	if !strings.Contains(in.Text(), `"begun"`) {
		t.Fatalf("no event while the call runs: %s%s %v", all, in.Text(), in.Err())
	}
	close(s.gate("events"))
	for in.Scan() && !strings.Contains(in.Text(), "done events") {
	}
	if in.Err() != nil {
		t.Error(in.Err())
	}
	if status, text := nginx.says(ctx, "DELETE", "", "Mcp-Session-Id", id); status != 204 {
		t.Errorf("DELETE: %d %s", status, text)
	}
	allowed(t, store)
}

// allowed holds that no replica has asked the store for what valkey.rights does not allow.
func allowed(t *testing.T, store *fleettest.Server) {
	t.Helper()
	denied, err := store.Client.ACLLog(t.Context(), 10).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range denied {
		t.Errorf("valkey.rights lacks the %s %s (%s)", d.Reason, d.Object, d.Context)
	}
}

// TestLost: a call that a killed replica has may have been executed. It gets one error, and
// is not repeated. All others find another replica.
func TestLost(t *testing.T) {
	s := startServer(t)
	replicas, _ := three(t, s)
	nginx := startNginx(t, true, replicas...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var running sync.WaitGroup
	var lost atomic.Int32
	for i := range 9 {
		id := fmt.Sprint("running", i)
		running.Go(func() {
			status, text := nginx.call(ctx, "wait", id, "")
			switch {
			case status == 200 && strings.Contains(text, "done"):
			case status == 502 || status == 0:
				lost.Add(1)
			default:
				t.Errorf("%d %s", status, text)
			}
		})
		until(t, "the call "+id+" runs", func() bool { return s.count(id) == 1 })
	}
	on := int32(replicas[0].metric("rlmproxy_calls_running", ""))
	replicas[0].kill()
	for i := range 30 {
		if status, text := nginx.call(ctx, "do", fmt.Sprint("after", i), ""); status != 200 {
			t.Errorf("after the loss: %d %s", status, text)
		}
	}
	for i := range 9 {
		close(s.gate(fmt.Sprint("running", i)))
	}
	running.Wait()
	if lost.Load() != on {
		t.Errorf("%d calls failed, and the replica had %d", lost.Load(), on)
	}
	for i := range 9 {
		if n := s.count(fmt.Sprint("running", i)); n != 1 {
			t.Errorf("a call was executed %d times", n)
		}
	}
}

// TestDeploy: replicas are replaced one after the other while clients call and listen, with
// nginx, which only notices that a replica has gone when it cannot connect. Nobody notices.
func TestDeploy(t *testing.T) {
	s := startServer(t)
	replicas, store := three(t, s, "RLMPROXY_DRAIN_SECONDS=4")
	nginx := startNginx(t, true, replicas...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var running sync.WaitGroup
	var made atomic.Int32
	over := make(chan struct{})
	// each has a client do something again and again, until it is over.
	each := func(clients int, do func(client, n int) (wrong string)) {
		for i := range clients {
			running.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-over:
						return
					case <-time.After(5 * time.Millisecond):
					}
					if wrong := do(i, n); wrong != "" {
						t.Errorf("%v: %s", time.Now(), wrong)
					}
					made.Add(1)
				}
			})
		}
	}
	each(6, func(i, n int) string {
		id := fmt.Sprint("alone", i, "-", n)
		if status, text := nginx.call(ctx, "do", id, ""); status != 200 || !strings.Contains(text, "done "+id) || s.count(id) != 1 {
			return fmt.Sprintf("a call: %d %s, executed %d times", status, text, s.count(id))
		}
		return ""
	})
	each(2, func(i, n int) string {
		status, text := nginx.call(ctx, "do", fmt.Sprint("long", i, "-", n), "long")
		_, after, ok := strings.Cut(text, "cache_id=")
		if status != 200 || !ok {
			return fmt.Sprintf("a long result: %d %.300s", status, text)
		}
		filter := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"proxy_search","arguments":{"cache_id":%q,"pattern":"^A line"},"_meta":{%s}}}`, after[:16], statelessMeta)
		status, text = nginx.says(ctx, "POST", filter, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "proxy_search")
		if status != 200 || strings.Contains(text, `"isError":true`) || !strings.Contains(text, "A line of a long text") {
			return fmt.Sprintf("a query: %d %.300s", status, text)
		}
		return ""
	})
	const sessions = 4
	var ids []string
	for range sessions {
		id, err := nginx.session(ctx)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	each(sessions, func(i, n int) string {
		id := fmt.Sprint("session", i, "-", n)
		if status, text := nginx.says(ctx, "POST", toolCall("do", id, "", ""), "Mcp-Session-Id", ids[i]); status != 200 || !strings.Contains(text, "done "+id) || s.count(id) != 1 {
			return fmt.Sprintf("a call of a session: %d %s, executed %d times", status, text, s.count(id))
		}
		return ""
	})
	// Whoever listens comes back at once, and is let in.
	var listened atomic.Int32
	each(sessions, func(i, _ int) string {
		listening, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		go func() {
			select {
			case <-over:
				cancel()
			case <-listening.Done():
			}
		}()
		resp, err := nginx.send(listening, "GET", "", "Mcp-Session-Id", ids[i])
		if listening.Err() != nil {
			return ""
		}
		if err != nil {
			return "a stream: " + err.Error()
		}
		defer resp.Body.Close()
		listened.Add(1)
		if text, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
			return fmt.Sprintf("a stream: %s %s", resp.Status, text)
		}
		return ""
	})
	for i, r := range replicas {
		// A call that runs, and ends in time.
		id := fmt.Sprint("slow", i)
		slow := make(chan string, 1)
		go func() {
			_, text := r.at().call(ctx, "wait", id, "")
			slow <- text
		}()
		until(t, "the call "+id+" runs", func() bool { return s.count(id) == 1 })
		ended := make(chan time.Duration, 1)
		go func() { ended <- r.leave() }()
		until(t, "it says that it leaves", func() bool { return strings.Contains(r.said(), "shutting down: /readyz says no") })
		if status, text := r.get("/readyz", ""); status != 503 || text != "shutting down\n" {
			t.Errorf("/readyz: %d %s", status, text)
		}
		if status, _ := r.get("/healthz", ""); status != 200 {
			t.Errorf("/healthz: %d", status)
		}
		until(t, "it takes no more", func() bool { status, _ := r.get("/healthz", ""); return status == 0 })
		close(s.gate(id))
		if text := <-slow; !strings.Contains(text, "done "+id) {
			t.Errorf("the call that ran: %s", text)
		}
		if took := <-ended; took < 2*time.Second || took > 12*time.Second {
			t.Errorf("the end took %v", took)
		}
		r.start()
		until(t, "the new one is ready", func() bool { status, _ := r.get("/readyz", ""); return status == 200 })
	}
	close(over)
	running.Wait()
	if calls, streams := made.Load(), listened.Load(); calls < 200 || streams < 2*sessions {
		t.Errorf("%d calls were made, and %d streams opened", calls, streams)
	}
	allowed(t, store)
}

// TestReady: a replica stays ready while the store is away, and says so to who has a token.
// One that the store denies itself to is never ready: a deploy with a wrong password ends.
func TestReady(t *testing.T) {
	s := startServer(t)
	store := fleettest.Start(t)
	r := startReplica(t, s, store.URL)
	until(t, "it is ready", func() bool { status, _ := r.get("/readyz", ""); return status == 200 })
	if _, text := r.get("/readyz", agentToken); !strings.Contains(text, "example: ready\nthe shared store: ready\nthis replica: ") {
		t.Error(text)
	}
	if up := r.metric("rlmproxy_store_up", ""); up != 1 {
		t.Errorf("rlmproxy_store_up is %v", up)
	}
	store.Kill()
	until(t, "it notices", func() bool { return r.metric("rlmproxy_store_up", "") == 0 })
	if status, text := r.get("/readyz", agentToken); status != 200 || !strings.Contains(text, "the shared store: away since 20") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := r.get("/readyz", ""); status != 200 || text != "ready\n" {
		t.Errorf("to strangers: %d %s", status, text)
	}
	if status, text := r.at().call(t.Context(), "do", "away", ""); status != 200 || !strings.Contains(text, "done away") {
		t.Errorf("a call: %d %s", status, text)
	}
	store.Restart()
	until(t, "the store is back", func() bool { return r.metric("rlmproxy_store_up", "") == 1 })

	wrong := startReplica(t, s, strings.Replace(store.URL, "unix://", "unix://nobody:swordfish@", 1))
	until(t, "its server is ready", func() bool {
		_, text := wrong.get("/readyz", agentToken)
		return strings.Contains(text, "example: ready") || strings.Contains(text, "example: quarantined") // no pins are known
	})
	if status, text := wrong.get("/readyz", agentToken); status != 503 || !strings.Contains(text, "the shared store: denies itself") || strings.Contains(text, "swordfish") {
		t.Errorf("%d %s", status, text)
	}
	if strings.Contains(wrong.said(), "swordfish") {
		t.Error("the log has the password")
	}
}
