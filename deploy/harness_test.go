// Package deploy holds the examples of this folder to what they are for: what can run here
// runs, with replicas of the program, and what they name is there.
//
// nginx and redis-server are packages of Debian. Without them their tests are skipped, or
// fail where RLMPROXY_E2E=required.
package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/e2e/replicas"
)

var binary string // the built program

func TestMain(m *testing.M) { os.Exit(replicas.Main(m, &binary)) }

// read returns a file of this folder, or one from the root by "../".
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// until waits for what happens in other processes.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within a minute: " + what)
		}
	}
}

// A server is the MCP server behind all replicas.
type server struct {
	*httptest.Server

	mu    sync.Mutex
	calls map[string]int           // of the tool do, by the argument id
	gates map[string]chan struct{} // for which calls of the tool wait wait
}

// count is how often the call with an id has been executed.
func (s *server) count(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

// gate is what calls with an id wait for, until it is closed.
func (s *server) gate(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[id] == nil {
		s.gates[id] = make(chan struct{})
	}
	return s.gates[id]
}

type doArgs struct {
	ID   string `json:"id"`
	Text string `json:"text,omitempty"`
}

func startServer(t *testing.T) *server {
	s := &server{calls: map[string]int{}, gates: map[string]chan struct{}{}}
	own := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	do := func(ctx context.Context, _ *mcp.CallToolRequest, in doArgs) (*mcp.CallToolResult, any, error) {
		s.mu.Lock()
		s.calls[in.ID]++
		s.mu.Unlock()
		text := "done " + in.ID
		switch in.Text {
		case "fails":
			return nil, nil, errors.New("it failed")
		case "long":
			text = strings.Repeat("A line of a long text.\n", 4000)
		case "secret":
			text = "AWS_ACCESS_KEY_ID=AKIAZ5GXQ2RTMB3WVYPL"
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	}
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(own, &mcp.Tool{Name: "do", Annotations: readOnly}, do)
	mcp.AddTool(own, &mcp.Tool{Name: "wait", Annotations: readOnly}, func(ctx context.Context, r *mcp.CallToolRequest, in doArgs) (*mcp.CallToolResult, any, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: "begun"})
		}
		result, _, err := do(ctx, r, in)
		select {
		case <-s.gate(in.ID):
		case <-ctx.Done():
		}
		return result, nil, err
	})
	s.Server = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return own }, nil))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

const (
	agentToken   = "alice-0123456789abcdef"
	metricsToken = "metrics-0123456789abcdef"
)

// A replica is a process of the program, started as compose.yaml does.
type replica struct {
	t    *testing.T
	addr string // which it has again when it is started again
	env  []string
	args []string
	cmd  *exec.Cmd

	mu  sync.Mutex
	log bytes.Buffer
}

func (r *replica) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(p)
}

func (r *replica) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

var listening = regexp.MustCompile(`listening on http://([0-9.:]+)/mcp`)

// startReplica starts a replica with the settings of compose.yaml, but for these variables.
func startReplica(t *testing.T, s *server, store string, env ...string) *replica {
	t.Helper()
	dir := t.TempDir()
	config := strings.Replace(read(t, "mcp.json"), "http://example:3001/mcp", s.URL, 1)
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &replica{t: t, addr: "127.0.0.1:0"}
	r.env = append(os.Environ(), "RLMPROXY_STATE_DIR="+filepath.Join(dir, "state"), "RLMPROXY_CACHE_URL="+store,
		"RLMPROXY_FLEET_KEY=0123456789abcdef0123456789abcdef", "RLMPROXY_HTTP_TOKENS=alice:"+agentToken, "RLMPROXY_METRICS_TOKEN="+metricsToken)
	r.env = append(r.env, env...)
	r.args = []string{"serve", "--config", filepath.Join(dir, "mcp.json"), "--http"}
	t.Cleanup(func() {
		r.kill()
		if t.Failed() {
			t.Logf("replica at %s:\n%s", r.addr, r.said())
		}
	})
	r.start()
	return r
}

