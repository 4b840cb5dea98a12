package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A soakCall is one call of a soak and what became of it.
type soakCall struct {
	agent, tool string
	args        string
	fresh       string // the server's tool that it calls, if it is a proxy_* call
	leave       bool   // its client goes away
	answered    bool
	failed      bool   // the answer is an error
	text        string // of the answer
}

// soakCalls draws n calls, the kth of which has k somewhere in its arguments.
func soakCalls(n int, agents []string, ids map[string]string) []*soakCall {
	r := rand.New(rand.NewPCG(1, 2))
	faults := []string{
		"x", "echo", "echo", "echo", "rows", "err", "latin1", "banner", "twice", "another", "refuse", "neither", "scalar",
		"no_such", "deep", "child",
	}
	var calls []*soakCall
	for k := range n {
		c := &soakCall{agent: agents[r.IntN(len(agents))], args: fmt.Sprintf(`{"k":%d}`, k)}
		server := []string{"a", "b", "c"}[r.IntN(3)]
		switch p := r.IntN(100); {
		case p < 1:
			c.tool = server + "_hang"
		case p < 2:
			c.tool = "c_crash"
		case p < 10:
			c.tool, c.leave = server+"_hang", true
		case p < 20:
			c.tool, c.args = "proxy_filter", fmt.Sprintf(`{"cache_id":%q,"jq":"length + 0 * %d"}`, ids[c.agent], k)
		case p < 30:
			c.fresh = server + "_echo"
			c.tool, c.args = "proxy_filter", fmt.Sprintf(`{"tool":%q,"arguments":{"k":%d}}`, c.fresh, k)
		default:
			c.tool = server + "_" + faults[r.IntN(len(faults))]
		}
		calls = append(calls, c)
	}
	return calls
}

// make makes the call.
func (c *soakCall) make(ctx context.Context, s *site) error {
	if c.leave {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
	}
	resp, err := s.send(ctx, c.tool, c.args, authorized(c.agent)...)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	switch {
	case c.leave && err != nil:
		return nil
	case err != nil:
		return err
	}
	if i := bytes.Index(body, []byte("data: ")); i >= 0 {
		body = body[i+len("data: "):]
	}
	var m struct {
		Error  json.RawMessage
		Result reply
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return fmt.Errorf("%.200s: %w", body, err)
	}
	c.answered, c.failed = true, m.Error != nil || m.Result.IsError
	if len(m.Result.Content) > 0 {
		c.text = m.Result.Content[0].Text
	}
	return nil
}

// An auditLine is what the soak reads of a line of the audit log.
type auditLine struct {
	ID, For, Agent, Tool, Outcome string
	Arguments                     json.RawMessage
}

// auditLines returns the lines by the number that a call has in its arguments.
func auditLines(t *testing.T, file string) map[int][]auditLine {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	number := regexp.MustCompile(`"k":\s*(\d+)|0 \* (\d+)`)
	lines := map[int][]auditLine{}
	for in := bufio.NewScanner(f); in.Scan(); {
		var l auditLine
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", in.Bytes(), err)
		}
		if m := number.FindSubmatch(l.Arguments); m != nil {
			k, _ := strconv.Atoi(string(m[1]) + string(m[2]))
			lines[k] = append(lines[k], l)
		}
	}
	return lines
}

