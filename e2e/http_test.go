package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A site is a running command that serves HTTP.
type site struct {
	t   *testing.T
	cmd *exec.Cmd
	url string

	mu  sync.Mutex
	err bytes.Buffer
}

func (s *site) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err.Write(p)
}

func (s *site) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err.String()
}

// openHTTP starts the fake server behind a command that serves HTTP.
func openHTTP(t *testing.T, env []string, args ...string) *site {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, cmd: exec.Command(binary, append(append([]string{"wrap"}, args...), "--prefix", "s", "--", exe)...)}
	s.cmd.Env = append(append(os.Environ(), fakeServer+"=s", "RLMPROXY_STATE_DIR="+t.TempDir()), env...)
	s.start()
	return s
}

// start starts the command and waits until it serves.
func (s *site) start() {
	s.t.Helper()
	s.cmd.Stderr = s
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.cmd.Process.Kill(); s.cmd.Wait() })
	for range 600 {
		if m := listening.FindStringSubmatch(s.log()); m != nil {
			s.url = m[1]
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("it does not listen\n%s", s.log())
}

// send sends a call of a tool in a request that stands for itself. Header has pairs.
func (s *site) send(ctx context.Context, tool, args string, header ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, "POST", s.url, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, args)))
	if err != nil {
		return nil, err
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		r.Header.Set(k, v)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return http.DefaultClient.Do(r)
}

// call is a call of a request that stands for itself.
func (s *site) call(tool, args string, header ...string) (int, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	resp, err := s.send(ctx, tool, args, header...)
	if err != nil {
		s.t.Errorf("%s: %v", tool, err)
		return 0, ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Errorf("%s: %v", tool, err)
	}
	return resp.StatusCode, string(body)
}

func TestHTTP(t *testing.T) {
	s := openHTTP(t, []string{"RLMPROXY_HTTP_TOKENS=alice:0123456789abcdef-a,bob:0123456789abcdef-b"}, "--http", "127.0.0.1:0")
	alice, bob := []string{"Authorization", "Bearer 0123456789abcdef-a"}, []string{"Authorization", "Bearer 0123456789abcdef-b"}
	if status, body := s.call("s_x", "{}"); status != 401 {
		t.Errorf("without a token: %d %s", status, body)
	}
	if status, body := s.call("s_x", "{}", append(alice, "Origin", "http://evil.example")...); status != 403 {
		t.Errorf("a foreign page: %d %s", status, body)
	}
	if status, body := s.call("s_x", "{}", alice...); status != 200 || !strings.Contains(body, "s/x") {
		t.Errorf("%d %s", status, body)
	}
	_, cut := s.call("s_rows", "{}", alice...)
	_, id, ok := strings.Cut(cut, "cache_id=")
	if !ok {
		t.Fatalf("not cut: %s", cut)
	}
	args := fmt.Sprintf(`{"cache_id":%q}`, id[:16])
	if _, body := s.call("proxy_explore", args, alice...); strings.Contains(body, "unknown_cache_id") {
		t.Error(body)
	}
	if _, body := s.call("proxy_explore", args, bob...); !strings.Contains(body, "unknown_cache_id") {
		t.Error(body)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		resp, err := http.Get(strings.TrimSuffix(s.url, "/mcp") + path)
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: %v %v", path, resp, err)
		}
	}
	if strings.Contains(s.log(), "0123456789abcdef") {
		t.Errorf("a token in the log:\n%s", s.log())
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the end: %v\n%s", err, s.log())
	}
}

// TestMemoryHTTP: many agents with much each stay under the limit together.
func TestMemoryHTTP(t *testing.T) {
	if testing.Short() {
		t.Skip("gigabytes of results")
	}
	s := openHTTP(t, nil, "--http", "0")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			who := []string{"Rlmproxy-Agent", fmt.Sprint("agent ", i)}
			for n, kind := range []string{"rows", "prose", "blocks", "rows", "prose", "blocks"} {
				_, body := s.call("s_big", fmt.Sprintf(`{"mb":12,"kind":%q,"seed":%d}`, kind, 100*i+n), who...)
				_, id, ok := strings.Cut(body, "cache_id=")
				if !ok {
					t.Errorf("not kept: %.200s", body)
					return
				}
				for _, call := range worst[:5] {
					tool, args, _ := strings.Cut(fmt.Sprintf(call, id[:16]), " ")
					s.call(tool, args, who...)
				}
			}
		})
	}
	wg.Wait()
	long := `{"x":"` + strings.Repeat("x", 15<<20) + `"}`
	for range 16 {
		wg.Go(func() { s.call("s_x", long) })
	}
	wg.Wait()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " kB")
	peak, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("peak %d MB", peak<<10/1e6)
	if peak<<10 > 900e6 {
		t.Errorf("peak of %d bytes", peak<<10)
	}
}
