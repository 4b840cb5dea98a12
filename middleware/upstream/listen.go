package upstream

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"rlmproxy/middleware/wire"
)

// listen reads what belongs to no call, as long as the session lives: by GET
// from servers with sessions, by subscriptions/listen from those without.
// Servers need not offer it.
func (l *httpLink) listen() {
	if l.meta != nil && !l.hasChanges() {
		return
	}
	in := &inbound{link: l, ctx: l.life}
	defer in.wg.Wait()
	lastID := ""
	pause := firstPause
	opened, missed := false, false
	for l.life.Err() == nil {
		begun := time.Now()
		resp, err := l.openListener(lastID)
		asked := time.Duration(0)
		switch {
		case err != nil:
			missed = true
		case resp.StatusCode/100 == 2 && isStream(resp):
			if missed {
				// The server was away, and may offer something else since.
				l.hooks.listChanged()
			}
			opened, missed = true, false
			lastID, asked = in.listenTo(resp, lastID)
		case resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests:
			missed = true
		default:
			if opened {
				_ = l.refused(resp, "") // finds out whether the server has forgotten the session
			}
			l.hooks.logger.Debug("no stream for what belongs to no call", "status", resp.Status)
			resp.Body.Close()
			return
		}
		if resp != nil {
			resp.Body.Close()
		}
		if asked > 0 {
			if sleep(l.life, max(asked, minPause)) != nil {
				return
			}
			continue
		}
		if time.Since(begun) > steady {
			pause = firstPause
		}
		if sleep(l.life, pause) != nil {
			return
		}
		pause = min(2*pause, maxRetry)
	}
}

// listenTo reads a stream to its end. It returns the id of the last event and
// the pause that the server asks for.
func (in *inbound) listenTo(resp *http.Response, lastID string) (string, time.Duration) {
	events := in.events(resp, lastID)
	for {
		ev, err := events.next()
		var long *tooLongError
		switch {
		case errors.As(err, &long):
		case err != nil:
			return events.lastID, events.retry
		case ev.name != "" && ev.name != "message":
		default:
			_, _, err = in.data(ev.data, "")
		}
		if err != nil {
			in.link.hooks.logger.Warn("an event is no message", "error", err)
		}
	}
}

// hasChanges reports whether the server says that it tells of changes.
func (l *httpLink) hasChanges() bool {
	c := l.init.Capabilities
	return c != nil && (c.Tools != nil && c.Tools.ListChanged || c.Prompts != nil && c.Prompts.ListChanged || c.Resources != nil && c.Resources.ListChanged)
}

func (l *httpLink) openListener(lastID string) (*http.Response, error) {
	if l.meta == nil {
		return l.get(l.life, lastID)
	}
	const method = "subscriptions/listen"
	params, err := withMeta(json.RawMessage(`{"notifications":`+l.wanted()+`}`), l.meta, "")
	if err != nil {
		return nil, err
	}
	return l.post(l.life, message(`"rlm-listen"`, method, params), method, params)
}

// wanted are the notifications that the server declares, for
// subscriptions/listen.
func (l *httpLink) wanted() string {
	c := l.init.Capabilities
	out := []byte{'{'}
	if c.Tools != nil && c.Tools.ListChanged {
		out = wire.AppendMember(out, "toolsListChanged", []byte("true"))
	}
	if c.Prompts != nil && c.Prompts.ListChanged {
		out = wire.AppendMember(out, "promptsListChanged", []byte("true"))
	}
	if c.Resources != nil && c.Resources.ListChanged {
		out = wire.AppendMember(out, "resourcesListChanged", []byte("true"))
	}
	return string(append(out, '}'))
}

var _ link = (*httpLink)(nil)