// TestSoak: of many calls of several agents, at servers with every kind of fault, none is
// lost, doubled or crossed, each is in the audit log once, and SIGKILL of the proxy leaves
// none of its processes.
func TestSoak(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	dir := t.TempDir()
	audit := filepath.Join(dir, "audit.jsonl")
	agents := []string{"ann", "bob", "cid", "dan", "eve", "fay"}
	var tokens []string
	for _, agent := range agents {
		tokens = append(tokens, agent+":"+tokenOf(agent))
	}
	s := &site{t: t, cmd: exec.Command(binary, "serve", "--http", "127.0.0.1:0", "--config", configure(t, map[string][]string{"a": nil, "b": nil, "c": nil}),
		"--audit-file", audit, "--audit-content", "arguments", "--call-timeout", "1s", "--fresh-calls", "all")}
	s.cmd.Env = append(os.Environ(), "RLMPROXY_HTTP_TOKENS="+strings.Join(tokens, ","))
	s.start()
	for _, tool := range []string{"a_x", "b_x", "c_x"} { // until it is known which revision they speak
		for until := time.Now().Add(30 * time.Second); time.Now().Before(until); {
			if _, body := s.callAs("ann", tool, "{}"); strings.Contains(body, "/x") {
				break
			}
		}
	}
	ids := map[string]string{}
	for _, agent := range agents {
		_, cut := s.callAs(agent, "a_rows", "{}")
		_, id, ok := strings.Cut(cut, "cache_id=")
		if !ok {
			t.Fatalf("not cut: %s", cut)
		}
		ids[agent] = id[:16]
	}
	calls := soakCalls(1500, agents, ids)
	queue := make(chan *soakCall)
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			for c := range queue {
				if err := c.make(t.Context(), s); err != nil {
					t.Errorf("%s %s: %v", c.tool, c.args, err)
				}
			}
		})
	}
	for _, c := range calls {
		queue <- c
	}
	close(queue)
	wg.Wait()
	pids := descendants(s.cmd.Process.Pid)
	if len(pids) < 6 { // three servers and their children
		t.Errorf("%d processes run below the proxy", len(pids))
	}
	checkSoak(t, calls, auditLines(t, audit))
	s.cmd.Process.Kill()
	s.cmd.Wait()
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until) && anyAlive(pids); {
		time.Sleep(10 * time.Millisecond)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

func anyAlive(pids []int) bool {
	for _, pid := range pids {
		if alive(pid) {
			return true
		}
	}
	return false
}

// checkSoak compares what clients got with the audit log.
func checkSoak(t *testing.T, calls []*soakCall, lines map[int][]auditLine) {
	t.Helper()
	outcomes := map[string]int{}
	for k, c := range calls {
		var own, behind []auditLine
		for _, l := range lines[k] {
			if l.For == "" {
				own = append(own, l)
			} else {
				behind = append(behind, l)
			}
		}
		if c.leave && len(own) == 0 { // its client may have gone before the proxy read it
			continue
		}
		if len(own) != 1 || len(behind) > 1 || c.fresh == "" && len(behind) > 0 {
			t.Errorf("call %d, %s %s: %d lines in the log, %d behind it", k, c.tool, c.args, len(own), len(behind))
			continue
		}
		l := own[0]
		outcomes[l.Outcome]++
		if l.Tool != c.tool || !strings.HasSuffix(l.Agent, ":"+c.agent) {
			t.Errorf("call %d of %s, %s: logged as %+v", k, c.agent, c.tool, l)
		}
		if c.answered && l.Outcome != map[bool]string{true: "error", false: "ok"}[c.failed] {
			t.Errorf("call %d, %s: %s in the log, failed %v: %.200s", k, c.tool, l.Outcome, c.failed, c.text)
		}
		if !c.leave && !c.answered {
			t.Errorf("call %d, %s: no answer", k, c.tool)
		}
		if strings.HasSuffix(c.tool, "_echo") && !c.failed && c.text != c.args {
			t.Errorf("call %d got the answer %.100s", k, c.text)
		}
		if len(behind) == 1 && (behind[0].Tool != c.fresh || behind[0].For != l.ID) {
			t.Errorf("call %d made %+v", k, behind[0])
		}
	}
	t.Log(outcomes)
	for _, outcome := range []string{"ok", "error", "cancelled"} {
		if outcomes[outcome] == 0 {
			t.Errorf("no call was %s", outcome)
		}
	}
}

// descendants are the processes below a process.
func descendants(pid int) (all []int) {
	parents := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := bytes.Cut(stat, []byte(") "))
		fields := bytes.Fields(rest)
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if len(fields) > 1 {
			parent, _ := strconv.Atoi(string(fields[1]))
			parents[parent] = append(parents[parent], child)
		}
	}
	for todo := parents[pid]; len(todo) > 0; todo = todo[1:] {
		all = append(all, todo[0])
		todo = append(todo, parents[todo[0]]...)
	}
	return all
}
