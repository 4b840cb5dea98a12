package main

import (
	"strings"
	"testing"
	"time"

	"rlmproxy/middleware/stats"
)

// TestRunningOverHTTP: a proxy over HTTP says where it is and what its servers do, until it ends.
func TestRunningOverHTTP(t *testing.T) {
	dir := t.TempDir()
	running := func() []stats.Proxy {
		r, err := stats.Read(dir, "")
		if err != nil {
			t.Error(err)
		}
		return r.Proxies
	}
	t.Run("while it runs", func(t *testing.T) {
		mcp, _ := serveMetrics(t, "RLMPROXY_STATE_DIR="+dir)
		var all []stats.Proxy
		for end := time.Now().Add(10 * time.Second); len(all) == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
			all = running()
		}
		if len(all) != 1 || all[0].URL != mcp+"/mcp" || len(all[0].Servers) != 1 || all[0].Servers[0].Name != "s" || !strings.Contains("connecting failed", all[0].Servers[0].State) {
			t.Errorf("%+v", all)
		}
	})
	if all := running(); len(all) != 0 {
		t.Errorf("it has ended: %+v", all)
	}
}
