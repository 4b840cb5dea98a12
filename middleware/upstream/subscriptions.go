package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/transport"
)

// In the stateless revision a subscription is a request, subscriptions/listen, that says
// what is wanted and is answered when it ends. This is the first thing that comes of it.
const acknowledged = "notifications/subscriptions/acknowledged"

const (
	// maxSubscriptions bounds the resources that are subscribed to at one server, each
	// of which is a request or, over HTTP, a connection.
	maxSubscriptions = 256
	// ackWait is how long a subscription may stay unacknowledged: it may work all
	// the same.
	ackWait = 5 * time.Second
)

// listenToChanges begins to listen to what belongs to no request.
func (s *session) listenToChanges() {
	switch {
	case s.meta == nil && s.http != nil:
		s.tasks.Go(func() { s.http.Listen(s.life, s.hooks.listChanged) })
	case s.meta == nil: // it comes by itself
	default:
		if wanted := changesOf(s.info); wanted != nil {
			s.tasks.Go(func() {
				err := s.listen(s.life, wanted)
				s.hooks.logger.Debug("the stream of notifications has ended", "error", err)
			})
		}
	}
}

// changesOf is what a server tells of its lists, as subscriptions/listen wants
// it, or nil if that is nothing.
func changesOf(info *Info) json.RawMessage {
	c := info.Capabilities
	if c == nil {
		return nil
	}
	out := []byte{'{'}
	if c.Tools != nil && c.Tools.ListChanged {
		out = jsonscan.AppendMember(out, "toolsListChanged", []byte("true"))
	}
	if c.Prompts != nil && c.Prompts.ListChanged {
		out = jsonscan.AppendMember(out, "promptsListChanged", []byte("true"))
	}
	if c.Resources != nil && c.Resources.ListChanged {
		out = jsonscan.AppendMember(out, "resourcesListChanged", []byte("true"))
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, '}')
}

// listen hears of what is wanted until ctx ends or the server refuses it: the error says
// which. Where the
// server ends the subscription, or the connection breaks, it is begun again after a
// pause, and what may have changed meanwhile is told.
func (s *session) listen(ctx context.Context, wanted json.RawMessage) error {
	params, err := withMeta(jsonscan.Object("notifications", wanted), s.meta)
	if err != nil {
		return err
	}
	for useless := 0; ; useless++ {
		begun := time.Now()
		if _, err := s.Call(ctx, transport.ListenMethod, params, nil); err != nil && !passing(err) {
			return err
		}
		if time.Since(begun) > transport.SteadyTime {
			useless = 0
		}
		if err := transport.Sleep(ctx, transport.Pause(useless, 0)); err != nil {
			return err
		}
		if uri := gjson.GetBytes(wanted, "resourceSubscriptions.0"); uri.Exists() {
			s.hooks.opts.Notify(s.hooks.life, "notifications/resources/updated", jsonscan.Object("uri", []byte(uri.Raw)))
		} else {
			s.hooks.listChanged()
		}
	}
}

// passing reports whether a request that failed may be answered when it is sent again.
func passing(err error) bool {
	if status := statusOf(err); status != nil {
		return status.Code/100 == 5 || status.Code == http.StatusTooManyRequests
	}
	return errors.Is(err, rpc.ErrClosed) || notTaken(err)
}

// subscriptions are a session's subscriptions to resources, in the stateless revision.
type subscriptions struct {
	mu   sync.Mutex // guards the field below
	open map[string]*subscription
}

type subscription struct {
	cancel  context.CancelFunc
	settled chan error // capacity 1: nil when the server has acknowledged it, or why it ended
}

func (one *subscription) settle(err error) {
	select {
	case one.settled <- err:
	default: // nobody waits any more
	}
}

// begin subscribes to a resource until s ends. It returns when the server has
// acknowledged that, or may have.
func (all *subscriptions) begin(ctx context.Context, s *session, uri string) error {
	wanted, err := json.Marshal(map[string][]string{"resourceSubscriptions": {uri}})
	if err != nil {
		return err
	}
	life, cancel := context.WithCancel(s.life)
	one := &subscription{cancel, make(chan error, 1)}
	if added, err := all.add(uri, one); !added {
		cancel()
		return err
	}
	begun := s.tasks.Go(func() {
		err := s.listen(life, wanted)
		all.drop(uri, one)
		one.settle(err)
	})
	if !begun {
		all.drop(uri, one)
		return transport.ErrClosing
	}
	late := time.NewTimer(ackWait)
	defer late.Stop()
	select {
	case err := <-one.settled:
		return err
	case <-late.C:
		return nil
	case <-ctx.Done():
		all.end(uri)
		return context.Cause(ctx)
	}
}

// add adds a subscription unless there is one to the resource, or there are too many.
func (all *subscriptions) add(uri string, one *subscription) (added bool, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	switch {
	case all.open[uri] != nil:
		return false, nil
	case len(all.open) >= maxSubscriptions:
		return false, fmt.Errorf("more than %d resources are subscribed", maxSubscriptions)
	case all.open == nil:
		all.open = map[string]*subscription{}
	}
	all.open[uri] = one
	return true, nil
}

// drop ends a subscription and forgets it, unless another has taken its place.
func (all *subscriptions) drop(uri string, one *subscription) {
	one.cancel()
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open[uri] == one {
		delete(all.open, uri)
	}
}

// end ends the subscription to a resource.
func (all *subscriptions) end(uri string) {
	all.mu.Lock()
	one := all.open[uri]
	all.mu.Unlock()
	if one != nil {
		all.drop(uri, one)
	}
}

// acknowledge takes note of what the server will tell of.
func (all *subscriptions) acknowledge(params json.RawMessage) {
	var p struct {
		Notifications struct{ ResourceSubscriptions []string }
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, uri := range p.Notifications.ResourceSubscriptions {
		if one := all.open[uri]; one != nil {
			one.settle(nil)
		}
	}
}
