package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// testServer is the environment variable that turns the test binary into a
// server that misbehaves as its value says.
const testServer = "TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if how := os.Getenv(testServer); how != "" {
		misbehave(how)
		syscall.Exit(0)
	}
	os.Exit(m.Run())
}

// misbehave is a server written line by line, since no SDK would do these
// things. Its tools are named after what they do.
func misbehave(how string) {
	out := func(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }
	switch how {
	case "silent":
		time.Sleep(time.Hour)
	case "dead":
		fmt.Fprintln(os.Stderr, "cannot open database")
		syscall.Exit(3)
	case "early":
		out(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		out(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
		out(`{"jsonrpc":"2.0","id":"rlm-1","method":"roots/list"}`)
		out(`{"jsonrpc":"2.0","id":null,"method":"ping"}`)
		out(`{"jsonrpc":"2.0","id":7,"result":{}}`)
		out(`{"jsonrpc":"2.0","id":"rlm-2","result":{"tools":5}}`)
		out(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`)
	case "noisy":
		line := bytes.Repeat([]byte{'x'}, 1<<20)
		for range 16 {
			_, _ = os.Stderr.Write(line)
		}
	case "flooding":
		go func() {
			for {
				out(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				out(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"rlm-1","progress":1}}`)
				out(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			}
		}()
	case "banner":
		out("\ufeffWelcome to the server\n\n{\"level\":\"info\"}\n[1,2]\n\"text\"")
	}
	in := bufio.NewReader(os.Stdin)
	grown := false
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if how == "stubborn" || how == "mover" {
				time.Sleep(time.Hour)
			}
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
				Cursor    string
				Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		answer := func(format string, args ...any) {
			out(`{"jsonrpc":"2.0","id":%s,"result":`+format+`}`, append([]any{m.ID}, args...)...)
		}
		switch m.Method {
		case "initialize":
			if how == "early" {
				out(`{"jsonrpc":"2.0","id":8,"result":{}}`)
			}
			answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"m","version":"1"}}`)
			if how == "early" {
				answer(`{"protocolVersion":"1"}`) // once more
			}
		case "tools/list":
			if grown {
				answer(`{"tools":[{"name":"new","inputSchema":{"type":"object"}}]}`)
			} else if m.Params.Cursor == "" {
				answer(`{"tools":[{"name":"one","x":1.0,"inputSchema":{"type":"object"}},{"name":"one","inputSchema":{"type":"object"}},{"name":"none"},{"name":7},null],"nextCursor":"2"}`)
			} else {
				answer(`{"tools":[{"inputSchema":{"type":"object"},"x":9007199254740993,"name":"two"}]}`)
			}
		case "tools/call":
			switch m.Params.Name {
			case "echo":
				answer(`{"content":[],"z":%s}`, m.Params.Arguments)
			case "die":
				syscall.Exit(4)
			case "pid":
				answer(`{"content":[],"pid":%d}`, os.Getpid())
			case "grow":
				grown = true
				out(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				answer(`{"content":[]}`)
			case "hang":
			case "sleep":
				time.Sleep(time.Hour)
			case "refuse":
				out(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such thing","data":{"n":9007199254740993}}}`, m.ID)
			case "huge":
				answer(`{"content":"%s"}`, strings.Repeat("x", 1<<20))
			case "deep":
				answer(`{"content":%s%s}`, strings.Repeat("[", 100_000), strings.Repeat("]", 100_000))
			case "latin1":
				answer("{\"content\":\"caf\xe9\"}")
			case "broken":
				answer(`{"content":tru}`)
			case "mark":
				out("\ufeff"+`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
			case "number":
				out(`{"jsonrpc":"2.0","id":%s,"result":5}`, m.ID)
			case "leave":
				// A child in a session of its own keeps stdout open.
				cmd := exec.Command("setsid", "sleep", "5")
				cmd.Stdout = os.Stdout
				if err := cmd.Start(); err != nil {
					panic(err)
				}
				syscall.Exit(5)
			case "deaf":
				os.Stdin.Close()
				answer(`{"content":[]}`)
				time.Sleep(time.Hour)
			case "junk":
				out("debug: about to answer")
				answer(`{"content":[]}`)
			case "progress":
				for i := range 3 {
					out(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d,"x":1.0,"progressToken":%s}}`, i, m.Params.Meta.ProgressToken)
				}
				answer(`{"content":[]}`)
			case "child":
				cmd := exec.Command("sleep", "1000")
				if err := cmd.Start(); err != nil {
					panic(err)
				}
				answer(`{"content":[],"pid":%d}`, cmd.Process.Pid)
			}
		}
	}
}

