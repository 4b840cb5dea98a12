// Package stats counts what the proxy saves: calls, errors, latency and tokens by tool.
//
//	observe.Call ─► Recorder.Called ─┐
//	tools/list ─► Recorder.Listed ───┴─► every two seconds ─► the file of a configuration ─► Read ─► Report
//
// All proxies of a configuration add to one file in the state folder, which only its owner
// can read. It has names of servers, tools and agents, and nothing that was said.
package stats

import "time"

// A Report is what was counted, of one configuration or of several. It encodes as the JSON
// that rlmproxy stats --json prints and the page of /ui reads. Lists are never null.
type Report struct {
	Since   time.Time `json:"since"` // of the first call that counts
	Total   Sums      `json:"total"`
	Tools   []Tool    `json:"tools"`   // those that saved most come first
	Hours   []Hour    `json:"hours"`   // with calls, oldest first, of the last MaxHours
	Recent  []Call    `json:"recent"`  // newest first, at most MaxRecent
	Proxies []Proxy   `json:"proxies"` // that run now
}

const (
	MaxHours  = 30 * 24
	MaxRecent = 100
)

// Sums are what calls add up to. Tokens are of o200k.
type Sums struct {
	Calls     int64 `json:"calls"`
	Errors    int64 `json:"errors"`
	Cut       int64 `json:"cut"` // of which the agent was sent a part
	TokensIn  int64 `json:"tokens_in"`
	TokensOut int64 `json:"tokens_out"`
	// Schemas are the tokens of the proxy's own tools in the lists that clients were sent,
	// once a session. Only Total and Hours have them.
	Schemas int64 `json:"schemas,omitempty"`
	// Saved is TokensIn less TokensOut and Schemas: it may be negative.
	Saved int64 `json:"saved"`
}

// A Tool is what the calls of one tool add up to. Server is "" for the proxy's own, whose
// TokensOut are what following up cost, and for calls that reached no server. Of all tools
// beyond a bound, server and tool are "other".
type Tool struct {
	Server string `json:"server"`
	Tool   string `json:"tool"` // as agents know it, "unknown" where there is none, or a method
	Sums
	P50 float64 `json:"p50_ms"` // of calls that were not cancelled, to a power of two
	P95 float64 `json:"p95_ms"`
}

// An Hour is what was counted in one.
type Hour struct {
	Begin time.Time `json:"begin"`
	Sums
}

// A Call is one of the last, with all its tokens, also those that do not count.
type Call struct {
	Time      time.Time `json:"time"` // when it began
	Server    string    `json:"server"`
	Tool      string    `json:"tool"` // or the method of what is no call of a tool
	Agent     string    `json:"agent"`
	Client    string    `json:"client"`
	Millis    float64   `json:"ms"`
	TokensIn  int       `json:"tokens_in"`
	TokensOut int       `json:"tokens_out"`
	Cut       bool      `json:"cut"`
	Outcome   string    `json:"outcome"` // as in the audit log
	Error     string    `json:"error,omitempty"`
	CacheID   string    `json:"cache_id,omitempty"`
	ReadID    string    `json:"read_id,omitempty"`
}

// A Proxy is a process that serves.
type Proxy struct {
	PID     int       `json:"pid"`
	Begun   time.Time `json:"begun"`
	Version string    `json:"version"`
	Config  string    `json:"config"` // path; "" where the command line names the server
	// URL is that of /mcp, or "" over stdin and stdout.
	URL     string   `json:"url,omitempty"`
	Clients int      `json:"clients"` // that are connected
	Servers []Server `json:"servers"`
}

// A Server is one of a proxy's, with its state as /readyz has it.
type Server struct {
	Name  string `json:"name"`
	State string `json:"state"`
}
