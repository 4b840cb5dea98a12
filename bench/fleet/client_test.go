package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A client makes calls for one agent, each at the next of the replicas: what a balancer would
// need of the processors is none of theirs.
type client struct {
	tb    testing.TB
	agent string // "": whoever the session is
	urls  []string

	next, calls int
	session     string
}

// begin begins a session of 2025-11-25, which all later requests belong to.
func (c *client) begin() {
	c.tb.Helper()
	c.post("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	if c.session == "" {
		c.tb.Fatal("no session")
	}
}

// post sends a request and returns the answer.
func (c *client) post(method, params string) []byte {
	c.tb.Helper()
	single := c.session == "" && method != "initialize"
	if single {
		params = strings.TrimSuffix(params, "}") + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	}
	c.calls++
	r, err := http.NewRequest(http.MethodPost, c.urls[c.next%len(c.urls)], strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.calls, method, params)))
	if err != nil {
		c.tb.Fatal(err)
	}
	c.next++
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if c.agent != "" {
		r.Header.Set("Rlmproxy-Agent", c.agent)
	}
	switch {
	case single:
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
		var p struct{ Name string }
		_ = json.Unmarshal([]byte(params), &p)
		r.Header.Set("Mcp-Name", p.Name)
	case c.session != "":
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		c.tb.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || bytes.Contains(body, []byte(`"isError":true`)) || bytes.Contains(body, []byte(`"error":{`)) {
		c.tb.Fatalf("%s %.200s: %s, %v, %.400s", method, params, resp.Status, err, body)
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	return body
}

// records calls the tool for another result of n bytes, and returns its cache_id, "" if it
// came whole.
func (c *client) records(n, call int) (id string) {
	c.tb.Helper()
	body := c.post("tools/call", fmt.Sprintf(`{"name":"records","arguments":{"bytes":%d,"call":%d}}`, n, call))
	if _, rest, cut := bytes.Cut(body, []byte(`"rlmproxy/result":{"cache_id":"`)); cut {
		id = string(rest[:bytes.IndexByte(rest, '"')])
	}
	if (id == "") != (n <= shortBytes) {
		c.tb.Fatalf("a result of %d bytes: %.300s", n, body)
	}
	return id
}

// shortBytes is how long a result is that passes.
const shortBytes = 1000

// filter asks about a result.
func (c *client) filter(id string) {
	c.tb.Helper()
	if body := c.post("tools/call", fmt.Sprintf(`{"name":"proxy_filter","arguments":{"cache_id":%q,"fields":["name"],"limit":3}}`, id)); !bytes.Contains(body, []byte("item ")) {
		c.tb.Fatalf("%.300s", body)
	}
}
