//lint:file-ignore SA1019 clients and servers of the older revisions still use roots, sampling and logging

package middleware

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/rpc"
)

// A client is a client of the proxy that decodes nothing.
type client struct {
	*rpc.Conn
	name string // that it says in its handshake
}

// Call is [rpc.Peer.Call] without a token of its own: tests write theirs into params.
func (c client) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return c.Conn.Call(ctx, method, params, nil)
}

// clientOptions is how a client answers what servers ask, and takes what they tell.
// Progress it takes as any notification.
type clientOptions struct {
	Handle func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	Notify func(method string, params json.RawMessage)
}

func newClient(r io.ReadCloser, w io.WriteCloser, opts clientOptions) client {
	o := rpc.Options{Handle: opts.Handle}
	if o.Handle == nil {
		o.Handle = func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage("{}"), nil
		}
	}
	if opts.Notify != nil {
		o.Notified = func(_ context.Context, method string, params json.RawMessage) { opts.Notify(method, params) }
	}
	return client{rpc.NewConn(r, w, rpc.ConnOptions{Options: o}), "test"}
}

// initialize shakes hands in revision 2025-11-25.
func (c client) initialize(t *testing.T, can *mcp.ClientCapabilities) {
	t.Helper()
	if can == nil {
		can = &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{ListChanged: true}}
	}
	declared := map[string]any{}
	b, err := json.Marshal(can)
	if err != nil || json.Unmarshal(b, &declared) != nil {
		t.Fatal(err)
	}
	if can.RootsV2 == nil { // the older field is always written
		delete(declared, "roots")
	}
	params, err := json.Marshal(map[string]any{"protocolVersion": "2025-11-25", "capabilities": declared, "clientInfo": map[string]string{"name": c.name, "version": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), "initialize", params); err != nil {
		t.Fatal(err)
	}
	if err := c.Notify(t.Context(), "notifications/initialized", nil); err != nil {
		t.Fatal(err)
	}
}
