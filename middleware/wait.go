package middleware

import (
	"cmp"
	"context"
	"slices"
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
	ups := s.upstreams()
	settled := make(chan struct{}, len(ups))
	var watches sync.WaitGroup
	defer watches.Wait()
	defer cancel()
	waiting := 0
	for _, up := range ups {
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

// patience is how many times [Options.ListWait] after the start servers are waited
// for while none is ready.
const patience = 5

// awaitUpstreams gives upstreams a moment to say what they offer before the first list,
// since some clients never ask again: until all have, or ListWait after the start if it is
// known of one, or else patience times that. Those of which known reports true are not
// waited for.
func (s *Server) awaitUpstreams(ctx context.Context, known func(*Upstream) bool) {
	defer s.noteAnswered()
	defer s.awaitMade(ctx)
	deadline := s.begun.Add(patience * s.opts.ListWait)
	if time.Now().After(deadline) {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	some := time.AfterFunc(time.Until(s.begun.Add(s.opts.ListWait)), func() {
		for _, up := range s.upstreams() {
			if state, _ := up.Conn.State(); state == upstream.Ready || known(up) {
				cancel()
			}
		}
	})
	defer some.Stop()
	var wg sync.WaitGroup
	for _, up := range s.awaited(known) {
		wg.Go(func() {
			up.Conn.Settled(ctx)
			if time.Since(s.begun) > s.opts.ListWait {
				cancel() // one has come late; the rest get no more time
			}
		})
	}
	wg.Wait()
}

// awaited are the servers that the first answers wait for: not those of which known reports
// true, and not those that were waited for in vain the last time, if there is another.
func (s *Server) awaited(known func(*Upstream) bool) (ups []*Upstream) {
	for _, up := range s.upstreams() {
		if !known(up) && !up.Late {
			ups = append(ups, up)
		}
	}
	if all := s.upstreams(); ups == nil && !slices.ContainsFunc(all, known) {
		return all
	}
	return ups
}

// settled waits until a server of which is known what it offered the last time has said
// what it offers now. The error is why it has not.
func (s *Server) settled(ctx context.Context, t target) error {
	within := cmp.Or(t.up.policy(t.tool.Name).Timeout, s.opts.CallTimeout)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	t.up.Conn.Settled(ctx)
	if !t.up.kept() {
		return nil
	}
	_, err := t.up.Conn.State()
	if err == nil {
		err = errConnecting
	}
	return s.redactor(t.up, "").error(ctx, &upstream.UnavailableError{Server: t.up.Name, Err: err})
}
