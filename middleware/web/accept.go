package web

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Headers of streamable HTTP, and ours.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerSession = "Mcp-Session-Id"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerParam   = "Mcp-Param-"
	headerAgent   = "Rlmproxy-Agent"
)

// Revisions that differ here.
const (
	stateless = "2026-07-28" // no sessions, no batches, headers that repeat the body
	resumable = "2025-11-25" // streams begin with an event without data
	unbatched = "2025-06-18" // no batches; before it, a request need not name its revision
)

// Codes of JSON-RPC errors.
const (
	codeInvalidRequest = jsonrpc.CodeInvalidRequest
	codeParse          = jsonrpc.CodeParseError
	codeNoSession      = -32001 // as the TypeScript SDK has it
)

func supported(version string) bool {
	return slices.Contains(mcp.SupportedProtocolVersions(), version)
}

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// accepted is which of the two kinds of response a client takes.
type accepted struct {
	json, events bool
	// prefersEvents: it would rather have a stream of events than one message. It
	// says so by a weight, or names that kind first. The SDKs' clients name JSON
	// first.
	prefersEvents bool
}

func accepts(r *http.Request) (a accepted) {
	weights, first := map[string]float64{}, ""
	for _, value := range r.Header.Values("Accept") {
		for entry := range strings.SplitSeq(value, ",") {
			kind, _, weighted := strings.Cut(entry, ";")
			kind = strings.ToLower(strings.TrimSpace(kind))
			switch kind {
			case "*/*":
				a.json, a.events = true, true
			case "application/*":
				a.json = true
			case "text/*":
				a.events = true
			case typeJSON, typeEvents:
				weight := 1.0
				if weighted {
					weight = quality(entry)
				}
				weights[kind] = max(weights[kind], weight)
				if first == "" {
					first = kind
				}
			}
		}
	}
	events, acceptsEvents := weights[typeEvents]
	json, acceptsJSON := weights[typeJSON]
	a.json, a.events = a.json || acceptsJSON, a.events || acceptsEvents
	a.prefersEvents = events > json || events == json && first == typeEvents
	return a
}

// quality is the weight of an entry of Accept, 1 where it has none.
func quality(entry string) float64 {
	_, params, _ := mime.ParseMediaType(entry)
	q, err := strconv.ParseFloat(params["q"], 64)
	if err != nil {
		return 1
	}
	return q
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == typeJSON
}
