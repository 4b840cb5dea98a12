package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A link is one live session with a server, the handshake done.
type link interface {
	// Call sends a request and returns the raw result.
	Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Notify sends a notification.
	Notify(ctx context.Context, method string, params json.RawMessage) error
	// Meta holds the members that every request's _meta must have. It is nil
	// before NewestVersion.
	Meta() map[string]json.RawMessage
	// Newer opens a session with the same server in NewestVersion. Sessions that
	// are Beside can be used side by side; else the newer one is another process,
	// with a state of its own.
	Newer(ctx context.Context) (link, error)
	Beside() bool
	// Watch subscribes to a resource in NewestVersion, or ends that.
	Watch(ctx context.Context, uri string, on bool) error
	// Init is what the server said of itself.
	Init() *Info
	// Done is closed when the session has ended.
	Done() <-chan struct{}
	// Exit says how it ended, if that is known.
	Exit() string
	// Close ends the session.
	Close()
}

// A Dialer opens a session with a server.
type Dialer func(ctx context.Context, h hooks) (link, error)

// errNotNewer reports a session that has no newer revision.
var errNotNewer = errors.New("there is no newer revision of this session")

// hooks are what a link calls back. None may block.
type hooks struct {
	life         context.Context // of the upstream: it outlasts the link
	logger       *slog.Logger
	junk         *junkLog // of what is no message
	impl         *mcp.Implementation
	client       json.RawMessage              // who the client says it is, or nil
	maxLineBytes int64                        // of one message, not zero
	newest       bool                         // NewestVersion is tried first
	capabilities json.RawMessage              // what is declared to the server, an object
	listChanged  func()                       // the server's tools or prompts changed
	progress     func(params json.RawMessage) // notifications/progress
	// notify gets every other notification that is not the SDK's.
	notify func(ctx context.Context, method string, params json.RawMessage)
	// request answers what the server asks of its client; see [Options.Request].
	request func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// notified deals with a notification of the server and reports whether it was
// not for the SDK.
func (h hooks) notified(ctx context.Context, method string, params json.RawMessage) bool {
	switch method {
	case "notifications/progress":
		h.progress(params)
	case "notifications/cancelled":
		return false
	default:
		if method == "notifications/tools/list_changed" || method == "notifications/prompts/list_changed" {
			h.listChanged()
		}
		h.notify(ctx, method, params)
	}
	return true
}
