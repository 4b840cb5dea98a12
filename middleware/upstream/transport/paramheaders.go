package transport

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"rlmproxy/jsonscan"
)

// Bounds on the x-mcp-header annotations of one tool.
const (
	maxParamHeaders = 32
	maxParamDepth   = 16
)

// paramHeaders knows which arguments of which tools revision 2026-07-28 wants
// to see in headers: those that a tool's schema marks with x-mcp-header.
type paramHeaders struct {
	mu    sync.Mutex // guards the field below
	tools map[string][]paramHeader
}

// A paramHeader is one argument, by its path, that goes into a header.
type paramHeader struct {
	path []string
	name string // without Mcp-Param-
}

// LearnTools reads which arguments go into headers, in the schemas of all the server's
// tools, by name.
func (h *HTTP) LearnTools(schemas map[string]json.RawMessage) { h.headers.learn(schemas) }

func (p *paramHeaders) learn(schemas map[string]json.RawMessage) {
	tools := map[string][]paramHeader{}
	for name, schema := range schemas {
		if bytes.Contains(schema, []byte(`"x-mcp-header"`)) {
			tools[name] = annotated(schema, nil, nil)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tools = tools
}

// annotated appends the annotations of a schema's properties to out.
func annotated(schema json.RawMessage, path []string, out []paramHeader) []paramHeader {
	if len(path) >= maxParamDepth {
		return out
	}
	_ = jsonscan.Members(jsonscan.Member(schema, "properties"), func(prop string, schema json.RawMessage) error {
		here := append(path[:len(path):len(path)], prop)
		name, ok := text(jsonscan.Member(schema, "x-mcp-header"))
		if ok && isToken(name) && len(out) < maxParamHeaders {
			out = append(out, paramHeader{here, name})
		}
		out = annotated(schema, here, out)
		return nil
	})
	return out
}

// set sets the headers of a request of revision 2026-07-28 (SEP-2243).
func (p *paramHeaders) set(h http.Header, method string, params json.RawMessage) {
	h.Set("Mcp-Method", headerValue(method))
	member := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
		"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId"}[method]
	if member == "" {
		return
	}
	name, _ := text(jsonscan.Member(params, member))
	h.Set("Mcp-Name", headerValue(name))
	if method != "tools/call" {
		return
	}
	p.mu.Lock()
	headers := p.tools[name]
	p.mu.Unlock()
	if len(headers) == 0 {
		return
	}
	args := jsonscan.Member(params, "arguments")
	for _, header := range headers {
		arg := args
		for _, name := range header.path {
			arg = jsonscan.Member(arg, name)
		}
		if value, ok := primitive(arg); ok {
			h.Set("Mcp-Param-"+header.name, headerValue(value))
		}
	}
}

// maxSafe is the largest integer that JavaScript holds exactly.
const maxSafe = 1<<53 - 1

// primitive writes a string, an integer or a boolean as a header has it.
func primitive(b json.RawMessage) (string, bool) {
	if len(b) == 0 {
		return "", false
	}
	switch b[0] {
	case '"':
		return text(b)
	case 't', 'f':
		return string(b), true
	case 'n', '{', '[':
		return "", false
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxSafe {
		return "", false
	}
	return strconv.FormatInt(int64(f), 10), true
}

// text returns what a string holds; ok is false if there is no value, or it is not a string.
func text(b json.RawMessage) (s string, ok bool) {
	if len(b) == 0 || b[0] != '"' || json.Unmarshal(b, &s) != nil {
		return "", false
	}
	return s, true
}

// isToken reports whether s can be part of a header's name (RFC 9110, 5.6.2).
var isToken = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$").MatchString

// headerValue returns s, in Base64 with marks around it if a header cannot hold
// it as it is or if it looks as if it had them.
func headerValue(s string) string {
	plain := strings.Trim(s, " \t") == s && !(strings.HasPrefix(s, "=?base64?") && strings.HasSuffix(s, "?="))
	for _, c := range []byte(s) {
		plain = plain && 0x20 <= c && c <= 0x7e
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}
