package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A strict is a running testdata/client.mjs: the official TypeScript SDK, which
// refuses results that break a tool's outputSchema.
type strict struct {
	t       *testing.T
	in      *json.Encoder
	out     chan strictReply
	tools   []string
	schemas []string // the tools that came with an outputSchema
}

type strictReply struct {
	Result         *reply
	Error          string
	Tools, Schemas []string
}

// connect starts a client of a command or of a URL.
func connect(t *testing.T, target ...string) *strict {
	t.Helper()
	module(t, "@modelcontextprotocol", "sdk")
	cmd := exec.Command(node22(t), append([]string{filepath.Join("testdata", "client.mjs")}, target...)...)
	var log bytes.Buffer
	cmd.Stderr = &log // read when the command has ended
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &strict{t: t, in: json.NewEncoder(in), out: make(chan strictReply)}
	go func() {
		defer close(s.out)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var sr strictReply
			if err := json.Unmarshal(line, &sr); err != nil {
				sr.Error = err.Error()
			}
			select {
			case s.out <- sr:
			case <-time.After(2 * time.Minute):
				return
			}
		}
	}()
	t.Cleanup(func() {
		in.Close()
		for sr := range s.out {
			t.Errorf("a reply that nobody asked for: %+v", sr)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client: %v", err)
		}
		if t.Failed() {
			t.Logf("stderr of %v:\n%s", target, tail(log.String(), 10_000))
		}
	})
	first := s.next()
	if first.Error != "" || len(first.Tools) == 0 {
		t.Fatalf("tools/list: %+v", first)
	}
	s.tools, s.schemas = first.Tools, first.Schemas
	return s
}

func (s *strict) next() strictReply {
	s.t.Helper()
	select {
	case sr, ok := <-s.out:
		if !ok {
			s.t.Fatal("the client ended")
		}
		return sr
	case <-time.After(90 * time.Second):
		s.t.Fatal("the client does not answer")
	}
	return strictReply{}
}

// try calls a tool; args may be a format.
func (s *strict) try(tool, args string, a ...any) strictReply {
	s.t.Helper()
	if err := s.in.Encode(map[string]any{"name": tool, "arguments": json.RawMessage(fmt.Sprintf(args, a...))}); err != nil {
		s.t.Fatal(err)
	}
	return s.next()
}

// accepted calls a tool and fails the test if the SDK refuses the reply.
func (s *strict) accepted(tool, args string, a ...any) *reply {
	s.t.Helper()
	sr := s.try(tool, args, a...)
	if sr.Error != "" || sr.Result == nil || len(sr.Result.Content) == 0 {
		s.t.Fatalf("%s: %+v", tool, sr)
	}
	return sr.Result
}

// small calls a tool whose result is passed on as it is.
func (s *strict) small(tool, want, args string, a ...any) {
	s.t.Helper()
	r := s.accepted(tool, args, a...)
	if r.IsError || r.Meta.Result.CacheID != "" || !strings.Contains(r.Content[0].Text, want) {
		s.t.Errorf("%s: %.600v, want %s", tool, r, want)
	}
}

// cut calls a tool whose result is cut, looks into it in each of the ways and
// returns its cache ID.
func (s *strict) cut(pattern, tool, args string, a ...any) (id string) {
	s.t.Helper()
	r := s.accepted(tool, args, a...)
	id = r.Meta.Result.CacheID
	if r.IsError || id == "" || !strings.HasPrefix(r.Content[0].Text, "[cut: ") {
		s.t.Fatalf("%s: %.600v, want it cut", tool, r)
	}
	for _, tt := range []struct{ tool, args string }{
		{"proxy_explore", `{"cache_id":%q}`},
		{"proxy_search", `{"cache_id":%q,"pattern":"` + pattern + `","mode":"regex","max_results":3}`},
		{"proxy_search", `{"cache_id":%q,"pattern":"` + pattern + `","mode":"bm25"}`},
		{"proxy_search", `{"cache_id":%q,"pattern":"` + pattern + `","mode":"fuzzy"}`},
		{"proxy_filter", `{"cache_id":%q,"jq":"[.. | strings] | length > 100"}`},
		{"proxy_filter", `{"cache_id":%q,"jq":"."}`},
	} {
		if r := s.accepted(tt.tool, tt.args, id); r.IsError || len(r.Content[0].Text) < 4 {
			s.t.Errorf("%s %s: %.600v", tt.tool, tt.args, r)
		}
	}
	if r := s.accepted("proxy_filter", `{"cache_id":%q,"jq":"]"}`, id); !r.IsError || r.Meta.Error.Code != "bad_jq" {
		s.t.Errorf("not a program: %.600v", r)
	}
	return id
}

// direct are the tools of a server that declare an outputSchema.
func direct(t *testing.T, command []string) []string {
	t.Helper()
	s := connect(t, command...)
	if len(s.schemas) == 0 {
		t.Fatalf("%v declares no outputSchema: there is nothing to break", command)
	}
	return s.schemas
}

// wrapped starts a client of the proxy in front of a server.
func wrapped(t *testing.T, command []string) *strict {
	t.Helper()
	s := connect(t, append([]string{binary, "wrap", "--"}, command...)...)
	for _, tool := range direct(t, command) {
		if !slices.Contains(s.tools, tool) {
			t.Errorf("no %s in %v", tool, s.tools)
		}
	}
	return s
}

// wholly starts a client of the proxy told to pass a server's results on whole,
// for which every schema holds.
func wholly(t *testing.T, command []string) *strict {
	t.Helper()
	entry := map[string]any{"command": command[0], "args": command[1:], "shape": false, "prefix": "", "inheritEnv": true}
	b, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": entry}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s := connect(t, binary, "serve", "--config", path)
	if want := direct(t, command); !slices.Equal(s.schemas, want) {
		t.Errorf("tools with an outputSchema: %v\ndirectly %v", s.schemas, want)
	}
	return s
}
