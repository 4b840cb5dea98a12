package stats

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"rlmproxy/middleware/observe"
	"rlmproxy/pipeline/tokens"
)

// some is a report of ten tools of three servers, with follow-ups and schemas.
func some() *Report {
	c := &counts{}
	at := time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC)
	for i, name := range []string{
		"filesystem_read_text_file", "filesystem_directory_tree", "filesystem_search_files", "github_search_issues", "github_get_pull_request",
		"github_list_commits", "memory_read_graph", "memory_search_nodes", "memory_open_nodes", "github_search_code",
	} {
		server, _, _ := strings.Cut(name, "_")
		for n := range 20 + i {
			o := &observe.Call{Begun: at, Took: time.Duration(n*i) * 10 * time.Millisecond, Method: "tools/call", Server: server, Name: name, Known: true, Agent: "alice", Outcome: observe.OK}
			if n == 1 {
				o.Outcome = observe.Error
			}
			c.called(o, 31_000-i*3000, 1100+i)
		}
	}
	c.called(&observe.Call{Begun: at, Method: "tools/call", Name: "proxy_search", Known: true, Agent: "alice", Outcome: observe.OK}, 0, 14_400)
	c.called(&observe.Call{Begun: at, Method: "tools/call", Name: "nonsense", Agent: "bob", Outcome: observe.Error}, 0, 40)
	c.listed(5814, at)
	return c.report()
}

// TestText: what an agent reads of statistics, with ten tools under 300 tokens.
func TestText(t *testing.T) {
	got := some().Digest(nil).Text()
	want := `saved 3749061 of 4040000 tokens (92 %) in 247 calls since 2026-11-20, net of 14440 for follow-ups and 5814 for schemas
by server: filesystem 1688635, github 1366349, memory 714331
tool: calls errors p50 p95 tokens-in tokens-out
filesystem_read_text_file: 20 1 <1ms <1ms 620000 22000
filesystem_directory_tree: 21 1 128ms 256ms 588000 23121
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("got %s\nwant %s…", got, want)
	}
	if n, _ := tokens.Count([]byte(got)); n >= 300 || strings.Count(got, "\n") != 12 {
		t.Errorf("%d tokens, want less than 300:\n%s", n, got)
	}
	r := some()
	for i := range 30 {
		r.Tools = append(r.Tools, Tool{Server: fmt.Sprint("s", i), Tool: "x\n\x1b[31m" + strings.Repeat("y", 1000), Sums: Sums{Calls: 1}})
	}
	got = r.Digest(nil).Text()
	if n := strings.Count(got, "\n"); n != 13 || !strings.HasSuffix(got, "\nand 30 more tools") || !strings.Contains(got, "and 23 more servers\n") || len(got) > 2000 {
		t.Errorf("not bounded: %s", got)
	}
	if got := (*Recorder)(nil).Report().Digest(nil).Text(); got != "no calls yet" {
		t.Error(got)
	}
}

// TestDigest: an agent gets nothing of others, and who may not use all only what it may use.
func TestDigest(t *testing.T) {
	all, err := json.Marshal(some().Digest(nil))
	for _, secret := range []string{"alice", "bob", "nonsense", "recent", "proxies"} {
		if err != nil || strings.Contains(string(all), secret) {
			t.Errorf("%s in %s, %v", secret, all, err)
		}
	}
	part := some().Digest(func(server, tool string) bool { return server == "memory" && tool != "memory_open_nodes" })
	text, err := json.Marshal(part)
	if err != nil || len(part.Tools) != 2 || part.Total.Calls != 53 || part.Total.Saved != part.Tools[0].Saved+part.Tools[1].Saved || part.Total.Schemas != 0 {
		t.Errorf("got %s, %v", text, err)
	}
	if strings.Contains(string(text), "null") || strings.Contains(part.Text(), "net of") || strings.Contains(part.Text(), "github") {
		t.Errorf("got %s\n%s", text, part.Text())
	}
}
