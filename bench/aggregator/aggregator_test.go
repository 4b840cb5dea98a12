package aggregator

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"rlmproxy/middleware/rpc"
)

// roleVar makes a process of the test binary something else than the tests.
const roleVar = "AGGREGATOR_ROLE"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleVar) {
	case "":
		os.Exit(m.Run())
	case "upstream":
		upstream()
	case "aggregator":
		err = aggregate()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// upstream is a server over stdio whose only tool answers with as many bytes of text as
// it is asked for.
func upstream() {
	conn := rpc.NewConn(os.Stdin, os.Stdout, rpc.ConnOptions{Server: true, Options: rpc.Options{
		Handle: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			switch method {
			case "initialize":
				return json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"text","version":"1"}}`), nil
			case "tools/list":
				return json.RawMessage(`{"tools":[{"name":"text","inputSchema":{"type":"object"}}]}`), nil
			case "tools/call":
				var p struct{ Arguments struct{ Bytes int } }
				if err := json.Unmarshal(params, &p); err != nil {
					return nil, err
				}
				return result(p.Arguments.Bytes), nil
			}
			return json.RawMessage(`{}`), nil
		},
	}})
	<-conn.Done()
}

func result(n int) json.RawMessage {
	line := "a line of text, sixty-four bytes with its end, again and again\\n"
	return json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat(line, n/len(line)+1) + `"}]}`)
}

// aggregate is the yardstick.
func aggregate() error {
	ctx := context.Background()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	up, err := client.NewStdioMCPClient(self, []string{roleVar + "=upstream"})
	if err != nil {
		return err
	}
	if _, err := up.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: "2025-06-18", ClientInfo: mcp.Implementation{Name: "aggregator", Version: "1"}}}); err != nil {
		return err
	}
	tools, err := up.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return err
	}
	s := server.NewMCPServer("aggregator", "1")
	for _, tool := range tools.Tools {
		s.AddTool(tool, func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return up.CallTool(ctx, r)
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s/mcp\n", l.Addr())
	return http.Serve(l, server.NewStreamableHTTPServer(s))
}

// An endpoint is a session with a program that serves over HTTP.
type endpoint struct {
	url, session string
	client       *http.Client
	id           int
}

// start starts a program, which says on stderr where it listens, and shakes hands.
func start(tb testing.TB, cmd *exec.Cmd) *endpoint {
	tb.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // by the signal
	})
	address := regexp.MustCompile(`listening on (http://[^\s"]+)`)
	e := &endpoint{client: &http.Client{Timeout: time.Minute}}
	lines := bufio.NewScanner(stderr)
	for e.url == "" && lines.Scan() {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			e.url = m[1]
		}
	}
	go io.Copy(io.Discard, stderr)
	if e.url == "" {
		tb.Fatalf("%v does not say where it listens", cmd.Args)
	}
	e.post(tb, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	e.post(tb, "tools/list", `{}`)
	return e
}

// post sends a request and returns the answer, of which it reads every byte.
func (e *endpoint) post(tb testing.TB, method, params string) []byte {
	e.id++
	r, err := http.NewRequest(http.MethodPost, e.url, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, e.id, method, params)))
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if e.session != "" {
		r.Header.Set("Mcp-Session-Id", e.session)
		r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	resp, err := e.client.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		tb.Fatalf("%s: %s, %v, %.200s", method, resp.Status, err, body)
	}
	if method == "initialize" {
		e.session = resp.Header.Get("Mcp-Session-Id")
	}
	return body
}

// call calls the tool for a text of n bytes.
func (e *endpoint) call(tb testing.TB, n int) time.Duration {
	begun := time.Now()
	body := e.post(tb, "tools/call", fmt.Sprintf(`{"name":"text","arguments":{"bytes":%d}}`, n))
	took := time.Since(begun)
	if len(body) < n || !bytes.Contains(body, []byte("a line of text")) {
		tb.Fatalf("%d bytes come, %d are wanted", len(body), n)
	}
	return took
}

// both starts the aggregator and the proxy, which leaves results as they are, each before
// a server of its own.
func both(tb testing.TB) (plain, proxy *endpoint) {
	tb.Helper()
	dir := tb.TempDir()
	program := filepath.Join(dir, "rlmproxy")
	build := exec.Command("go", "build", "-o", program, "./cmd/rlmproxy")
	build.Dir = filepath.Join("..", "..") // that module knows what it is made of
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	config := filepath.Join(dir, "mcp.json")
	text := fmt.Sprintf(`{"mcpServers":{"up":{"command":%q,"env":{%q:"upstream"},"prefix":""}},"proxySettings":{"enableAutoTruncation":false,"pinTools":false}}`, self, roleVar)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	yardstick := exec.Command(self)
	yardstick.Env = append(os.Environ(), roleVar+"=aggregator")
	return start(tb, yardstick), start(tb, exec.Command(program, "serve", "--http", "127.0.0.1:0", "--config", config))
}

var sizes = []struct {
	name  string
	bytes int
}{{"1KB", 1000}, {"1MB", 1_000_000}, {"10MB", 10_000_000}}

// BenchmarkHTTP reports x-aggregator: the median of a call through the proxy ÷ that of a
// call through the aggregator. They take turns.
func BenchmarkHTTP(b *testing.B) {
	plain, proxy := both(b)
	for _, size := range sizes {
		b.Run("size="+size.name, func(b *testing.B) {
			b.SetBytes(int64(size.bytes))
			var theirs, ours []time.Duration
			for b.Loop() {
				theirs = append(theirs, plain.call(b, size.bytes))
				ours = append(ours, proxy.call(b, size.bytes))
			}
			b.ReportMetric(float64(median(ours)), "p50-ns")
			b.ReportMetric(float64(median(ours))/float64(median(theirs)), "x-aggregator")
		})
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// TestBoth: both answer with the server's text.
func TestBoth(t *testing.T) {
	plain, proxy := both(t)
	for _, e := range []*endpoint{plain, proxy} {
		e.call(t, 1000)
	}
}
