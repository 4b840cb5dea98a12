package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream"
)

// TestHintsNeverRepeatAnAct: where a call may have changed something, no hint has the agent
// make it again. One that only reads can be.
func TestHintsNeverRepeatAnAct(t *testing.T) {
	const acts = "write is not declared read-only: another call would act again"
	for _, tt := range []struct{ name, query, read, write string }{
		{"expired", `{"cache_id":"ID"}`, `expired_cache_id: cache_id ID has expired: it was not read for 1 minute|call read {"n":"a\nb"} to get it back`,
			`expired_cache_id: cache_id ID has expired: it was not read for 1 minute; it was the result of write {"n":"a\nb"}|its tool is not declared read-only: another call would act again`},
		{"expired answer of a fresh call", `{"tool":"TOOL","jq":".,."}`, `expired_cache_id: cache_id ID has expired: it was not read for 1 minute|call proxy_filter {"tool":"read","jq":".,."} to get it back`,
			`expired_cache_id: cache_id ID has expired: it was not read for 1 minute; it was the result of proxy_filter {"tool":"write","jq":".,."}|its tool is not declared read-only: another call would act again`},
		{"too large to keep", ``, `call the tool again with narrower arguments]`, `too large to keep; another call would act again]`},
		{"too large to query", `{"tool":"TOOL"}`, `limit_memory: the result of read, 50,039 bytes, is too large to keep|call the tool with narrower arguments`, `limit_memory: the result of write, 50,039 bytes, is too large to keep|` + acts},
		{"timeout", ``, `upstream_timeout: read did not answer in time: timeout after 1m0s|ask for less, or have the operator raise the server's "timeout"`,
			`upstream_timeout: write did not answer in time: timeout after 1m0s|the operator can raise the server's "timeout"; check what the call did before you repeat it: ` + acts},
		{"timeout", `{"tool":"TOOL"}`, `upstream_timeout: read did not answer in time: timeout after 1m0s|ask for less, or have the operator raise the server's "timeout"`,
			`upstream_timeout: write did not answer in time: timeout after 1m0s|the operator can raise the server's "timeout"; check what the call did before you repeat it: ` + acts},
		{"lost", ``, `upstream_unavailable: server "s" ended while the call ran: killed|it is being restarted; try again in a moment`,
			`upstream_unavailable: server "s" ended while the call ran: killed|it is being restarted; check what the call did before you repeat it: ` + acts},
		{"bad answer", ``, `upstream_unavailable: server "s" sent a malformed answer|check what the call did before you repeat it`,
			`upstream_unavailable: server "s" sent a malformed answer|check what the call did before you repeat it: ` + acts},
		{"not reached", ``, `upstream_unavailable: server "s" is not available: no such file|the proxy restarts it; try again`, `upstream_unavailable: server "s" is not available: no such file|the proxy restarts it; try again`},
		{"too late to show", ``, `limit_time: the time limit passed before the call was done|narrow first, with fields, jq or offset and limit`,
			`limit_time: the time limit passed before the call was done|check what the call did before you repeat it: ` + acts},
		{"no such block", `{"tool":"TOOL","block":7}`, `bad_arguments: proxy_filter: block 7 has no text; these have: [0]|use "block":0; the result is kept: give "cache_id":"ID" in place of tool and arguments`,
			`bad_arguments: proxy_filter: block 7 has no text; these have: [0]|use "block":0; the result is kept: give "cache_id":"ID" in place of tool and arguments; ` + acts},
		{"bad program", `{"tool":"TOOL","jq":".[0] | error(\"no\")"}`, `bad_jq: jq: error: no|proxy_explore shows fields and types; the result is kept: give "cache_id":"ID" in place of tool and arguments`,
			`bad_jq: jq: error: no|proxy_explore shows fields and types; the result is kept: give "cache_id":"ID" in place of tool and arguments; ` + acts},
	} {
		for tool, want := range map[string]string{"read": tt.read, "write": tt.write} {
			t.Run(tt.name+" "+tool, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := server(nil, "read", "write")
					f.tools[1].Raw = json.RawMessage(`{"name":"write","inputSchema":{"type":"object"}}`)
					opts := cache.Options{TTL: time.Minute}
					f.call = func(ctx context.Context, c toolCall) (json.RawMessage, error) {
						switch {
						case tt.name == "timeout":
							<-ctx.Done()
							return nil, ctx.Err()
						case tt.name == "lost":
							return nil, &upstream.UnavailableError{Server: "s", Lost: true, Err: errors.New("killed")}
						case tt.name == "bad answer":
							return nil, &upstream.UnavailableError{Server: "s", Lost: true, Err: rpc.ErrBadAnswer}
						case tt.name == "not reached":
							return nil, &upstream.UnavailableError{Server: "s", Err: errors.New("no such file")}
						case tt.name == "too late to show":
							return nil, context.DeadlineExceeded
						case strings.HasPrefix(tt.name, "too large"):
							return textResult(strings.Repeat("words and ", 5000)), nil
						}
						return textResult(records(500)), nil
					}
					if strings.HasPrefix(tt.name, "too large") {
						opts.MaxBytesPerAgent = 10_000
					}
					store, err := cache.New(opts)
					if err != nil {
						t.Fatal(err)
					}
					defer store.Close()
					_, conn := dial(t, Options{Store: store, FreshCalls: FreshAll, NoHealing: true, CallTimeout: time.Minute, Upstreams: []Upstream{{Name: "s", Conn: f}}})
					got, id := "", ""
					take := func(raw string) {
						d := decode(t, raw)
						got, id = d.Content[0].Text, cmp.Or(string(d.Meta.Result.CacheID), id)
					}
					if tt.query == "" || strings.Contains(tt.query, "ID") {
						take(call(t, conn, tool, `{"n":"a\nb"}`))
					}
					if tt.query != "" {
						query := strings.ReplaceAll(tt.query, "TOOL", tool)
						if strings.HasPrefix(tt.name, "expired answer") {
							take(call(t, conn, "proxy_filter", query))
							query = `{"cache_id":"ID"}`
						}
						if strings.HasPrefix(tt.name, "expired") {
							time.Sleep(2 * time.Minute)
						}
						take(call(t, conn, "proxy_filter", strings.ReplaceAll(query, "ID", id)))
					}
					got = regexp.MustCompile(`\b[a-z2-7]{16}\b`).ReplaceAllString(strings.ReplaceAll(got, "\nhint: ", "|"), "ID")
					if tt.name == "too large to keep" {
						got, _, _ = strings.Cut(got, "\n")
						got = got[max(0, len(got)-len(want)):]
					}
					if got != want {
						t.Errorf("got  %s\nwant %s", got, want)
					}
				})
			})
		}
	}
}
