package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/session"
)

// A firstClient is what the first client said of itself, for servers of proxies that have
// one client: they are told of it when they connect.
type firstClient struct {
	once sync.Once
	came chan struct{} // closed when the fields behind it are set

	capabilities json.RawMessage
	info         json.RawMessage // nil: it did not say in a way that servers can read
	stateless    bool
}

// note takes note of the client of a request, if it is the first.
func (f *firstClient) note(r *session.Request) {
	f.once.Do(func() {
		f.capabilities, f.stateless = r.Session.Capabilities(), r.Stateless
		info := r.ClientInfo
		if !r.Stateless {
			info = r.Session.ClientInfo()
		}
		if introduces(info) {
			f.info = bytes.Clone(info)
		}
		close(f.came)
	})
}

// maxInfoBytes caps what a client says it is: servers of revision 2026-07-28 are told
// with each request.
const maxInfoBytes = 16 << 10

// introduces reports whether info is what the protocol has a client say it is. Strict
// servers refuse the handshake for anything else, from all clients.
func introduces(info json.RawMessage) bool {
	if len(info) == 0 || len(info) > maxInfoBytes || info[0] != '{' || json.Unmarshal(info, new(mcp.Implementation)) != nil {
		return false
	}
	version := jsonscan.Member(info, "version")
	return stringOf(info, "name") != "" && len(version) > 0 && version[0] == '"'
}

// clientWait is how long a server's handshake waits for the first client: hosts
// write to a proxy as soon as they have started it.
const clientWait = 3 * time.Second

// ClientCapabilities is what the first client can do, once it has come; nil if that takes
// more than a moment.
func (s *Server) ClientCapabilities(ctx context.Context) json.RawMessage {
	late := time.NewTimer(clientWait)
	defer late.Stop()
	select {
	case <-s.first.came:
		return s.first.capabilities
	case <-late.C:
	case <-ctx.Done():
	}
	return nil
}

// hasCome reports whether the first client has come.
func (f *firstClient) hasCome() bool {
	select {
	case <-f.came:
		return true
	default:
		return false
	}
}

// ClientInfo is who the first client has said it is, or nil. Some servers act by the
// name.
func (s *Server) ClientInfo() json.RawMessage {
	if !s.first.hasCome() {
		return nil
	}
	return s.first.info
}

// ClientIsStateless reports whether the first client has come and speaks the newest
// revision.
func (s *Server) ClientIsStateless() bool { return s.first.hasCome() && s.first.stateless }
