package middleware

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware/upstream"
)

// TestSubscribedTwiceAtOnce: of two requests for the same resource that a client sends
// together one counts. The other was never forgotten, and went on to tell the client.
func TestSubscribedTwiceAtOnce(t *testing.T) {
	f := offering(nil)
	asked, answer := make(chan string, 3), make(chan bool)
	f.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		asked <- r.Method
		<-answer
		return json.RawMessage(`{}`), nil
	}
	s, conn := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	done := make(chan bool)
	for range 2 {
		go func() {
			_, _ = conn.Call(context.Background(), "resources/subscribe", json.RawMessage(`{"uri":"a:b"}`))
			done <- true
		}()
	}
	for range 2 { // both have come to the server
		<-asked
	}
	close(answer)
	<-done
	<-done
	if got := ask(t, conn, "resources/unsubscribe", `{"uri":"a:b"}`); got != "{}" || s.relay.Watched() != 0 || len(asked) != 1 {
		t.Errorf("unsubscribe: %s, %d are left, the server was told %d times", got, s.relay.Watched(), len(asked))
	}
	if got := ask(t, conn, "resources/subscribe", `{"uri":5}`); !strings.Contains(got, "uri is not a string") {
		t.Errorf("a number: %s", got)
	}
}

// TestSubscribedWhileAnotherEnds: the end of one client's subscription is not the end of
// another's that begins meanwhile, whichever the server hears of first.
func TestSubscribedWhileAnotherEnds(t *testing.T) {
	f := offering(nil)
	asked, ends := make(chan string, 5), make(chan bool)
	f.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		asked <- r.Method
		if r.Method == "resources/unsubscribe" {
			<-ends
		}
		return json.RawMessage(`{}`), nil
	}
	s, one := dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	two := clientOf(t, s, nil, clientOptions{})
	ask(t, one, "resources/subscribe", `{"uri":"a:b"}`)
	<-asked
	done := make(chan bool)
	go func() {
		_, _ = one.Call(context.Background(), "resources/unsubscribe", json.RawMessage(`{"uri":"a:b"}`))
		close(done)
	}()
	<-asked
	ask(t, two, "resources/subscribe", `{"uri":"a:b"}`)
	<-asked
	close(ends)
	<-done
	select {
	case got := <-asked:
		if got != "resources/subscribe" {
			t.Errorf("the server was told %s last", got)
		}
	default:
		t.Error("the server may have heard of the end last, and one still listens")
	}
}

// TestListenersBeginWithWhatIsAgreed: that comes before any change that it is about.
func TestListenersBeginWithWhatIsAgreed(t *testing.T) {
	f := offering(nil)
	var s *Server
	f.answer = func(_ context.Context, r upstream.Request) (json.RawMessage, error) {
		if strings.Contains(string(r.Params), "second:") {
			s.Tell(context.Background(), "s", "notifications/resources/updated", json.RawMessage(`{"uri":"first:"}`))
			time.Sleep(10 * time.Millisecond) // it is passed on meanwhile
		}
		return json.RawMessage(`{}`), nil
	}
	s, _ = dial(t, Options{Upstreams: []Upstream{{Name: "s", Conn: f}}})
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	served := make(chan error)
	go func() { served <- s.Serve(context.Background(), r1, w2) }()
	heard := make(chan string, 5)
	c := newClient(r2, w1, clientOptions{Notify: func(method string, _ json.RawMessage) { heard <- method }})
	defer func() { c.Close(); <-served }()
	go c.Call(t.Context(), "subscriptions/listen", json.RawMessage(`{"notifications":{"resourceSubscriptions":["first:","second:"]},`+newestMeta+`}`))
	for _, want := range []string{"notifications/subscriptions/acknowledged", "notifications/resources/updated"} {
		if got := <-heard; got != want {
			t.Fatalf("heard %s, want %s", got, want)
		}
	}
}

// TestSilentServerKeepsNoListener: a client that ends its stream of many resources waited
// a minute for each, where their server does not answer.
func TestSilentServerKeepsNoListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := offering(nil)
		f.answer = func(ctx context.Context, r upstream.Request) (json.RawMessage, error) {
			if r.Method == "resources/unsubscribe" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return json.RawMessage(`{}`), nil
		}
		store, err := cache.New(cache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		s, err := New(Options{Store: store, Upstreams: []Upstream{{Name: "s", Conn: f}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r1, w1 := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.Serve(context.Background(), r1, nowhere{}) }()
		_, _ = io.WriteString(w1, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["a:1","a:2","a:3"]},`+newestMeta+"}}\n")
		synctest.Wait()
		begun := time.Now()
		w1.Close()
		<-served
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("it ended after %v", took)
		}
	})
}
