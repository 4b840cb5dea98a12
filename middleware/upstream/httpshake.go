package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/wire"
)

// statelessVersion is the revision that has no handshake and no sessions: each
// request says what the handshake would have said.
const statelessVersion = "2026-07-28"

// dialHTTP shakes hands, and asks a server that refuses for the revision that
// needs no handshake.
func dialHTTP(ctx context.Context, h hooks, url string, client *http.Client) (link, error) {
	l := &httpLink{client: client, url: url, hooks: h, maxBytes: h.maxLineBytes}
	if l.maxBytes <= 0 {
		l.maxBytes = wire.DefaultMaxLineBytes
	}
	l.asks = asks{request: h.request, reply: l.reply}
	l.life, l.die = context.WithCancelCause(context.Background())
	err := l.initialize(ctx)
	if refusedHandshake(err) {
		if newer := l.discover(ctx); newer == nil {
			err = nil
		} else {
			h.logger.Debug("server/discover", "error", newer)
		}
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	l.spawn(l.listen)
	return l, nil
}

// refusedHandshake reports whether the server is there and does not want
// initialize.
func refusedHandshake(err error) bool {
	var rpc *jsonrpc.Error
	var status *statusError
	switch {
	case errors.As(err, &rpc):
		return true
	case errors.As(err, &status):
		return status.code/100 == 4 && !status.final()
	}
	return false
}

func (l *httpLink) initialize(ctx context.Context) error {
	// Roots would always be there, since the SDK has no pointer to them.
	var roots any
	//lint:ignore SA1019 servers of the older revisions still ask for them
	if r := l.hooks.capabilities.RootsV2; r != nil {
		roots = r
	}
	params, err := json.Marshal(map[string]any{
		"protocolVersion": legacyVersion,
		"clientInfo":      l.hooks.impl,
		"capabilities": struct {
			*mcp.ClientCapabilities
			Roots any `json:"roots,omitempty"`
		}{l.hooks.capabilities, roots},
	})
	if err != nil {
		return err
	}
	raw, err := l.Call(ctx, "initialize", params)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &l.init); err != nil || l.init == nil {
		return fmt.Errorf("%w: of initialize: %w", wire.ErrBadAnswer, err)
	}
	l.version = l.init.ProtocolVersion
	if l.version >= statelessVersion || !slices.Contains(mcp.SupportedProtocolVersions(), l.version) {
		return fmt.Errorf("the server answered initialize with revision %q", l.version)
	}
	return l.Notify(ctx, "notifications/initialized", nil)
}

// discover asks the server what it is by the stateless revision.
func (l *httpLink) discover(ctx context.Context) (err error) {
	l.session, l.version, l.init = "", statelessVersion, nil
	if l.meta, err = requestMeta(statelessVersion, l.hooks); err != nil {
		return err
	}
	params, err := withMeta(nil, l.meta, "")
	if err != nil {
		return err
	}
	raw, err := l.Call(ctx, "server/discover", params)
	if err != nil {
		return err
	}
	var found struct {
		SupportedVersions []string
		Capabilities      *mcp.ServerCapabilities
		Instructions      string
		Meta              map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &found); err != nil {
		return fmt.Errorf("%w: of server/discover: %w", wire.ErrBadAnswer, err)
	}
	if !slices.Contains(found.SupportedVersions, statelessVersion) {
		return fmt.Errorf("the server speaks none of our revisions, but %q", found.SupportedVersions)
	}
	l.init = &mcp.InitializeResult{ProtocolVersion: statelessVersion, Capabilities: found.Capabilities, Instructions: found.Instructions}
	if info := found.Meta[mcp.MetaKeyServerInfo]; info != nil {
		_ = json.Unmarshal(info, &l.init.ServerInfo) // who it is does not matter to us
	}
	return nil
}
