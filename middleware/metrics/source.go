package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"rlmproxy/cache"
	"rlmproxy/fleet"
	"rlmproxy/middleware"
)

// A Source is where it is looked, each time that metrics are asked for, what is going on.
// All fields but Lost and Store are required.
type Source struct {
	Cache func() cache.Stats
	Load  func() middleware.Load
	// States are those in which a server can be, and Servers those in which each is.
	States  []string
	Servers func() map[string]string
	// Redactions are the secrets that were found in what servers sent.
	Redactions func() map[middleware.Redacted]int64
	// Lost is how many lines of the audit log were lost. Nil: there is none.
	Lost func() int
	// Store is what was asked of the store that replicas share. Nil: there is none.
	Store func() fleet.Figures
}

// Watch adds metrics of a source. It is called once.
func (m *Metrics) Watch(s Source) { m.registry.MustRegister(&watcher{s}) }

// A watcher collects what a source has now.
type watcher struct{ Source }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("rlmproxy_"+name, help, labels, nil)
}

var (
	cacheEntries = desc("cache_entries", "Results in the cache.")
	cacheBytes   = desc("cache_bytes", "Bytes of results in the cache.")
	cacheAgents  = desc("cache_agents", "Agents with results in the cache.")
	cacheReads   = desc("cache_reads_total", "Reads of cached results: hit, gone (expired or evicted), unknown.", "result")
	cacheRemoved = desc("cache_removed_total", "Results that have left the cache: expired, evicted.", "reason")
	sessions     = desc("sessions", "Clients that are connected.")
	agents       = desc("agents", "Agents that are connected.")
	callsNow     = desc("calls_running", "Requests that wait for an answer.")
	streamsNow   = desc("streams", "Streams of changes that are open.")
	heldBytes    = desc("held_bytes", "Bytes held for agents beside cached results: requests, unread answers, subscriptions.")
	upstreams    = desc("upstream_state", "1 for the state that a server is in.", "server", "state")
	redactions   = desc("redactions_total", "Secrets found in what servers sent; masked is false where they are only reported.", "server", "rule", "masked")
	auditLost    = desc("audit_lost_total", "Lines of the audit log that could not be written.")
	storeUp      = desc("store_up", "1 while the store that replicas share answers, else 0.")
	storeOps     = desc("store_operations_total", "Operations on the store that replicas share, failed ones too.")
	storeFailed  = desc("store_failures_total", "Operations on the store that replicas share that failed.")
	storeSeconds = desc("store_operation_seconds_total", "Time that operations on the store that replicas share took, all together.")
)

// Describe implements [prometheus.Collector].
func (w *watcher) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cacheEntries, cacheBytes, cacheAgents, cacheReads, cacheRemoved, sessions, agents, callsNow, streamsNow, heldBytes, upstreams, redactions, auditLost,
		storeUp, storeOps, storeFailed, storeSeconds} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (w *watcher) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	counter := func(d *prometheus.Desc, n int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	kept := w.Cache()
	gauge(cacheEntries, int64(kept.Entries))
	gauge(cacheBytes, kept.Bytes)
	gauge(cacheAgents, int64(kept.Agents))
	counter(cacheReads, kept.Hits, "hit")
	counter(cacheReads, kept.Gone, "gone")
	counter(cacheReads, kept.Unknown, "unknown")
	counter(cacheRemoved, kept.Expired, "expired")
	counter(cacheRemoved, kept.Evicted, "evicted")
	load := w.Load()
	gauge(sessions, int64(load.Sessions))
	gauge(agents, int64(load.Agents))
	gauge(callsNow, int64(load.Calls))
	gauge(streamsNow, int64(load.Streams))
	gauge(heldBytes, load.Held)
	for server, now := range w.Servers() {
		for _, state := range w.States {
			is := int64(0)
			if state == now {
				is = 1
			}
			gauge(upstreams, is, server, state)
		}
	}
	for found, n := range w.Redactions() {
		counter(redactions, n, found.Server, found.Rule, strconv.FormatBool(found.Masked))
	}
	if w.Lost != nil {
		counter(auditLost, int64(w.Lost()))
	}
	if w.Store != nil {
		now := w.Store()
		up := int64(1)
		if now.Away {
			up = 0
		}
		gauge(storeUp, up)
		counter(storeOps, now.Ops)
		counter(storeFailed, now.Failed)
		to <- prometheus.MustNewConstMetric(storeSeconds, prometheus.CounterValue, now.Time.Seconds())
	}
}
