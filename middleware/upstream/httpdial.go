package upstream

import (
	"context"
	"net/http"
)

// dialHTTP shakes hands, and listens to what belongs to no call.
func dialHTTP(ctx context.Context, h hooks, url string, client *http.Client) (link, error) {
	return negotiate(ctx, h, func(ctx context.Context, newest bool) (link, error) {
		l, err := openHTTP(ctx, h, url, client, new(paramHeaders), newest)
		if err != nil {
			return nil, err
		}
		l.listenToChanges()
		return l, nil
	})
}

// listenToChanges begins to listen to what belongs to no call.
func (l *httpLink) listenToChanges() {
	if wanted := changesOf(l.init); l.meta == nil || wanted != nil {
		l.spawn(func() { _ = l.listen(l.life, wanted) })
	}
}

// openHTTP shakes hands. Headers is shared by the sessions with one server.
func openHTTP(ctx context.Context, h hooks, url string, client *http.Client, headers *paramHeaders, newest bool) (*httpLink, error) {
	l := &httpLink{client: client, url: url, hooks: h, headers: headers}
	l.asks = newAsks(h, l.reply)
	l.life, l.die = context.WithCancelCause(context.Background())
	var err error
	if newest {
		l.version = NewestVersion
		if l.meta, err = newestMeta(h); err == nil {
			l.init, err = discover(ctx, l, h, l.meta)
		}
	} else if l.init, err = initialize(ctx, l, h); err == nil {
		l.version = l.init.ProtocolVersion
		err = l.Notify(ctx, "notifications/initialized", nil)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Newer implements link. Each request of NewestVersion stands alone, so the
// session goes on beside.
func (l *httpLink) Newer(ctx context.Context) (link, error) {
	if l.meta != nil {
		return nil, errNotNewer
	}
	newer, err := openHTTP(ctx, l.hooks, l.url, l.client, l.headers, true)
	if err != nil {
		return nil, err
	}
	if l.session == "" { // an older request has nowhere to hear of changes
		newer.listenToChanges()
	}
	return newer, nil
}

// Beside implements link.
func (l *httpLink) Beside() bool { return true }

// Watch implements link.
func (l *httpLink) Watch(ctx context.Context, uri string, on bool) error {
	if !on {
		l.feeds.end(uri)
		return nil
	}
	return l.feeds.begin(ctx, l.life, &l.tasks, uri, l.listen)
}
