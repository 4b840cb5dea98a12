package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/rpc"
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

// Codes of JSON-RPC errors.
const (
	codeInvalidRequest = jsonrpc.CodeInvalidRequest
	codeParse          = jsonrpc.CodeParseError
	codeInternal       = jsonrpc.CodeInternalError
	codeNoSession      = -32001 // as the TypeScript SDK has it
)

func supported(version string) bool {
	return slices.Contains(mcp.SupportedProtocolVersions(), version)
}

func mismatch(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: fmt.Sprintf(format, args...)}
}

func invalidParams(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// checkVersion compares the revision that a request names in _meta with that of the
// header: both or none, and the same.
func checkVersion(header, meta string) *jsonrpc.Error {
	switch {
	case header < revision.Stateless && meta == "":
		return nil
	case header == "":
		return mismatch("%s is missing: the request has %s in _meta", headerVersion, metaVersion)
	case meta == "":
		return invalidParams("missing or invalid _meta field %q", metaVersion)
	case header != meta:
		return mismatch("%s is %q, but _meta says %q", headerVersion, cut(header), cut(meta))
	case header < revision.Stateless:
		return invalidParams("a request of revision %s must not have %s in _meta", header, metaVersion)
	}
	return nil
}

// mirrored is the member of params that Mcp-Name repeats.
var mirrored = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// checkHeaders compares the headers by which things on the way route a message of
// revision 2026-07-28 with the message (SEP-2243).
func (h *Handler) checkHeaders(ctx context.Context, header http.Header, m rpc.Message) *jsonrpc.Error {
	switch method := header.Get(headerMethod); method {
	case m.Method:
	case "":
		return mismatch("%s is missing", headerMethod)
	default:
		return mismatch("%s is %q, but the method is %q", headerMethod, cut(method), cut(m.Method))
	}
	key := mirrored[m.Method]
	if key == "" {
		return nil
	}
	name, value := jsonscan.StringMember(m.Params, key), header.Get(headerName)
	decoded, ok := decodeHeader(value)
	switch {
	case value == "":
		return mismatch("%s is missing: %s requires it", headerName, m.Method)
	case value != name && (!ok || decoded != name):
		return mismatch("%s is %q, but the %s is %q", headerName, cut(value), key, cut(name))
	}
	if m.Method != "tools/call" || h.opts.InputSchema == nil {
		return nil
	}
	schema := h.opts.InputSchema(ctx, name)
	var root property
	if !bytes.Contains(schema, []byte("x-mcp-header")) || json.Unmarshal(schema, &root) != nil {
		return nil
	}
	return checkProperties(header, root.Properties, jsonscan.Member(m.Params, "arguments"), "")
}

// A property is what of a tool's schema says which headers repeat arguments.
type property struct {
	Header     json.RawMessage     `json:"x-mcp-header"`
	Properties map[string]property `json:"properties"`
}

// checkProperties compares Mcp-Param-* with the arguments that they repeat, of the object
// at path, which is empty or ends in a dot.
func checkProperties(header http.Header, properties map[string]property, object json.RawMessage, path string) *jsonrpc.Error {
	for name, p := range properties {
		value := jsonscan.Member(object, name)
		var short string
		if json.Unmarshal(p.Header, &short) == nil && short != "" {
			if wrong := checkParam(header, headerParam+short, value, path+name); wrong != nil {
				return wrong
			}
		}
		if wrong := checkProperties(header, p.Properties, value, path+name+"."); wrong != nil {
			return wrong
		}
	}
	return nil
}

// checkParam compares the header key with the argument at path; value is nil if that is
// absent.
func checkParam(header http.Header, key string, value json.RawMessage, path string) *jsonrpc.Error {
	text := header.Get(key)
	if value == nil || string(value) == "null" {
		if text != "" {
			return mismatch("%s has a value, but the argument %s is missing", key, cut(path))
		}
		return nil
	}
	if text == "" {
		return mismatch("%s is missing: it must repeat the argument %s", key, cut(path))
	}
	text, ok := decodeHeader(text)
	if !ok || !sameValue(text, value) {
		return mismatch("%s differs from the argument %s", key, cut(path))
	}
	return nil
}

// sameValue reports whether text is a value: a string, a boolean, or an integer that
// JavaScript can hold. 42.0 is 42.
func sameValue(text string, value json.RawMessage) bool {
	switch value[0] {
	case '"':
		return jsonscan.Unquote(value) == text
	case 't', 'f':
		return text == string(value)
	case '{', '[':
		return false
	}
	a, err := strconv.ParseFloat(text, 64)
	b, berr := strconv.ParseFloat(string(value), 64)
	return errors.Join(err, berr) == nil && a == b && a == float64(int64(a)) && -1<<53 < a && a < 1<<53
}

// decodeHeader is the value of a header, which is =?base64?…?= where it has more than
// plain ASCII.
func decodeHeader(value string) (string, bool) {
	inner, begins := strings.CutPrefix(value, "=?base64?")
	inner, ends := strings.CutSuffix(inner, "?=")
	if !begins || !ends {
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