// run starts the server that behaves as how.
func run(t *testing.T, how string, opts Options) *Upstream {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opts.Name = "test"
	opts.Dial = Stdio(Command{Path: exe, Env: []string{testServer + "=" + how, "GORACE=atexit_sleep_ms=0"}})
	u := New(opts)
	t.Cleanup(u.Close)
	return u
}

func call(t *testing.T, u *Upstream, tool, args string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	raw, err := u.Call(ctx, toolCall(tool, args))
	return string(raw), err
}

func TestToolsAreRaw(t *testing.T) {
	u := run(t, "well", Options{})
	u.Settled(t.Context())
	var got []string
	for _, tool := range u.Tools() {
		got = append(got, tool.Name+" "+string(tool.Raw))
	}
	if want := `one {"name":"one","x":1.0,"inputSchema":{"type":"object"}};two {"inputSchema":{"type":"object"},"x":9007199254740993,"name":"two"}`; strings.Join(got, ";") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	args := `{ "b":1.0, "a":9007199254740993, "s":"é<&>" }`
	if raw, err := call(t, u, "echo", args); err != nil || raw != `{"content":[],"z":`+args+`}` {
		t.Errorf("echo: %s, %v", raw, err)
	}
}

// TestOneCallFails: what is wrong with one answer fails that call and no other. It used
// to read as the client's fault: "-32603 not JSON: expected a string at byte 40".
func TestOneCallFails(t *testing.T) {
	u := run(t, "banner", Options{MaxLineBytes: 512 << 10})
	tests := []struct{ tool, want, wantErr string }{
		{"huge", "", `server "test" sent a malformed answer: message of 1048`},
		{"deep", "", `server "test" sent a malformed answer: nested deeper than`},
		{"broken", "", `server "test" sent a malformed answer: not JSON: expected`},
		{"mark", `{"content":[]}`, ""},
		{"latin1", "{\"content\":\"caf\xe9\"}", ""},
		{"junk", `{"content":[]}`, ""},
		{"refuse", "", "no such thing"},
		{"number", "", `server "test" sent a malformed answer: its result is not an object`},
	}
	for _, tt := range tests {
		got, err := call(t, u, tt.tool, `{}`)
		if got != tt.want || (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
			t.Errorf("%s: %.80q, %v, want %q, %q", tt.tool, got, err, tt.want, tt.wantErr)
		}
		if got, err := call(t, u, "echo", `7`); err != nil || got != `{"content":[],"z":7}` {
			t.Fatalf("after %s: %s, %v", tt.tool, got, err)
		}
	}
	_, err := call(t, u, "refuse", `{}`)
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || string(rpc.Data) != `{"n":9007199254740993}` {
		t.Errorf("the server's own error: %v", err)
	}
}

func TestRestart(t *testing.T) {
	u := run(t, "well", Options{MinBackoff: time.Nanosecond})
	if _, err := call(t, u, "echo", `1`); err != nil {
		t.Fatal(err)
	}
	_, err := call(t, u, "die", `{}`)
	var down *UnavailableError
	if !errors.As(err, &down) || !down.Lost || !strings.Contains(err.Error(), "exit status 4") {
		t.Errorf("the call that lost its server: %v", err)
	}
	if got, err := call(t, u, "echo", `2`); err != nil || got != `{"content":[],"z":2}` {
		t.Errorf("the next call: %s, %v", got, err)
	}
}

