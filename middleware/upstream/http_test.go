package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestHTTPAnswers: however a server writes its answer, its bytes arrive, and
// what is wrong with one fails that call and no other.
func TestHTTPAnswers(t *testing.T) {
	const result = `{ "z":1.0,"content":[],"n":9007199254740993,"new":{"é":"<&>"} }`
	const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}`
	answer := `{"result":` + result + `,"id":ID,"jsonrpc":"2.0"}`
	for _, tt := range []struct{ name, kind, body, want, wantErr string }{
		{"JSON", "application/json", answer, result, ""},
		{"JSON with a charset and space", "application/json; charset=utf-8", "\r\n" + answer + "\n", result, ""},
		{"batch", "application/json", `[` + note + `,` + answer + `]`, result, ""},
		{"stream", "text/event-stream", "event: message\ndata: " + answer + "\n\n", result, ""},
		{"stream by CRLF", "text/event-stream", ": hi\r\nid: 1\r\ndata: " + answer + "\r\n\r\n", result, ""},
		{"batch in a stream", "text/event-stream", "data: [" + note + "," + answer + "]\n\n", result, ""},
		{"several lines", "text/event-stream", "data: {\"id\":ID,\ndata: \"result\":{\"a\":\ndata:1.0}}\n\n", "{\"a\":\n1.0}", ""},
		{"behind others", "text/event-stream", "retry: 10\nid: 0\ndata: \n\ndata: " + note + "\n\ndata: {\"id\":\"another\",\"result\":{}}\n\nevent: ping\ndata: now\n\ndata: " + answer + "\n\n", result, ""},
		{"error", "application/json", `{"id":ID,"error":{"code":-32602,"message":"no such thing","data":9007199254740993}}`, "", "no such thing"},
		{"error for no id", "application/json", `{"id":null,"error":{"code":-32700,"message":"what?"}}`, "", "what?"},
		{"ended", "text/event-stream", "data: " + note + "\n\n", "", "the response ended before the answer"},
		{"cut", "text/event-stream", "data: " + answer[:20], "", "the response ended before the answer"},
		{"junk", "text/event-stream", "data: oh no\n\n", "", "the response ended before the answer"},
		{"bad", "text/event-stream", `data: {"id":ID,"result":{]}}` + "\n\n", "", "malformed answer"},
		{"nothing", "application/json", "", "", "malformed answer"},
		{"no answer", "application/json", note, "", "does not answer the call"},
		{"number", "application/json", `{"id":ID,"result":5}`, "", "its result is not an object"},
		{"huge", "application/json", `{"id":ID,"result":{"a":"` + strings.Repeat("x", 70<<10) + `"}}`, "", "a message of more than 65536 bytes"},
		{"huge event", "text/event-stream", `data: {"id":ID,"result":{"a":"` + strings.Repeat("x", 140<<10) + `"}}` + "\n\n", "", "a message of more than 65536 bytes"},
		{"refused", "500", "oh", "", "HTTP 500 Internal Server Error"},
		{"refused by JSON-RPC", "400", `{"id":ID,"error":{"code":-32602,"message":"bad"}}`, "", "bad"},
	} {
		for _, chunk := range []int{1 << 20, 7} {
			t.Run(fmt.Sprintf("%s by %d", tt.name, chunk), func(t *testing.T) {
				s := newRawServer(t)
				s.tool = func(w http.ResponseWriter, r *http.Request, m rawMessage) {
					if m.Params.Name == "echo" {
						answerJSON(w, m, `{"content":[]}`)
						return
					}
					w.Header().Set("Content-Type", tt.kind)
					if code := 0; len(tt.kind) == 3 {
						fmt.Sscan(tt.kind, &code)
						w.WriteHeader(code)
					}
					body := strings.ReplaceAll(tt.body, "ID", string(m.ID))
					for len(body) > 0 {
						n := min(chunk, len(body))
						if len(body) > 1000 {
							n = len(body)
						}
						fmt.Fprint(w, body[:n])
						w.(http.Flusher).Flush()
						body = body[n:]
					}
				}
				u := s.connect(Options{MaxLineBytes: 64 << 10})
				got, err := call(t, u, "x", `{}`)
				if got != tt.want || (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("%s, %v, want %s, %s", got, err, tt.want, tt.wantErr)
				}
				if _, err := call(t, u, "echo", `{}`); err != nil {
					t.Errorf("the next call: %v", err)
				}
				if s.count("initialize") != 1 {
					t.Error("the session was lost")
				}
			})
		}
	}
}

type callerKey struct{}

// TestHTTPAsks: what a server asks on a call's stream is answered by that call's
// client, while the stream goes on.
func TestHTTPAsks(t *testing.T) {
	s := newRawServer(t)
	var waits sync.Map // answers by id
	var both sync.WaitGroup
	both.Add(2)
	go func() {
		for m := range s.answered {
			ch, _ := waits.Load(string(m.ID))
			ch.(chan rawMessage) <- m
		}
	}()
	defer close(s.answered)
	s.tool = func(w http.ResponseWriter, r *http.Request, m rawMessage) {
		say := stream(w)
		ask := "7" // a number, and a string
		if m.Params.Name == "b" {
			ask = `"7"`
		}
		answered := make(chan rawMessage, 2)
		waits.Store(ask, answered)
		say("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"elicitation/create\",\"params\":{\"for\":%q,\"n\":1.0}}\n\n", ask, m.Params.Name)
		both.Done()
		both.Wait()
		say("data: {\"id\":\"p%s\",\"method\":\"ping\"}\n\n", m.Params.Name)
		result := receive(s.t, "the answer to "+ask, answered).Result
		say("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"got\":%s}}\n\n", m.ID, result)
	}
	for _, name := range []string{"a", "b"} {
		waits.Store(`"p`+name+`"`, make(chan rawMessage, 2))
	}
	u := s.connect(Options{Request: func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		both.Wait()
		return fmt.Appendf(nil, `{"method":%q,"caller":%q,"params":%s}`, method, ctx.Value(callerKey{}), params), nil
	}})
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		wg.Go(func() {
			raw, err := u.Call(context.WithValue(t.Context(), callerKey{}, "caller "+name), toolCall(name, "{}"))
			want := fmt.Sprintf(`{"got":{"method":"elicitation/create","caller":"caller %s","params":{"for":%q,"n":1.0}}}`, name, name)
			if err != nil || string(raw) != want {
				t.Errorf("%s: %s, %v, want %s", name, raw, err, want)
			}
			ch, _ := waits.Load(`"p` + name + `"`)
			if m := receive(t, "a pong", ch.(chan rawMessage)); string(m.Result) != "{}" {
				t.Errorf("pong %s", m.Result)
			}
		})
	}
	wg.Wait()
}

// TestHTTPAsksEnd: what a server asks ends when it takes it back, and with the
// call; and there are not too many at one time.
func TestHTTPAsksEnd(t *testing.T) {
	s := newRawServer(t)
	begun, ended := make(chan string, 200), make(chan string, 200)
	s.tool = func(w http.ResponseWriter, r *http.Request, m rawMessage) {
		say := stream(w)
		switch m.Params.Name {
		case "take back":
			say("data: {\"id\":1,\"method\":\"roots/list\"}\n\n")
			<-begun
			say("data: {\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n\n")
			<-ended
		case "answer":
			say("data: {\"id\":1,\"method\":\"roots/list\"}\n\n")
			<-begun
		case "flood":
			for i := range maxServerRequests + 1 {
				say("data: {\"id\":%d,\"method\":\"roots/list\"}\n\n", i)
			}
			if got := receive(s.t, "a refusal", s.answered); got.Error == nil || string(got.ID) != fmt.Sprint(maxServerRequests) {
				s.t.Errorf("refused %s: %s", got.ID, got.Error)
			}
		}
		say("data: {\"id\":%s,\"result\":{}}\n\n", m.ID)
	}
	u := s.connect(Options{Request: func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		begun <- method
		<-ctx.Done()
		ended <- method
		return nil, ctx.Err()
	}})
	for _, tool := range []string{"take back", "answer", "flood"} {
		if _, err := call(t, u, tool, `{}`); err != nil {
			t.Errorf("%s: %v", tool, err)
		}
		for tool == "flood" && len(begun) > 0 {
			<-begun
		}
	}
	if n := len(s.answered); n != 0 {
		t.Errorf("%d answers to what was taken back", n)
	}
}

// TestHTTPForgotten: a call that the server does not take for want of the
// session is sent once more on a new one.
func TestHTTPForgotten(t *testing.T) {
	for _, how := range []string{"404", "400"} {
		s := newRawServer(t)
		var calls, forget atomic.Int64
		s.first = func(w http.ResponseWriter, r *http.Request, m rawMessage) bool {
			if m.Method != "tools/call" || forget.Add(-1) < 0 {
				return false
			}
			if how == "404" {
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
			} else {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
			}
			return true
		}
		s.tool = func(w http.ResponseWriter, _ *http.Request, m rawMessage) {
			calls.Add(1)
			answerJSON(w, m, `{"ok":1}`)
		}
		u := s.connect(Options{})
		forget.Store(1)
		if got, err := call(t, u, "x", `{}`); err != nil || got != `{"ok":1}` || calls.Load() != 1 || s.count("initialize") != 2 {
			t.Errorf("%s: %s, %v, run %d times, %d sessions", how, got, err, calls.Load(), s.count("initialize"))
		}
		forget.Store(2)
		_, err := call(t, u, "x", `{}`)
		var down *UnavailableError
		if !errors.As(err, &down) || down.Lost || !strings.Contains(err.Error(), "no longer knows the session") || calls.Load() != 1 {
			t.Errorf("%s twice: %v, run %d times", how, err, calls.Load())
		}
		if got, err := call(t, u, "x", `{}`); err != nil {
			t.Errorf("%s: after it: %s, %v", how, got, err)
		}
	}
}

// TestHTTPRestart: the server ends while a call runs, is away, and comes back
// with no memory of its sessions.
func TestHTTPRestart(t *testing.T) {
	s := newRawServer(t)
	running := make(chan struct{}, 1)
	s.tool = func(w http.ResponseWriter, r *http.Request, m rawMessage) {
		if m.Params.Name == "die" {
			running <- struct{}{}
			<-r.Context().Done()
			return
		}
		answerJSON(w, m, `{"ok":1}`)
	}
	u := s.connect(Options{})
	done := make(chan error, 1)
	go func() { _, err := u.Call(t.Context(), toolCall("die", "{}")); done <- err }()
	<-running
	address := s.Listener.Addr().String()
	s.Listener.Close()
	s.CloseClientConnections()
	var down *UnavailableError
	if err := receive(t, "the end of the call", done); !errors.As(err, &down) || !down.Lost {
		t.Errorf("the call that ran: %v", err)
	}
	_, err := call(t, u, "x", "{}")
	if errors.As(err, &down) && down.Lost { // it took a connection whose end had not been seen
		_, err = call(t, u, "x", "{}")
	}
	if !errors.As(err, &down) || down.Lost || strings.Contains(err.Error(), "/mcp") {
		t.Errorf("while it is away: %v", err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip(err) // another process was quicker
	}
	again := newRawServer(t)
	again.session = "s2"
	again.Listener.Close()
	again.Listener = l
	again.Start()
	defer again.Close()
	defer again.CloseClientConnections()
	eventually(t, "a call after the restart", func() bool {
		got, err := call(t, u, "x", "{}")
		return err == nil && got == `{"content":[],"z":{}}`
	})
	// Away and back between two calls: nobody notices.
	again.setSession("s3")
	if got, err := call(t, u, "x", "7"); err != nil || got != `{"content":[],"z":7}` {
		t.Errorf("behind a new session: %s, %v", got, err)
	}
	u.Close()
	if again.count("DELETE") != 1 {
		t.Errorf("%d sessions were ended", again.count("DELETE"))
	}
}

// TestHTTPCancel: the server hears of the end of a call, by the end of the
// response and by a notification.
func TestHTTPCancel(t *testing.T) {
	for _, how := range []string{"silent", "streaming"} {
		s := newRawServer(t)
		running, gone, told := make(chan json.RawMessage, 1), make(chan struct{}), make(chan json.RawMessage, 1)
		s.first = func(w http.ResponseWriter, _ *http.Request, m rawMessage) bool {
			if m.Method == "notifications/cancelled" {
				told <- m.Params.RequestID
			}
			return false
		}
		s.tool = func(w http.ResponseWriter, r *http.Request, m rawMessage) {
			if how == "streaming" {
				stream(w)(": wait\n\n")
			}
			running <- m.ID
			<-r.Context().Done()
			close(gone)
		}
		u := s.connect(Options{})
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { _, err := u.Call(ctx, toolCall("x", "{}")); done <- err }()
		id := receive(t, "the call", running)
		cancel(cause)
		if err := receive(t, "the end of the call", done); !errors.Is(err, cause) {
			t.Errorf("%s: %v", how, err)
		}
		receive(t, "the end of the response", gone)
		if got := receive(t, "the notification", told); string(got) != string(id) {
			t.Errorf("%s: cancelled %s, want %s", how, got, id)
		}
	}
}

// TestHTTPClosed: calls end with the upstream, and nothing is left behind.
func TestHTTPClosed(t *testing.T) {
	before := runtime.NumGoroutine()
	s := newRawServer(t)
	s.get = func(w http.ResponseWriter, r *http.Request) {
		stream(w)("data: {\"id\":1,\"method\":\"roots/list\"}\n\n")
		<-r.Context().Done()
	}
	running, asked := make(chan struct{}), make(chan struct{}, 1)
	s.tool = func(w http.ResponseWriter, r *http.Request, m rawMessage) {
		if string(m.Params.Arguments) == "{}" {
			close(running)
			<-r.Context().Done()
			return
		}
		answerJSON(w, m, `{}`)
	}
	u := s.connect(Options{Request: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	done := make(chan error, 1)
	go func() { _, err := u.Call(t.Context(), toolCall("x", "{}")); done <- err }()
	receive(t, "the call", running)
	receive(t, "a request", asked)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := call(t, u, "x", fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	u.Close()
	var down *UnavailableError
	if err := receive(t, "the end of the call", done); !errors.As(err, &down) || !down.Lost || !strings.Contains(err.Error(), "closing") {
		t.Errorf("a call when the proxy closes: %v", err)
	}
	s.CloseClientConnections()
	s.Close()
	eventually(t, "no goroutines left", func() bool { return runtime.NumGoroutine() <= before })
}

// TestHTTPKeepsConnections: parallel calls do not open and close connections.
func TestHTTPKeepsConnections(t *testing.T) {
	s := newRawServer(t)
	var opened atomic.Int64
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	const calls = 100
	var running sync.WaitGroup
	s.tool = func(w http.ResponseWriter, _ *http.Request, m rawMessage) {
		running.Done()
		running.Wait() // all at one time
		answerJSON(w, m, `{}`)
	}
	u := s.connect(Options{})
	for range 5 {
		running.Add(calls)
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				if _, err := call(t, u, "x", "{}"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if n := opened.Load(); n > calls+calls/2 {
		t.Errorf("%d connections for %d calls at one time", n, calls)
	}
}

func TestHTTPNotify(t *testing.T) {
	s := newRawServer(t)
	var params atomic.Value
	s.first = func(w http.ResponseWriter, r *http.Request, m rawMessage) bool {
		if m.Method != "notifications/roots/list_changed" {
			return false
		}
		params.Store(r.Header.Get("Mcp-Session-Id") + r.Header.Get("Mcp-Method"))
		if s.count(m.Method) == 2 {
			http.Error(w, "no", http.StatusInternalServerError)
			return true
		}
		return false
	}
	u := s.connect(Options{})
	if err := u.Notify(t.Context(), "notifications/roots/list_changed", nil); err != nil || params.Load() != "s1" {
		t.Errorf("%v, headers %v", err, params.Load())
	}
	if err := u.Notify(t.Context(), "notifications/roots/list_changed", nil); err == nil || !strings.Contains(err.Error(), "HTTP 500") {
		t.Errorf("a refused one: %v", err)
	}
	s.setSession("s2")
	_ = u.Notify(t.Context(), "notifications/roots/list_changed", nil)
	eventually(t, "a new session", func() bool { return s.count("initialize") == 2 })
}

// TestHTTPSaysWhatTheClientCan: no more, and no less.
func TestHTTPSaysWhatTheClientCan(t *testing.T) {
	for _, tt := range []struct {
		can  string
		want string
	}{
		{``, `{}`},
		{`{}`, `{}`},
		{`{"roots":{ "listChanged":true},"tasks":{"n":1.0}}`, `{"roots":{ "listChanged":true},"tasks":{"n":1.0}}`},
	} {
		s := newRawServer(t)
		said := make(chan string, 1)
		s.first = func(_ http.ResponseWriter, _ *http.Request, m rawMessage) bool {
			if m.Method == "initialize" {
				said <- string(m.Params.Capabilities) + string(m.Params.ClientInfo)
			}
			return false
		}
		const who = `{"name":"c", "version":"1","icons":[]}`
		s.connect(Options{
			Capabilities: func(context.Context) json.RawMessage { return json.RawMessage(tt.can) },
			ClientInfo:   func() json.RawMessage { return json.RawMessage(who) },
		})
		if got := receive(t, "initialize", said); got != tt.want+who {
			t.Errorf("said %s, want %s", got, tt.want)
		}
	}
}

// TestLongNumbers: an error's number is as long as its server likes, and stands in
// no log at that length.
func TestLongNumbers(t *testing.T) {
	s := newRawServer(t)
	digits := strings.Repeat("9", 1<<20)
	s.tool = func(w http.ResponseWriter, _ *http.Request, m rawMessage) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"m"}}`, m.ID, digits)
	}
	u := s.connect(Options{})
	if _, err := call(t, u, "x", "{}"); err == nil || len(err.Error()) > 2000 || !strings.Contains(err.Error(), "error object") {
		t.Errorf("an error of %d bytes: %.300v", len(fmt.Sprint(err)), err)
	}
}
