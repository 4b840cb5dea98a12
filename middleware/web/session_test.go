package web

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"rlmproxy/middleware"
	"rlmproxy/middleware/rpc"
)

// A peerSession is the least of a [Session]: its requests are answered by a function.
type peerSession struct {
	*rpc.Peer
	initialized *atomic.Bool
}

func (s peerSession) Initialized() bool { return s.initialized.Load() }
func (s peerSession) End()              { s.Close() }

// answering returns what begins sessions whose requests handle answers.
func answering(handle func(ctx context.Context, peer *rpc.Peer, method string, params json.RawMessage) (json.RawMessage, error)) func(rpc.Transport, middleware.Identity, rpc.Options) Session {
	return func(t rpc.Transport, _ middleware.Identity, opts rpc.Options) Session {
		s := peerSession{initialized: new(atomic.Bool)}
		opts.Handle = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			result, err := handle(ctx, s.Peer, method, params)
			if method == "initialize" && err == nil {
				s.initialized.Store(true)
			}
			return result, err
		}
		s.Peer = rpc.NewPeer(t, opts)
		return s
	}
}