// TestLostWithoutAnEnd: a server whose pipes do not tell that it is lost is
// replaced all the same.
func TestLostWithoutAnEnd(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs setsid")
	}
	for _, how := range []string{"leave", "deaf"} {
		u := run(t, "well", Options{MinBackoff: time.Nanosecond})
		_, _ = call(t, u, how, `{}`)
		if how == "deaf" {
			_, _ = call(t, u, "echo", `1`) // finds out
		}
		if got, err := call(t, u, "echo", `2`); err != nil || got != `{"content":[],"z":2}` {
			t.Errorf("%s: the next call: %s, %v", how, got, err)
		}
		u.Close()
	}
}

func TestUnavailable(t *testing.T) {
	var log lockedBuffer
	dead := run(t, "dead", Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	silent := run(t, "silent", Options{ConnectTimeout: 50 * time.Millisecond})
	missing := New(Options{Name: "missing", Dial: Stdio(Command{Path: "no-such-command-anywhere"})})
	defer missing.Close()
	for _, tt := range []struct {
		name string
		u    *Upstream
		want string
	}{
		{"dead", dead, "exit status 3"},
		{"silent", silent, "no answer to the handshake within 50ms"},
		{"missing", missing, "not in PATH"},
	} {
		tt.u.Settled(t.Context())
		_, err := call(t, tt.u, "echo", `1`)
		var down *UnavailableError
		if !errors.As(err, &down) || down.Lost || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	if !strings.Contains(log.String(), "cannot open database") {
		t.Errorf("stderr is not in the log: %s", log.String())
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestCancel(t *testing.T) {
	u := run(t, "well", Options{})
	u.Settled(t.Context())
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, cause)
	defer cancel()
	if _, err := u.Call(ctx, toolCall("hang", "{}")); !errors.Is(err, cause) {
		t.Errorf("hang: %v, want the context's cause", err)
	}
	if _, err := call(t, u, "echo", `1`); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestProgress(t *testing.T) {
	u := run(t, "well", Options{})
	var got []string
	_, err := u.Call(t.Context(), Request{Method: "tools/call", Params: json.RawMessage(`{"name":"progress"}`), Progress: func(p json.RawMessage) { got = append(got, string(p)) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || !strings.Contains(got[2], `"progress":2,"x":1.0`) {
		t.Errorf("progress %q, want three, the last one 2", got)
	}
}

func TestListChanged(t *testing.T) {
	changed := make(chan struct{}, 10)
	u := run(t, "well", Options{Changed: func() { changed <- struct{}{} }})
	<-changed // connected
	if _, err := call(t, u, "grow", `{}`); err != nil {
		t.Fatal(err)
	}
	<-changed
	if tools := u.Tools(); len(tools) != 1 || tools[0].Name != "new" {
		t.Errorf("tools %v, want the new one", tools)
	}
}

// alive reports whether a process with this id runs (zombies do not).
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestCloseEndsTheGroup(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	for _, how := range []string{"well", "stubborn"} {
		u := run(t, how, Options{})
		var pids []int
		for _, tool := range []string{"pid", "child"} {
			raw, err := call(t, u, tool, `{}`)
			if err != nil {
				t.Fatal(err)
			}
			var r struct{ PID int }
			if err := json.Unmarshal([]byte(raw), &r); err != nil || !alive(r.PID) {
				t.Fatalf("%s: %s, %v", tool, raw, err)
			}
			pids = append(pids, r.PID)
		}
		u.Close()
		for _, pid := range pids {
			if alive(pid) {
				t.Errorf("%s: process %d is left", how, pid)
			}
		}
		if _, err := call(t, u, "echo", `1`); err == nil || !strings.Contains(err.Error(), "closing") {
			t.Errorf("%s: a call after Close: %v", how, err)
		}
	}
}

func toolCall(name, args string) Request {
	return Request{Method: "tools/call", Params: json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))}
}
