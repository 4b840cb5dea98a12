package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/wire"
)

// listen reads what belongs to no call until ctx ends, which l.life does with
// it: by GET from servers with sessions, by subscriptions/listen with what is
// wanted from those without. Servers need not offer it.
func (l *httpLink) listen(ctx context.Context, wanted json.RawMessage) error {
	in := &inbound{link: l, ctx: ctx}
	lastID := ""
	rest := newPace()
	opened, missed := false, false
	for ctx.Err() == nil {
		begun := time.Now()
		resp, id, err := l.openListener(ctx, wanted, lastID)
		asked := time.Duration(0)
		in.brought = false
		switch {
		case err != nil:
			missed = true
		case resp.StatusCode/100 == 2 && isStream(resp):
			if missed {
				l.hooks.missed(wanted)
			}
			opened, missed = true, false
			lastID, asked, err = in.listenTo(resp, id, lastID)
			if err != nil {
				resp.Body.Close()
				return err
			}
			if !canBeSent(lastID) {
				lastID = ""
			}
		case resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests:
			missed = true
		default:
			if opened || l.meta != nil {
				err = l.refused(resp, id) // finds out whether the server has forgotten the session
			}
			l.hooks.logger.Debug("no stream for what belongs to no call", "status", resp.Status)
			resp.Body.Close()
			return err
		}
		if resp != nil {
			resp.Body.Close()
		}
		if err := sleep(ctx, rest.next(time.Since(begun), in.brought, asked)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// listenTo reads a stream to its end. It returns the id of the last event, the
// pause that the server asks for, or the error that it answers the request of
// this id with.
func (in *inbound) listenTo(resp *http.Response, id, lastID string) (string, time.Duration, error) {
	events := in.events(resp, lastID)
	for {
		ev, err := events.next()
		var long *tooLongError
		switch {
		case errors.As(err, &long):
		case err != nil:
			return events.lastID, events.retry, nil
		case !ev.isMessage():
		default:
			_, _, err = in.data(ev.data, id)
		}
		var refused *jsonrpc.Error
		if errors.As(err, &refused) {
			return "", 0, refused
		}
		if err != nil {
			in.link.hooks.junk.add("an event is no message", "error", err)
		}
	}
}

// openListener begins to listen; lastID is the event to go on behind. The id is
// that of the request, or empty.
func (l *httpLink) openListener(ctx context.Context, wanted json.RawMessage, lastID string) (resp *http.Response, id string, err error) {
	if l.meta == nil {
		resp, err = l.get(ctx, lastID)
		return resp, "", err
	}
	params, err := listenParams(wanted, l.meta)
	if err != nil {
		return nil, "", err
	}
	id = strconv.Quote("rlm-listen-" + strconv.FormatInt(l.seq.Add(1), 10))
	resp, err = l.post(ctx, wire.Request(id, listenMethod, params), listenMethod, params)
	return resp, id, err
}

var _ link = (*httpLink)(nil)
