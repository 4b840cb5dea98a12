// Package e2e runs the program as its users do: the built binary, in front of
// real servers and of one that misbehaves, over stdin and stdout.
//
// The real servers are npm packages (npm ci in this folder). Without them their
// tests are skipped, or fail where RLMPROXY_E2E=required.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rlmproxy/e2e/replicas"
	"rlmproxy/middleware/rpc"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var binary string // the built program

func TestMain(m *testing.M) {
	switch os.Getenv(fakeServer) {
	case "":
	case faithful:
		serveFaithful()
		return
	default:
		fake()
		return
	}
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rlmproxy-e2e")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("RLMPROXY_STATE_DIR", filepath.Join(dir, "state"))
	if binary, err = replicas.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// real returns the command of a real server, or ends the test.
func real(t *testing.T, name string) []string {
	t.Helper()
	required := os.Getenv("RLMPROXY_E2E") == "required"
	node, err := exec.LookPath("node")
	script, _ := filepath.Abs(filepath.Join("node_modules", ".bin", name))
	if err == nil {
		_, err = os.Stat(script)
	}
	switch {
	case err != nil && required:
		t.Fatalf("%s is required: %v (npm ci in e2e/)", name, err)
	case err != nil:
		t.Skipf("%s is not installed: %v (npm ci in e2e/)", name, err)
	}
	return []string{node, script}
}

// A session is a client of a running command.
type session struct {
	*rpc.Conn
	t    *testing.T
	cmd  *exec.Cmd
	err  bytes.Buffer
	done chan struct{}
	mu   sync.Mutex // guards err and told
	told []string   // methods of notifications
}

func (s *session) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err.Write(p)
}

func (s *session) notified(_ context.Context, method string, _ json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, method)
}

// log is what the command has written to stderr so far.
func (s *session) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err.String()
}

// Call sends a request.
func (s *session) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return s.Conn.Call(ctx, method, params, nil)
}

// noRequests answers what servers ask of a client that has no roots.
func noRequests(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
	switch method {
	case "ping":
		return json.RawMessage(`{}`), nil
	case "roots/list":
		return json.RawMessage(`{"roots":[]}`), nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method}
}

// open starts a command and shakes hands with it.
func open(t *testing.T, env []string, args ...string) *session {
	t.Helper()
	s := begin(t, env, args...)
	s.shakeHands()
	return s
}

func (s *session) shakeHands() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 60*time.Second)
	defer cancel()
	_, err := s.Call(ctx, "initialize", json.RawMessage(`{"protocolVersion":"2025-11-25","clientInfo":{"name":"e2e","version":"1"},"capabilities":{"roots":{"listChanged":true}}}`))
	if err == nil {
		err = s.Notify(ctx, "notifications/initialized", nil)
	}
	if err != nil {
		s.t.Fatalf("%v: %v\n%s", s.cmd.Args, err, s.log())
	}
}

// begin starts a command.
func begin(t *testing.T, env []string, args ...string) *session {
	t.Helper()
	s := &session{t: t, cmd: exec.Command(args[0], args[1:]...), done: make(chan struct{})}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "RLMPROXY_") {
			s.cmd.Env = append(s.cmd.Env, kv)
		}
	}
	s.cmd.Env = append(append(s.cmd.Env, "RLMPROXY_STATE_DIR="+t.TempDir()), env...)
	s.cmd.Stderr = s
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdin, s.cmd.Stdout = inR, outW
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	go func() { s.cmd.Wait(); close(s.done) }()
	s.Conn = rpc.NewConn(outR, inW, rpc.ConnOptions{Options: rpc.Options{MaxBytes: 256 << 20, Handle: noRequests, Notified: s.notified}})
	t.Cleanup(func() {
		s.Conn.Close()
		s.ended()
		if t.Failed() {
			t.Logf("stderr of %v:\n%s", args, s.log())
		}
	})
	return s
}

// proxy starts the built program.
func proxy(t *testing.T, args ...string) *session {
	t.Helper()
	return open(t, nil, append([]string{binary}, args...)...)
}

// ended waits for the command to end by itself.
func (s *session) ended() {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(20 * time.Second):
		s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.done
		s.t.Errorf("the command did not end\n%s", s.log())
	}
}

// call returns the raw result of a tool.
func (s *session) call(tool, args string) string {
	s.t.Helper()
	raw, err := s.try(tool, args)
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", tool, args, err, s.log())
	}
	return string(raw)
}

func (s *session) try(tool, args string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 90*time.Second)
	defer cancel()
	return s.Call(ctx, "tools/call", json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)))
}

// A reply is what our assertions look at.
type reply struct {
	Content []struct{ Type, Text string }
	IsError bool
	Meta    struct {
		Result struct {
			CacheID     string `json:"cache_id"`
			Tokens      int
			ShownTokens int `json:"shown_tokens"`
		} `json:"rlmproxy/result"`
		Error struct{ Code string } `json:"rlmproxy/error"`
	} `json:"_meta"`
}

func (s *session) read(tool, args string) reply {
	s.t.Helper()
	raw := s.call(tool, args)
	var r reply
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		s.t.Fatalf("%s: %v in %.300s", tool, err, raw)
	}
	return r
}

// text is what an agent reads.
func (s *session) text(tool, args string) string {
	s.t.Helper()
	r := s.read(tool, args)
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// tools lists the names of all tools.
func (s *session) tools() []string {
	s.t.Helper()
	raw, err := s.Call(s.t.Context(), "tools/list", json.RawMessage(`{}`))
	if err != nil {
		s.t.Fatal(err)
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(raw, &list); err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names
}