// start starts it, and returns when it serves.
func (r *replica) start() {
	r.t.Helper()
	before := len(r.said())
	r.cmd = exec.Command(binary, append(r.args, r.addr)...)
	r.cmd.Env, r.cmd.Stderr = r.env, r
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	until(r.t, "a replica serves", func() bool {
		m := listening.FindStringSubmatch(r.said()[before:])
		if m != nil {
			r.addr = m[1]
		}
		return m != nil
	})
}

// kill ends it as kill -9 does.
func (r *replica) kill() {
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		r.cmd = nil
	}
}

// leave ends it as a deploy does, and returns how long it took.
func (r *replica) leave() time.Duration {
	r.t.Helper()
	begun := time.Now()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		r.t.Errorf("after SIGTERM: %v", err)
	}
	r.cmd = nil
	return time.Since(begun)
}

// get asks the replica itself.
func (r *replica) get(path, token string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), "GET", "http://"+r.addr+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// metric is the sum of the series of a metric that have these labels.
func (r *replica) metric(name, labels string) (sum float64) {
	r.t.Helper()
	_, text := r.get("/metrics", metricsToken)
	for _, m := range regexp.MustCompile(`(?m)^`+name+`(\{.*\})? (\S+)$`).FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], labels) {
			var n float64
			fmt.Sscan(m[2], &n)
			sum += n
		}
	}
	return sum
}

// A client calls tools at some address.
type client struct {
	http *http.Client
	url  string
}

// at is a client of the replica.
func (r *replica) at() client { return client{http.DefaultClient, "http://" + r.addr + "/mcp"} }

// send sends a message with an agent's token; header has pairs.
func (c client) send(ctx context.Context, method, body string, header ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+agentToken)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return c.http.Do(r)
}

// says is send, with the status and the text of the response.
func (c client) says(ctx context.Context, method, body string, header ...string) (int, string) {
	resp, err := c.send(ctx, method, body, header...)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

const begin = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

// toolCall is a call of a tool of the server.
func toolCall(tool, id, text, meta string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"example_%s","arguments":{"id":%q,"text":%q},"_meta":{%s}}}`, tool, id, text, meta)
}

const statelessMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

// call calls a tool in a request of revision 2026-07-28, which stands for itself.
func (c client) call(ctx context.Context, tool, id, text string) (int, string) {
	return c.says(ctx, "POST", toolCall(tool, id, text, statelessMeta), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "example_"+tool)
}

// session begins a session.
func (c client) session(ctx context.Context) (id string, err error) {
	resp, err := c.send(ctx, "POST", begin)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if id = resp.Header.Get("Mcp-Session-Id"); err == nil && id == "" {
		err = fmt.Errorf("initialize: %s %s", resp.Status, text)
	}
	return id, err
}

// startNginx starts nginx with nginx.conf before replicas, at a socket. Sticky says whether
// the line with hash stays.
func startNginx(t *testing.T, sticky bool, replicas ...*replica) client {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		for _, path := range []string{"/usr/sbin/nginx", "/usr/local/sbin/nginx"} {
			if _, err := os.Stat(path); err == nil {
				program = path
			}
		}
	}
	switch {
	case program == "" && os.Getenv("RLMPROXY_E2E") == "required":
		t.Fatal("nginx is missing")
	case program == "":
		t.Skip("nginx is missing")
	}
	// A socket's path is short, and what nginx starts as root is somebody else.
	dir, err := os.MkdirTemp("", "nginx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	conf := read(t, "nginx.conf")
	swap := func(from, to string) {
		t.Helper()
		if !strings.Contains(conf, from) {
			t.Fatalf("nginx.conf has no %q", from)
		}
		conf = strings.ReplaceAll(conf, from, to)
	}
	socket := filepath.Join(dir, "s")
	swap("listen 8080;", "listen unix:"+socket+";")
	swap(" /tmp/", " "+dir+"/")
	for i, r := range replicas {
		swap(fmt.Sprintf("replica%d:8080", i+1), r.addr)
	}
	if !sticky {
		swap("hash $route consistent;", "")
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-e", "stderr", "-c", file, "-g", "daemon off;")
	var log replica
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nginx:\n%s", log.said())
		}
	})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	c := client{&http.Client{Transport: transport}, "http://localhost/mcp"}
	until(t, "nginx listens", func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return c
}
