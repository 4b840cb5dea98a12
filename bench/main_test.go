package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/bench/corpus"
	"rlmproxy/cache"
	"rlmproxy/middleware"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream"
	jqpool "rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/script"
)

// roleVar makes the test binary play one of the processes of a call. The proxy
// keeps variables that begin with RLMPROXY_ from its servers, so this must not.
const roleVar = "BENCH_ROLE"

const (
	roleUpstream = "upstream"
	rolePass     = "proxy-pass" // shaping off
	roleShape    = "proxy-shape"
	roleJQ       = "jq-worker"
	roleScript   = "script-worker"
)

func TestMain(m *testing.M) {
	var err error
	switch role := os.Getenv(roleVar); role {
	case "":
		code := m.Run()
		workers().Close()
		if dir, err := scratch(); err == nil {
			os.RemoveAll(dir)
		}
		os.Exit(code)
	case roleJQ:
		os.Exit(jqpool.Worker(os.Stdin, os.Stdout))
	case roleScript:
		os.Exit(script.Worker(os.Stdin, os.Stdout))
	case roleUpstream:
		err = serveRecords(os.Stdin, os.Stdout)
	case rolePass, roleShape:
		err = serveProxy(role == rolePass)
	default:
		err = fmt.Errorf("no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveRecords is a server with one tool, records, that answers with as many
// bytes of flights.json as it is asked for. It does nothing that a call does
// not need: answers are made once.
func serveRecords(r io.Reader, w io.Writer) error {
	made := map[int][]byte{}
	in := bufio.NewScanner(r)
	for in.Scan() {
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Bytes int } }
		}
		if err := json.Unmarshal(in.Bytes(), &req); err != nil {
			return err
		}
		if req.ID == nil {
			continue
		}
		var result []byte
		switch req.Method {
		case "initialize":
			result = []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"records","version":"1"}}`)
		case "tools/list":
			result = []byte(`{"tools":[{"name":"records","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
		case "tools/call":
			n := req.Params.Arguments.Bytes
			if made[n] == nil {
				text, err := records(n)
				if err != nil {
					return err
				}
				if made[n], err = textResult(text); err != nil {
					return err
				}
			}
			result = made[n]
		default:
			result = []byte(`{}`)
		}
		for _, part := range [][]byte{fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":`, req.ID), result, []byte("}\n")} {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
	}
	return in.Err()
}

// records is at most n bytes of flights.json, whole records.
func records(n int) (string, error) {
	b, err := corpus.Open("flights.json")
	if err != nil {
		return "", err
	}
	end := strings.LastIndex(string(b[:n-1]), "}")
	return string(b[:end+1]) + "]", nil
}

func textResult(text string) ([]byte, error) {
	return json.Marshal(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}})
}

// serveProxy is the proxy over stdin and stdout, before a server in a process
// of its own.
func serveProxy(pass bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	up := upstream.New(upstream.Options{
		Name: "records",
		Dial: upstream.Stdio(upstream.Command{Path: self, Env: []string{roleVar + "=" + roleUpstream}}),
	})
	defer up.Close()
	store, err := cache.New(cache.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := middleware.New(middleware.Options{
		Upstreams:   []middleware.Upstream{{Name: "records", Conn: up, TrustHints: true}},
		Store:       store,
		PassThrough: pass,
		Idle:        debug.FreeOSMemory, // as the program does
	})
	if err != nil {
		return err
	}
	rpc.Widen(os.Stdout) // likewise
	return s.Serve(context.Background(), os.Stdin, os.Stdout)
}

// spawn starts a process of the test binary and shakes hands with it. It ends
// with tb.
func spawn(tb testing.TB, role string) *rpc.Conn {
	tb.Helper()
	conn, _ := start(tb, role)
	return conn
}

// start is spawn that tells the process too.
func start(tb testing.TB, role string) (*rpc.Conn, *os.Process) {
	tb.Helper()
	cmd := command(tb, role)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	// A pipe of our own: Wait closes one of cmd's under the reader.
	stdout, theirs, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	cmd.Stdout = theirs
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	theirs.Close()
	tb.Cleanup(func() {
		stdin.Close() // once more, if the handshake failed
		if err := cmd.Wait(); err != nil {
			tb.Errorf("%s: %v", role, err)
		}
	})
	return shake(tb, stdout, stdin), cmd.Process
}

// command is a process of the test binary.
func command(tb testing.TB, role string) *exec.Cmd {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(self)
	// The race detector's exit takes a second, if not told otherwise.
	cmd.Env = append(os.Environ(), roleVar+"="+role, "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	cmd.Stderr = os.Stderr
	return cmd
}

// host is spawn for a client as hosts have it: that of the Go SDK, which makes
// the pipes and decodes results.
func host(tb testing.TB, role string) *mcp.ClientSession {
	tb.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).
		Connect(context.Background(), &mcp.CommandTransport{Command: command(tb, role)}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { session.Close() })
	return session
}

// shake makes a connection of a client that has done its handshake.
func shake(tb testing.TB, r io.ReadCloser, w io.WriteCloser) *rpc.Conn {
	tb.Helper()
	conn := rpc.NewConn(r, w, rpc.ConnOptions{Options: rpc.Options{Handle: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage("{}"), nil // a ping
	}}})
	tb.Cleanup(conn.Close)
	_, err := conn.Call(context.Background(), "initialize", json.RawMessage(`{"protocolVersion":"2025-11-25","clientInfo":{"name":"bench","version":"1"},"capabilities":{}}`), nil)
	if err == nil {
		err = conn.Notify(context.Background(), "notifications/initialized", nil)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return conn
}
