package traces

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"rlmproxy/middleware/observe"
)

func TestWanted(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		more        string // another variable that is set to on
		want, wrong bool
	}{
		{name: "NONE"},
		{name: "OTEL_TRACES_EXPORTER", value: "otlp", want: true},
		{name: "OTEL_TRACES_EXPORTER", value: "none", more: "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{name: "OTEL_TRACES_EXPORTER", value: "console", wrong: true},
		{name: "OTEL_EXPORTER_OTLP_ENDPOINT", value: "http://x:4318", want: true},
		{name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", value: "http://x:4318", want: true},
		{name: "OTEL_EXPORTER_OTLP_PROTOCOL", value: "grpc"},
		{name: "OTEL_EXPORTER_OTLP_PROTOCOL", value: "grpc", more: "OTEL_EXPORTER_OTLP_ENDPOINT", wrong: true},
		{name: "OTEL_EXPORTER_OTLP_PROTOCOL", value: "http/protobuf", more: "OTEL_EXPORTER_OTLP_ENDPOINT", want: true},
		{name: "OTEL_SDK_DISABLED", value: "true", more: "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{name: "OTEL_SERVICE_NAME", value: "x"},
	} {
		got, err := Wanted(func(name string) string {
			return map[string]string{tt.name: tt.value, tt.more: "on"}[name]
		})
		if got != tt.want || (err != nil) != tt.wrong {
			t.Errorf("%s=%s %s: %v, %v", tt.name, tt.value, tt.more, got, err)
		}
	}
}

// TestSpans: names, kinds, parents and attributes.
func TestSpans(t *testing.T) {
	var kept tracetest.InMemoryExporter
	tr, err := with(t.Context(), "v1", sdktrace.WithSyncer(&kept))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close(time.Second)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	begun := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	call := observe.Call{Method: "tools/call", Name: "proxy_filter", Known: true, Begun: begun, Took: time.Second, Agent: "ann", Outcome: observe.OK, TokensOut: 3}
	s := tr.Begin(&call, observe.TraceContext{Parent: parent, State: "x=y"})
	at := s.Context()
	if at.State != "x=y" || at.Parent[:36] != parent[:36] || at.Parent == parent {
		t.Errorf("the server is told %+v", at)
	}
	fresh := observe.Call{For: 1, Method: "tools/call", Name: "fs_get\xff", Known: true, Server: "fs", Begun: begun, Outcome: observe.Error, Error: "upstream_timeout"}
	child := tr.Begin(&fresh, at)
	child.End(&fresh)
	s.End(&call)
	unknown := observe.Call{Method: "tools/call", Name: "made up", Begun: begun, Outcome: observe.Error, Error: "unknown_tool"}
	tr.Begin(&unknown, observe.TraceContext{Parent: "nonsense", State: "nonsense"}).End(&unknown)

	type span struct {
		name, parent, status string
		kind                 trace.SpanKind
		took                 time.Duration
		attributes           map[string]string
	}
	var got []span
	for _, s := range kept.GetSpans() {
		one := span{s.Name, "", s.Status.Description, s.SpanKind, s.EndTime.Sub(s.StartTime), map[string]string{}}
		if s.Parent.IsValid() {
			one.parent = s.Parent.SpanID().String()
		}
		for _, a := range s.Attributes {
			if v := a.Value.String(); v != "0" {
				one.attributes[string(a.Key)] = v
			}
		}
		got = append(got, one)
	}
	tool := func(name, outcome string, more ...string) map[string]string {
		m := map[string]string{"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "rlmproxy.outcome": outcome}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	want := []span{
		{"tools/call fs_get?", at.Parent[36:52], "upstream_timeout", trace.SpanKindClient, 0, tool("fs_get?", "error", "error.type", "upstream_timeout", "rlmproxy.server", "fs")},
		{"tools/call proxy_filter", "b7ad6b7169203331", "", trace.SpanKindServer, time.Second, tool("proxy_filter", "ok", "rlmproxy.agent", "ann", "rlmproxy.tokens_out", "3")},
		{"tools/call", "", "unknown_tool", trace.SpanKindServer, 0, tool("made up", "error", "error.type", "unknown_tool")},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestExport: spans reach the collector that the environment names, and nothing is left.
func TestExport(t *testing.T) {
	before := runtime.NumGoroutine()
	var mu sync.Mutex
	var got []byte
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		b, _ := io.ReadAll(body)
		mu.Lock()
		defer mu.Unlock()
		got = append(append(got, r.URL.Path+" "...), b...)
	}))
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_SERVICE_NAME", "our-proxy")
	tr, err := New(t.Context(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	c := observe.Call{Method: "tools/call", Name: "fs_get", Known: true, Begun: time.Now()}
	tr.Begin(&c, observe.TraceContext{}).End(&c)
	if err := tr.Close(5 * time.Second); err != nil {
		t.Error(err)
	}
	collector.Close()
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"/v1/traces ", "our-proxy", "tools/call fs_get"} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}
