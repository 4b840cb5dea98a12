package upstream

import (
	"context"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/upstream/process"
	"rlmproxy/middleware/upstream/transport"
)

// A Dialer opens a session with a server.
type Dialer func(ctx context.Context, h hooks) (*session, error)

// Command says how to start a server that speaks over its stdin and stdout.
type Command = process.Command

// Stdio returns a Dialer that starts c.
func Stdio(c Command) Dialer {
	return dialer(func(_ context.Context, opts transport.Options) (conn, error) { return transport.Start(c, opts) })
}

// InProcess returns a Dialer for a server inside our own process.
func InProcess(s *mcp.Server) Dialer {
	return dialer(func(_ context.Context, opts transport.Options) (conn, error) { return transport.InProcess(s, opts) })
}

func dialer(open opener) Dialer {
	return func(ctx context.Context, h hooks) (*session, error) { return negotiate(ctx, h, open) }
}

// Remote returns a Dialer for a server at address, a URL. Kind is "http"
// (streamable HTTP), "sse" (the older one), or empty: HTTP, then SSE. Headers go
// with every request to the server's own host, and no further.
func Remote(address, kind string, headers map[string]string) Dialer {
	return SignedIn(address, kind, headers, nil)
}

// SignedIn is Remote for a server that may want a sign-in: what authorize adds to requests goes
// where the headers go. It may be nil.
func SignedIn(address, kind string, headers map[string]string, authorize func(http.RoundTripper) http.RoundTripper) Dialer {
	return func(ctx context.Context, h hooks) (*session, error) {
		client, err := transport.NewClient(address, headers, authorize)
		if err != nil {
			return nil, err
		}
		return dialRemote(ctx, h, address, kind, client)
	}
}

func dialRemote(ctx context.Context, h hooks, address, kind string, client *http.Client) (*session, error) {
	sse := func() (*session, error) {
		return openSession(ctx, h, func(ctx context.Context, opts transport.Options) (conn, error) {
			return transport.OpenSSE(ctx, address, client, opts)
		}, false, false)
	}
	if kind == "sse" {
		return sse()
	}
	s, err := negotiate(ctx, h, func(_ context.Context, opts transport.Options) (conn, error) {
		return transport.NewHTTP(address, client, opts), nil
	})
	if status := statusOf(err); err == nil || signInOf(err) != nil || kind == "http" || ctx.Err() != nil || status != nil && (status.Final() || status.Away()) {
		return s, err
	}
	older, sseErr := sse()
	if sseErr != nil {
		return nil, fmt.Errorf("streamable HTTP: %v; SSE: %v", err, sseErr)
	}
	return older, nil
}
