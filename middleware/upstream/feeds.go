package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
)

// In NewestVersion a subscription is a request, subscriptions/listen, that says
// what is wanted and is answered when it ends.
const (
	listenMethod = "subscriptions/listen"
	acknowledged = "notifications/subscriptions/acknowledged" // the first thing that comes of it
)

// changesOf is what a server tells of its lists, as subscriptions/listen wants
// it, or nil if that is nothing.
func changesOf(init *Info) json.RawMessage {
	c := init.Capabilities
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

func listenParams(wanted json.RawMessage, meta map[string]json.RawMessage) (json.RawMessage, error) {
	return withMeta(jsonscan.Object("notifications", wanted), meta, "")
}

// missed tells of what may have changed while nobody listened to what is wanted.
func (h hooks) missed(wanted json.RawMessage) {
	uri := gjson.GetBytes(wanted, "resourceSubscriptions.0")
	if !uri.Exists() {
		h.listChanged()
		return
	}
	h.notify(h.life, "notifications/resources/updated", jsonscan.Object("uri", []byte(uri.Raw)))
}

// maxFeeds bounds the resources that are subscribed to at one server, each of
// which is a request or, over HTTP, a connection.
const maxFeeds = 256

// ackWait is how long a subscription may stay unacknowledged: it may work all
// the same.
const ackWait = 5 * time.Second

// feeds are a link's subscriptions to resources.
type feeds struct {
	mu   sync.Mutex // guards the field below
	open map[string]*feed
}

// A feed is one of them.
type feed struct {
	cancel context.CancelFunc
	acked  chan struct{} // capacity 1
	ended  chan struct{} // closed when err is set
	err    error
}

// begin subscribes to a resource until life ends: listen does, and returns when
// the subscription has ended. It is one of tasks.
func (f *feeds) begin(ctx, life context.Context, tasks *tasks, uri string, listen func(context.Context, json.RawMessage) error) error {
	wanted, err := json.Marshal(map[string][]string{"resourceSubscriptions": {uri}})
	if err != nil {
		return err
	}
	one := &feed{acked: make(chan struct{}, 1), ended: make(chan struct{})}
	life, one.cancel = context.WithCancel(life)
	f.mu.Lock()
	switch {
	case f.open[uri] != nil:
		f.mu.Unlock()
		one.cancel()
		return nil
	case len(f.open) >= maxFeeds:
		f.mu.Unlock()
		one.cancel()
		return fmt.Errorf("more than %d resources are subscribed to", maxFeeds)
	case f.open == nil:
		f.open = map[string]*feed{}
	}
	f.open[uri] = one
	f.mu.Unlock()
	begun := tasks.Go(func() {
		err := listen(life, wanted)
		f.drop(uri, one)
		if one.err = err; err == nil {
			one.err = errors.New("the server has ended the subscription")
		}
		close(one.ended)
	})
	if !begun {
		f.drop(uri, one)
		return errClosing
	}
	late := time.NewTimer(ackWait)
	defer late.Stop()
	select {
	case <-one.acked:
	case <-late.C:
	case <-one.ended:
		return one.err
	case <-ctx.Done():
		f.end(uri)
		return context.Cause(ctx)
	}
	return nil
}

// drop ends a feed and forgets it, unless another has taken its place.
func (f *feeds) drop(uri string, one *feed) {
	one.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[uri] == one {
		delete(f.open, uri)
	}
}

// end ends the subscription to a resource.
func (f *feeds) end(uri string) {
	f.mu.Lock()
	one := f.open[uri]
	f.mu.Unlock()
	if one != nil {
		f.drop(uri, one)
	}
}

// acked takes note of what the server will tell of.
func (f *feeds) acked(params json.RawMessage) {
	var p struct {
		Notifications struct{ ResourceSubscriptions []string }
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, uri := range p.Notifications.ResourceSubscriptions {
		if one := f.open[uri]; one != nil {
			select {
			case one.acked <- struct{}{}:
			default:
			}
		}
	}
}
