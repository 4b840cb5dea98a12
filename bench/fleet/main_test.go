// Package fleet measures replicas of the proxy with a store: how many calls they answer, what
// the store costs, and what an agent needs of each.
//
// It runs the built program over HTTP, and needs redis-server or valkey-server. The load, the
// replicas and the store share the machine's processors, so ratios say more than figures.
package fleet

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rlmproxy/e2e/replicas"
	"rlmproxy/middleware/rpc"
)

var binary string // the built program

// serverVar makes a process of the test binary the server behind the proxy.
const serverVar = "BENCH_FLEET_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverVar) != "" {
		serve()
		return
	}
	os.Exit(replicas.Main(m, &binary))
}

// once tells that nobody looks at the figures, only whether everything runs.
func once() bool { return flag.Lookup("test.benchtime").Value.String() == "1x" }

// serve is a server whose only tool answers with records of so many bytes, others for each
// call.
func serve() {
	conn := rpc.NewConn(os.Stdin, os.Stdout, rpc.ConnOptions{Server: true, Options: rpc.Options{
		Handle: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			switch method {
			case "initialize":
				return json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`), nil
			case "tools/list":
				return json.RawMessage(`{"tools":[{"name":"records","inputSchema":{"type":"object"}}]}`), nil
			case "tools/call":
				var p struct{ Arguments struct{ Bytes, Call int } }
				if err := json.Unmarshal(params, &p); err != nil {
					return nil, err
				}
				return json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": records(p.Arguments.Bytes, p.Arguments.Call)}}})
			}
			return json.RawMessage(`{}`), nil
		},
	}})
	<-conn.Done()
}

// records are JSON of n bytes, or one record more. Half of it are digits that do not compress.
func records(n, call int) string {
	var b strings.Builder
	b.Grow(n + 200)
	b.WriteByte('[')
	word := uint64(call+1) * 0x9E3779B97F4A7C15
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		word ^= word << 13
		word ^= word >> 7
		word ^= word << 17
		fmt.Fprintf(&b, `{"id":%d,"name":"item %016x","tags":["t%d","u"],"price":%d.25}`, i, word, i%97, word%1000)
	}
	b.WriteByte(']')
	return b.String()
}

// metricsToken is that of /metrics.
const metricsToken = "0123456789abcdef-metrics"

// start starts n replicas, without a store where that is said.
func start(tb testing.TB, n int, noStore bool, env ...string) *replicas.Fleet {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{"b": map[string]any{"command": self, "env": map[string]string{serverVar: "1"}, "prefix": ""}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "mcp.json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		tb.Fatal(err)
	}
	return replicas.Start(tb, replicas.Options{Binary: binary, N: n, NoStore: noStore,
		Env: append([]string{"RLMPROXY_LOG_LEVEL=info", "RLMPROXY_METRICS_TOKEN=" + metricsToken}, env...), Args: []string{"serve", "--config", path}})
}

// transport keeps a connection for each of many clients.
var transport = &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}
