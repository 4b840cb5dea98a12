package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/rpc"
)

// A Request is what a client asks, its params as they came.
type Request struct {
	Session *Session
	Who     rights.Who
	Method  string
	Params  json.RawMessage // an object, or nil

	Token json.RawMessage // of its progress, or nil

	// Of revision 2026-07-28, whose requests say themselves what clients of older ones
	// say once. Stateless is set if it is of that one.
	Stateless    bool
	Level        string          // of log messages; "" is none at all
	Capabilities json.RawMessage // what the client can be asked: an object
	ClientInfo   json.RawMessage // who it says it is, or nil

	// Of tools/call:
	Name      string
	Arguments json.RawMessage // or nil

	version string          // that it names itself, or ""
	about   context.Context // what is told about it goes by this
}

// newRequest slices params. Members of the wrong type are errors; what only the
// server understands is left to it.
func newRequest(ctx context.Context, s *Session, method string, params json.RawMessage) (*Request, error) {
	r := &Request{Session: s, Method: method, about: context.WithoutCancel(ctx)}
	if len(params) > 0 && string(params) != "null" {
		if params[0] != '{' {
			return nil, InvalidParams("params is not an object")
		}
		r.Params = params
	}
	if r.Params == nil {
		params = json.RawMessage("{}")
	}
	err := jsonscan.Members(params, func(key string, value json.RawMessage) error {
		switch {
		case key == "_meta" && value[0] == '{':
			return jsonscan.Members(value, r.readMeta)
		case key == "name" && method == "tools/call":
			if value[0] != '"' {
				return InvalidParams("name is not a string")
			}
			return json.Unmarshal(value, &r.Name)
		case key == "arguments":
			r.Arguments = value
		}
		return checkSpelling(key)
	})
	switch {
	case err != nil:
		return nil, err
	case method == "tools/call" && r.Name == "":
		return nil, InvalidParams("no name")
	}
	return r, r.checkMeta()
}

// decisive are the members of params by which somebody decides what a request is about, the
// proxy or the server.
var decisive = []string{"name", "arguments", "uri", "ref", "argument", "cursor", "level", "taskId", "requestState", "inputResponses", "_meta"}

// checkSpelling refuses a decisive member in other letters: many servers, those in Go for
// one, take "Name" for "name", and would call another tool than the one that was looked up.
func checkSpelling(key string) error {
	for _, name := range decisive {
		if key != name && strings.EqualFold(key, name) {
			return InvalidParams("%q in params must be spelled %q", key, name)
		}
	}
	return nil
}

// readMeta reads a member of _meta.
func (r *Request) readMeta(key string, value json.RawMessage) error {
	switch {
	case key == "progressToken" && value[0] != 'n':
		r.Token = value
	case key == mcp.MetaKeyClientCapabilities:
		r.Capabilities = value
	case key == mcp.MetaKeyClientInfo:
		r.ClientInfo = value
	case key == mcp.MetaKeyProtocolVersion && value[0] == '"':
		return json.Unmarshal(value, &r.version)
	case key == metaLogLevel && value[0] == '"':
		if err := json.Unmarshal(value, &r.Level); err != nil {
			return err
		}
		return CheckLevel(r.Level)
	}
	return nil
}

// checkMeta refuses a request that names a revision without sessions and lacks what
// that wants in each (SEP-2575).
func (r *Request) checkMeta() error {
	if r.version < revision.Stateless {
		return nil
	}
	r.Stateless = true
	switch {
	case r.version != revision.Stateless:
		data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: mcp.SupportedProtocolVersions(), Requested: r.version})
		if err != nil {
			return err
		}
		return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "unsupported protocol version", Data: data}
	case r.ClientInfo != nil && json.Unmarshal(r.ClientInfo, new(mcp.Implementation)) != nil:
		return InvalidParams("invalid _meta field %q", mcp.MetaKeyClientInfo)
	case len(r.Capabilities) == 0 || r.Capabilities[0] != '{':
		return InvalidParams("missing or invalid _meta field %q", mcp.MetaKeyClientCapabilities)
	}
	return nil
}

// Progress tells the client how far its request is, under its own token, if it has
// asked for that. It may wait for the client to read.
func (r *Request) Progress(params json.RawMessage) {
	if r.Token == nil {
		return
	}
	if params, err := rpc.WithToken(params, r.Token); err == nil {
		_ = r.Session.Notify(r.about, "notifications/progress", params) // the request itself will tell of a lost client
	}
}

// About is a context for what is told and asked about the request: it ends only with
// the client.
func (r *Request) About() context.Context { return r.about }

// InvalidParams is the error for params that are wrong.
func InvalidParams(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// Declares reports whether one who can do this answers requests of this method.
func Declares(capabilities json.RawMessage, method string) bool {
	capability, _, _ := strings.Cut(method, "/")
	value := jsonscan.Member(capabilities, capability)
	return value != nil && value[0] != 'n'
}
