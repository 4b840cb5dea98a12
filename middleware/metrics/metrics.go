// Package metrics counts calls for Prometheus.
//
//	observe.Call ─► Metrics.Called ─► counters, histograms ─┐
//	Source: what is held and connected now ────────────────────┴─► Handler ─► /metrics
//
// Labels are servers, tools and codes. There are so many tools that have labels of
// their own; the rest are "other". No label is an agent, or what an agent wrote.
package metrics

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rlmproxy/middleware/observe"
)

// maxTools bounds the tools, of all servers, that have labels of their own: each has
// some twenty series. Ten servers have 146 tools, as people use them.
const maxTools = 500

// other is the label of what has none of its own.
const other = "other"

// seconds are the bounds of the histograms: from what the proxy itself takes to
// callTimeout.
var seconds = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// Metrics are an observer of calls. They are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	calls, errors, tokensIn, tokensOut *prometheus.CounterVec
	took                               *prometheus.HistogramVec
	queued                             prometheus.Histogram

	mu    sync.Mutex // guards tools
	tools map[[2]string]bool
}

var _ observe.Observer = (*Metrics)(nil)

// New returns metrics of the calls that they are told of, of the Go runtime and the
// process. Version is a label of one of them, and so is the name of the replica, unless that
// is "".
func New(version, replica string) *Metrics {
	tool := []string{"server", "tool"}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		calls:     counter("rlmproxy_calls_total", "Calls that have ended.", "server", "tool", "outcome"),
		errors:    counter("rlmproxy_call_errors_total", "Calls that failed, by the code of the error.", "server", "code"),
		tokensIn:  counter("rlmproxy_tokens_in_total", "Tokens that servers sent.", tool...),
		tokensOut: counter("rlmproxy_tokens_out_total", "Tokens that agents were given to read.", tool...),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rlmproxy_call_seconds", Help: "How long calls took, without cancelled calls.", Buckets: seconds,
		}, tool),
		queued: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "rlmproxy_call_queue_seconds", Help: "How long calls waited for their turn.", Buckets: seconds,
		}),
		tools: map[[2]string]bool{},
	}
	about := prometheus.Labels{"version": version}
	if replica != "" {
		about["replica"] = replica
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "rlmproxy_build_info", Help: "The running version of rlmproxy, and its name among replicas.", ConstLabels: about,
	})
	build.Set(1)
	m.registry.MustRegister(m.calls, m.errors, m.tokensIn, m.tokensOut, m.took, m.queued, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Called implements [observe.Observer].
func (m *Metrics) Called(c *observe.Call) {
	server, tool := m.labels(c)
	m.calls.WithLabelValues(server, tool, string(c.Outcome)).Inc()
	if c.Outcome == observe.Error {
		m.errors.WithLabelValues(server, codeLabel(c.Error)).Inc()
	}
	m.tokensIn.WithLabelValues(server, tool).Add(float64(c.TokensIn))
	m.tokensOut.WithLabelValues(server, tool).Add(float64(c.TokensOut))
	if c.Outcome != observe.Cancelled {
		m.took.WithLabelValues(server, tool).Observe(c.Took.Seconds())
	}
	if c.For == 0 {
		m.queued.Observe(c.Queued.Seconds())
	}
}

// labels are the server and the tool of a call, see [observe.Call.Label].
func (m *Metrics) labels(c *observe.Call) (server, tool string) {
	server, tool = c.Label()
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]string{server, tool}
	if !m.tools[key] {
		if len(m.tools) >= maxTools {
			return server, other
		}
		m.tools[key] = true
	}
	return server, tool
}

// codeLabel is a code of ours, or the number of an error that JSON-RPC or MCP knows;
// servers make up others.
func codeLabel(code string) string {
	if !strings.HasPrefix(code, "-") && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") == "" && code != "" {
		return code
	}
	switch code {
	case "-32700", "-32600", "-32601", "-32602", "-32603", "-32000", "-32001", "-32002", "-32042":
		return code
	}
	return other
}

// Handler answers with all metrics. Whoever may see them is for the caller to say.
func (m *Metrics) Handler() http.Handler {
	h := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case r.URL.Path != "/metrics":
			http.NotFound(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		default:
			h.ServeHTTP(w, r)
		}
	})
}
