package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/wire"
)

// legacyVersion is what we offer first. Servers of every age answer initialize,
// while a probe with the newer server/discover hangs on some and ends others.
const legacyVersion = "2025-11-25"

// A link is one live session with a server, the handshake done.
type link interface {
	// Call sends a request and returns the raw result.
	Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Notify sends a notification.
	Notify(ctx context.Context, method string, params json.RawMessage) error
	// Meta holds the members that every request's _meta must have, or nil.
	Meta() map[string]json.RawMessage
	// Init is what the server said of itself.
	Init() *mcp.InitializeResult
	// Done is closed when the session has ended.
	Done() <-chan struct{}
	// Exit says how it ended, if that is known.
	Exit() string
	Close()
}

// A Dialer opens a session with a server.
type Dialer func(ctx context.Context, h hooks) (link, error)

// hooks are what a link calls back. None may block.
type hooks struct {
	life         context.Context // of the upstream: it outlasts the link
	logger       *slog.Logger
	impl         *mcp.Implementation
	maxLineBytes int64
	capabilities *mcp.ClientCapabilities      // what is declared to the server
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

// client returns the SDK client for a handshake. What a server asks of it and
// tells it never gets there.
func (h hooks) client() *mcp.Client {
	return mcp.NewClient(h.impl, &mcp.ClientOptions{
		Capabilities:   h.capabilities,
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
}

// A streamLink is a session over one of our own connections.
type streamLink struct {
	*wire.Conn
	session *mcp.ClientSession
	meta    map[string]json.RawMessage
	proc    *process // nil for a server inside our own process
	end     func()   // ends the far side
}

func (l *streamLink) Meta() map[string]json.RawMessage { return l.meta }
func (l *streamLink) Init() *mcp.InitializeResult      { return l.session.InitializeResult() }

func (l *streamLink) Exit() string {
	if l.proc == nil {
		return ""
	}
	return l.proc.exit()
}

// Close ends the session and, if it has one, the process.
func (l *streamLink) Close() {
	l.end()
	l.session.Close()
	l.Conn.Close()
	<-l.Conn.Done()
}

// Stdio returns a Dialer that starts c.
func Stdio(c Command) Dialer {
	return func(ctx context.Context, h hooks) (link, error) {
		open := func() (io.ReadCloser, io.WriteCloser, *process, func(), error) {
			p, err := c.start(h.logger)
			if err != nil {
				return nil, nil, nil, nil, err
			}
			return p.stdout, p.stdin, p, p.close, nil
		}
		return dialStream(ctx, h, open)
	}
}

// InProcess returns a Dialer for a server inside our own process.
func InProcess(s *mcp.Server) Dialer {
	return func(ctx context.Context, h hooks) (link, error) {
		open := func() (io.ReadCloser, io.WriteCloser, *process, func(), error) {
			near, far := net.Pipe()
			ss, err := s.Connect(context.Background(), &mcp.IOTransport{Reader: far, Writer: far, MaxLineLength: -1}, nil)
			if err != nil {
				return nil, nil, nil, nil, err
			}
			return near, near, nil, func() { near.Close(); ss.Close() }, nil
		}
		return dialStream(ctx, h, open)
	}
}

type opener func() (r io.ReadCloser, w io.WriteCloser, p *process, end func(), err error)

// dialStream opens a stream and shakes hands, on a second stream once more with
// the newest revision when the server refuses initialize.
func dialStream(ctx context.Context, h hooks, open opener) (link, error) {
	l, err := shake(ctx, h, open, legacyVersion)
	var refused *jsonrpc.Error
	if errors.As(err, &refused) {
		l, err = shake(ctx, h, open, "")
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

func shake(ctx context.Context, h hooks, open opener, version string) (*streamLink, error) {
	r, w, proc, end, err := open()
	if err != nil {
		return nil, err
	}
	conn := wire.NewConn(r, w, wire.Options{
		MaxLineBytes: h.maxLineBytes,
		Junk: func(line []byte, err error) {
			h.logger.Warn("line on stdout is no message", "line", string(line), "error", err)
		},
		Handle: h.request,
		Notify: func(method string, params json.RawMessage) bool { return h.notified(h.life, method, params) },
	})
	// A server that ends during the handshake, or hangs, is torn down at once:
	// the SDK waits for an answer that cannot come.
	shaking := make(chan struct{})
	torn := make(chan struct{})
	go func() {
		defer close(torn)
		select {
		case <-ctx.Done():
			conn.Close()
		case <-shaking:
		}
	}()
	session, err := h.client().Connect(ctx, conn, &mcp.ClientSessionOptions{ProtocolVersion: version})
	close(shaking)
	<-torn
	if err != nil {
		conn.Close()
		if proc != nil && ctx.Err() == nil {
			if how := proc.exit(); how != "" {
				err = fmt.Errorf("the server ended during the handshake (%s): %w", how, err)
			}
		}
		end()
		<-conn.Done()
		return nil, err
	}
	l := &streamLink{Conn: conn, session: session, proc: proc, end: end}
	if v := session.InitializeResult().ProtocolVersion; v > legacyVersion {
		if l.meta, err = requestMeta(v, h); err != nil {
			l.Close()
			return nil, err
		}
	}
	return l, nil
}

// requestMeta returns what a stateless revision wants to read in each request.
func requestMeta(version string, h hooks) (map[string]json.RawMessage, error) {
	meta := map[string]json.RawMessage{}
	for key, v := range map[string]any{
		mcp.MetaKeyProtocolVersion:    version,
		mcp.MetaKeyClientInfo:         h.impl,
		mcp.MetaKeyClientCapabilities: struct{}{}, // what it asks for in a result, our clients get as such a result
	} {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		meta[key] = b
	}
	return meta, nil
}
