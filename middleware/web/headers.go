package web

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/wire"
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
	unbatched = "2025-06-18"
	unsaid    = "2025-03-26" // what a request without the header is of
)

// Codes of JSON-RPC errors.
const (
	codeInvalidRequest = jsonrpc.CodeInvalidRequest
	codeParse          = jsonrpc.CodeParseError
	codeNoSession      = -32001 // as the TypeScript SDK has it
)

func known(version string) bool {
	return slices.Contains(mcp.SupportedProtocolVersions(), version)
}

// accepts reports which of the two kinds of reply a client takes.
func accepts(r *http.Request) (jsons, streams bool) {
	for _, value := range r.Header.Values("Accept") {
		for kind := range strings.SplitSeq(value, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*":
				jsons = true
			case "text/event-stream", "text/*":
				streams = true
			case "*/*":
				jsons, streams = true, true
			}
		}
	}
	return jsons, streams
}

// prefersStreams reports whether a client would rather have a stream than one
// message: it says so by a weight, or names that kind first. The SDKs' clients
// name JSON first.
func prefersStreams(r *http.Request) bool {
	weights := map[string]float64{}
	first := ""
	for _, value := range r.Header.Values("Accept") {
		for kind := range strings.SplitSeq(value, ",") {
			kind, params, err := mime.ParseMediaType(kind)
			if err != nil || kind != "application/json" && kind != "text/event-stream" {
				continue
			}
			weight, err := strconv.ParseFloat(params["q"], 64)
			if err != nil {
				weight = 1
			}
			weights[kind] = max(weights[kind], weight)
			first = cmp.Or(first, kind)
		}
	}
	streams, jsons := weights["text/event-stream"], weights["application/json"]
	return streams > jsons || streams == jsons && first == "text/event-stream"
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}

// A refusal is a JSON-RPC error that comes with status 400.
type refusal struct {
	code int64
	text string
}

func mismatch(format string, args ...any) *refusal {
	return &refusal{mcp.CodeHeaderMismatch, fmt.Sprintf(format, args...)}
}

// checkVersion holds the revision that a request names in _meta against that of
// the header: both or none, and the same.
func checkVersion(header string, meta meta) *refusal {
	switch {
	case header < stateless && meta.version == "":
		return nil
	case header == "":
		return mismatch("%s is missing: the request has %s in _meta", headerVersion, metaVersion)
	case meta.version == "":
		return &refusal{jsonrpc.CodeInvalidParams, "missing or invalid _meta field " + strconv.Quote(metaVersion)}
	case header != meta.version:
		return mismatch("%s %q is not what _meta says, %q", headerVersion, cut(header), cut(meta.version))
	case header < stateless:
		return &refusal{jsonrpc.CodeInvalidParams, fmt.Sprintf("revision %s has no %s in _meta", header, metaVersion)}
	}
	return nil
}

// named is the member of params that Mcp-Name repeats.
var named = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// checkHeaders holds the headers by which things on the way route a message of
// revision 2026-07-28 against the message (SEP-2243).
func (h *Handler) checkHeaders(header http.Header, m wire.Message) *refusal {
	switch method := header.Get(headerMethod); method {
	case m.Method:
	case "":
		return mismatch("%s is missing", headerMethod)
	default:
		return mismatch("%s %q is not the method, %q", headerMethod, cut(method), cut(m.Method))
	}
	key := named[m.Method]
	if key == "" {
		return nil
	}
	name := ""
	var args json.RawMessage
	err := eachMember(m.Params, func(k string, value json.RawMessage) error {
		switch {
		case k == key && value[0] == '"':
			return json.Unmarshal(value, &name)
		case k == "arguments":
			args = value
		}
		return nil
	})
	said := header.Get(headerName)
	decoded, ok := decoded(said)
	switch {
	case err != nil:
		return &refusal{jsonrpc.CodeInvalidParams, err.Error()}
	case said == "":
		return mismatch("%s is missing: %s requires it", headerName, m.Method)
	case said != name && (!ok || decoded != name):
		return mismatch("%s %q is not the %s, %q", headerName, cut(said), key, cut(name))
	}
	if m.Method != "tools/call" {
		return nil
	}
	schema := h.opts.Server.InputSchema(name)
	if !bytes.Contains(schema, []byte("x-mcp-header")) {
		return nil
	}
	return checkParams(header, schema, args)
}

// A property is what of a tool's schema says which headers repeat arguments.
type property struct {
	Header     json.RawMessage     `json:"x-mcp-header"`
	Properties map[string]property `json:"properties"`
}

// checkParams holds Mcp-Param-* against the arguments that they repeat.
func checkParams(header http.Header, schema, args json.RawMessage) *refusal {
	var root property
	if json.Unmarshal(schema, &root) != nil {
		return nil // the server's to complain of
	}
	return checkProperties(header, root.Properties, args, "")
}

// checkProperties is checkParams for the object at path, which is empty or ends in a
// dot.
func checkProperties(header http.Header, props map[string]property, object json.RawMessage, path string) *refusal {
	values := map[string]json.RawMessage{}
	_ = eachMember(object, func(k string, value json.RawMessage) error { values[k] = value; return nil })
	for name, p := range props {
		var short string
		if json.Unmarshal(p.Header, &short) == nil && short != "" {
			if no := checkParam(header, headerParam+short, values[name], path+name); no != nil {
				return no
			}
		}
		if len(p.Properties) > 0 {
			if no := checkProperties(header, p.Properties, values[name], path+name+"."); no != nil {
				return no
			}
		}
	}
	return nil
}

// checkParam holds the header key against the argument at path; value is nil if that is
// absent.
func checkParam(header http.Header, key string, value json.RawMessage, path string) *refusal {
	said := header.Get(key)
	if value == nil || string(value) == "null" {
		if said != "" {
			return mismatch("%s stands for no argument: %s is absent", key, cut(path))
		}
		return nil
	}
	if said == "" {
		return mismatch("%s is missing: it repeats the argument %s", key, cut(path))
	}
	said, ok := decoded(said)
	if !ok || !sameValue(said, value) {
		return mismatch("%s is not the argument %s", key, cut(path))
	}
	return nil
}

// sameValue reports whether a header says a string, a boolean or an integer that
// JavaScript can hold. 42.0 is 42.
func sameValue(said string, value json.RawMessage) bool {
	switch value[0] {
	case '"':
		var s string
		return json.Unmarshal(value, &s) == nil && s == said
	case 't', 'f':
		return said == string(value)
	case '{', '[':
		return false
	}
	a, err := strconv.ParseFloat(said, 64)
	b, berr := strconv.ParseFloat(string(value), 64)
	return errors.Join(err, berr) == nil && a == b && a == float64(int64(a)) && -1<<53 < a && a < 1<<53
}

// decoded is the value of a header, which is =?base64?…?= where it has more than
// plain ASCII.
func decoded(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, true
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return value, true
	}
	b, err := base64.StdEncoding.DecodeString(inner)
	return string(b), err == nil
}

// cut bounds what an error repeats of a request.
func cut(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}
