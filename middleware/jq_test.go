package middleware

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"rlmproxy/internal/busytest"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/script"
	"rlmproxy/pipeline/worker"
)

// workerVar makes the test binary a worker of this role.
const workerVar = "MIDDLEWARE_TEST_WORKER"

func TestMain(m *testing.M) {
	switch os.Getenv(workerVar) {
	case "jq":
		os.Exit(jq.Worker(os.Stdin, os.Stdout))
	case "script":
		os.Exit(script.Worker(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// workers is a pool that ends with t.
func workers(t *testing.T) *jq.Pool {
	t.Helper()
	p := jq.NewPool(worker.Options{Command: testWorker("jq")})
	t.Cleanup(p.Close)
	return p
}

// testWorker is a command that is a worker of this role.
func testWorker(role string) func() (*exec.Cmd, error) {
	return func() (*exec.Cmd, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(self)
		cmd.Env = []string{workerVar + "=" + role, "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}
		return cmd, nil
	}
}

// TestJQAbuse: programs that would harm the proxy if they ran in it end with
// their code within the deadline and 500 ms, and another agent, who works
// meanwhile, notices nothing.
func TestJQAbuse(t *testing.T) {
	const deadline = time.Second
	texts := map[string]string{"rows": records(3000), "text": strings.Repeat("ab ", 10<<20/3)}
	answers := map[string]string{}
	for name, s := range texts {
		answers[name] = string(textResult(s))
	}
	s, abuser := dial(t, Options{
		Upstreams:    []Upstream{{Name: "s", Prefix: "s", Conn: server(answers, "rows", "text")}},
		QueryTimeout: deadline,
		JQ:           workers(t),
	})
	other := connect(t, s)
	ids := map[string]string{}
	for _, tool := range []string{"rows", "text"} {
		ids[tool] = string(decode(t, call(t, abuser, "s_"+tool, "{}")).Meta.Result.CacheID)
	}
	otherID := string(decode(t, call(t, other, "s_rows", "{}")).Meta.Result.CacheID)

	clock := busytest.NewClock(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var worst time.Duration
	calls := 0
	wg.Go(func() {
		for _, query := range cycle([]struct{ tool, args, want string }{
			{"proxy_filter", `{"cache_id":"` + otherID + `","jq":"length"}`, "3000"},
			{"proxy_filter", `{"cache_id":"` + otherID + `","jq":"map(.big)|unique"}`, "[9007199254740993]"},
			{"proxy_search", `{"cache_id":"` + otherID + `","pattern":"row 2999"}`, "1 match"},
			{"s_tiny", `{}`, ""},
		}) {
			select {
			case <-stop:
				return
			default:
			}
			begun := clock.Now()
			raw, err := other.Call(t.Context(), "tools/call", json.RawMessage(fmt.Sprintf(`{"name":%q,"arguments":%s}`, query.tool, query.args)))
			worst = max(worst, clock.Since(begun))
			calls++
			if err != nil || !strings.Contains(string(raw), query.want) {
				t.Errorf("the other agent's %s: %.300s, %v", query.args, raw, err)
			}
		}
	})
	for _, tt := range []struct{ on, program, codes string }{
		// What is done once to a result, before its first query, comes first.
		{"rows", "length", ""},
		{"text", "length", ""},
		{"rows", "del(.[].user.login) | length", ""},
		{"rows", "delpaths([paths]) | length", ""},
		{"rows", strings.Repeat("[", 1_000_000), "bad_jq"},
		{"rows", strings.Repeat("(", 4_900), "bad_jq"},
		{"rows", "reduce range(3e6) as $i (null; [.]) | tojson", "limit_memory limit_time"},
		{"rows", "def f: [.] | f; f", "limit_memory limit_time"},
		{"rows", "reduce range(60) as $i (.; . + .)", "limit_memory limit_time"},
		{"rows", "[range(1e9)] | length", "limit_memory limit_time"},
		{"rows", "last(repeat(.))", "limit_time"},
		{"rows", `"a" * 1e9`, "limit_memory limit_time"},
		{"rows", "reduce range(40) as $i (9007199254740993; . * .) | tostring | length", "limit_memory limit_time"},
		{"text", `[match("a"; "g")] | length`, "limit_memory limit_time"},
		{"text", `. * 20 | gsub("a"; "b") | length`, "limit_memory limit_time"},
		{"text", `. * 60 | test("(.*a){9}c$")`, "limit_memory limit_time"},
		{"rows", "length", ""},
		{"text", "length", ""},
	} {
		args, err := json.Marshal(map[string]string{"cache_id": ids[tt.on], "jq": tt.program})
		if err != nil {
			t.Fatal(err)
		}
		begun := clock.Now()
		d := decode(t, call(t, abuser, "proxy_filter", string(args)))
		took := clock.Since(begun)
		for n := 0; n < 3 && tt.codes == "" && d.Meta.Error["code"] == "limit_time"; n++ { // on a busy machine
			d = decode(t, call(t, abuser, "proxy_filter", string(args)))
		}
		if code := d.Meta.Error["code"]; code == "" && tt.codes != "" || !strings.Contains(tt.codes, code) {
			t.Errorf("%.60s: %q: %.200s; want %q", tt.program, code, d.Content[0].Text, tt.codes)
		}
		if tt.codes != "" && took > deadline+500*time.Millisecond {
			t.Errorf("%.60s: took %v", tt.program, took)
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("the other agent: %d calls, the longest %v", calls, worst)
	if worst > deadline {
		t.Errorf("the other agent waited %v", worst)
	}
}

// cycle is s over and over.
func cycle[T any](s []T) func(yield func(int, T) bool) {
	return func(yield func(int, T) bool) {
		for i := 0; ; i++ {
			if !yield(i, s[i%len(s)]) {
				return
			}
		}
	}
}

// TestJQPool: the other kinds of documents, and policies, through the pool.
func TestJQPool(t *testing.T) {
	const csv = "id,name\n1,a\n2,b\n3,c\n"
	_, conn := dial(t, Options{
		Upstreams: []Upstream{{Name: "s", TrustHints: true, Prefix: "s", Conn: server(map[string]string{
			"csv": string(textResult(csv)), "text": string(textResult("one\nerror: two")), "rows": string(textResult(records(3000))),
			"lines": string(textResult("{\"a\":1}\n{\"a\":2}\n")), "entered": string(textResult(`"{\"a\":[1,2]}"`)),
		}, "csv", "text", "rows", "lines", "entered"), Tools: map[string]Policy{"rows": {JQ: ".[:2] | map(.id)"}}}},
		JQ: workers(t),
	})
	for range 2 { // the second time from a tree that is kept
		for _, tt := range []struct{ tool, program, want string }{
			{"csv", "map(.id) | add", "6"},
			{"text", `split("\n") | map(select(test("error")))`, `["error: two"]`},
			{"lines", "map(.a)", "[1,2]"},
			{"entered", ".a[1]", "2"},
			{"rows", ".[2999].big", "9007199254740993"},
		} {
			args, err := json.Marshal(map[string]any{"tool": "s_" + tt.tool, "arguments": map[string]any{}, "jq": tt.program})
			if err != nil {
				t.Fatal(err)
			}
			if got := text(t, conn, "proxy_filter", string(args)); !strings.HasSuffix(got, "]\n"+tt.want) {
				t.Errorf("%s %s: %s", tt.tool, tt.program, got)
			}
		}
	}
	if got := text(t, conn, "s_rows", "{}"); !strings.HasSuffix(got, "chosen by the operator · cache_id="+got[strings.LastIndex(got, "=")+1:]) || !strings.Contains(got, "[0,1]") {
		t.Errorf("policy: %.300s", got)
	}
}
