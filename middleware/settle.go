package middleware

import (
	"context"
	"sync"
	"time"

	"rlmproxy/middleware/upstream"
)

// until waits for servers that are still connecting, those that may be meant, until
// found reports true or they have all settled. It returns what found said last. It
// waits as long as the first list does, and for servers that come back later as
// long as that does for the rest.
func (s *Server) until(ctx context.Context, meant func(*Upstream) bool, found func() bool) bool {
	if found() {
		return true
	}
	wait := max(time.Until(s.begun.Add(patience*s.opts.ListWait)), s.opts.ListWait)
	ctx, cancel := context.WithTimeout(ctx, min(wait, s.opts.CallTimeout))
	settled := make(chan struct{}, len(s.opts.Upstreams))
	var watches sync.WaitGroup
	defer watches.Wait()
	defer cancel()
	waiting := 0
	for i := range s.opts.Upstreams {
		up := &s.opts.Upstreams[i]
		if state, _ := up.Conn.State(); state == upstream.Connecting && meant(up) {
			waiting++
			watches.Go(func() {
				up.Conn.Settled(ctx)
				settled <- struct{}{}
			})
		}
	}
	for range waiting {
		<-settled
		if found() {
			return true
		}
	}
	return false
}
