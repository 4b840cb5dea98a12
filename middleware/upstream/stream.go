package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/wire"
)

// A streamLink is a session over one of our own connections.
type streamLink struct {
	*wire.Conn
	hooks hooks
	open  opener
	init  *Info
	meta  map[string]json.RawMessage // nil before NewestVersion
	feeds feeds
	proc  *process // nil for a server inside our own process
	end   func()   // ends the far side

	life  context.Context // ends with the session
	die   context.CancelFunc
	tasks tasks
}

// An opener starts the far side of a stream.
type opener func() (r io.ReadCloser, w io.WriteCloser, p *process, end func(), err error)

// Stdio returns a Dialer that starts c.
func Stdio(c Command) Dialer {
	return func(ctx context.Context, h hooks) (link, error) {
		return dialStream(ctx, h, func() (io.ReadCloser, io.WriteCloser, *process, func(), error) {
			p, err := c.start(h.logger)
			if err != nil {
				return nil, nil, nil, nil, err
			}
			return p.stdout, p.stdin, p, p.close, nil
		})
	}
}

// InProcess returns a Dialer for a server inside our own process.
func InProcess(s *mcp.Server) Dialer {
	return func(ctx context.Context, h hooks) (link, error) {
		return dialStream(ctx, h, func() (io.ReadCloser, io.WriteCloser, *process, func(), error) {
			near, far := net.Pipe()
			ss, err := s.Connect(context.Background(), &mcp.IOTransport{Reader: far, Writer: far, MaxLineLength: -1}, nil)
			if err != nil {
				return nil, nil, nil, nil, err
			}
			return near, near, nil, func() { near.Close(); ss.Close() }, nil
		})
	}
}

func dialStream(ctx context.Context, h hooks, open opener) (link, error) {
	return negotiate(ctx, h, func(ctx context.Context, newest bool) (link, error) {
		l, err := openStream(ctx, h, open, newest, h.newest)
		if err != nil {
			return nil, err
		}
		return l, nil
	})
}

// openStream starts the far side and shakes hands. With orOlder, a server that
// refuses the newest revision is spoken to in an older one.
func openStream(ctx context.Context, h hooks, open opener, newest, orOlder bool) (*streamLink, error) {
	r, w, proc, end, err := open()
	if err != nil {
		return nil, err
	}
	l := &streamLink{hooks: h, open: open, proc: proc, end: end}
	l.life, l.die = context.WithCancel(context.Background())
	l.Conn = wire.NewConn(r, w, wire.Options{
		MaxLineBytes: h.maxLineBytes,
		Junk: func(line []byte, err error) {
			h.junk.add("line on stdout is no message", "line", string(line), "error", err)
		},
		Handle: h.request,
		Notify: l.notified,
		Fault:  func(err error) { h.logger.Error("internal error", "error", err) },
	})
	l.tasks.Go(l.drop)
	if newest {
		if l.meta, err = newestMeta(h); err == nil {
			l.init, err = discover(ctx, l, h, l.meta)
		}
		var refused *jsonrpc.Error
		if orOlder && errors.As(err, &refused) {
			l.meta, newest = nil, false
		}
	}
	if !newest {
		if l.init, err = initialize(ctx, l, h); err == nil {
			err = l.Notify(ctx, "notifications/initialized", nil)
		}
	}
	if err != nil {
		// How it ended says more than which of its pipes was found closed first.
		if proc != nil && ctx.Err() == nil && errors.Is(err, wire.ErrClosed) {
			if how := proc.exit(); how != "" {
				err = fmt.Errorf("the server ended during the handshake (%s)", how)
			} else {
				err = fmt.Errorf("the server closed a pipe during the handshake: %w", err)
			}
		}
		l.Close()
		return nil, err
	}
	if wanted := changesOf(l.init); newest && wanted != nil {
		l.tasks.Go(func() {
			if err := l.listen(l.life, wanted); l.life.Err() == nil {
				h.logger.Debug("subscriptions/listen", "error", err)
			}
		})
	}
	return l, nil
}

// drop reads what nobody waits for.
func (l *streamLink) drop() {
	for {
		if _, err := l.Read(l.life); err != nil {
			return
		}
	}
}

func (l *streamLink) notified(method string, params json.RawMessage) bool {
	if method == acknowledged {
		l.feeds.acked(params)
		return true
	}
	return l.hooks.notified(l.hooks.life, method, params)
}

// listen hears of what is wanted until ctx ends or the server refuses it. Where the
// server ends the subscription, it is begun again after a pause, which doubles
// unless the one before has lasted.
func (l *streamLink) listen(ctx context.Context, wanted json.RawMessage) error {
	params, err := listenParams(wanted, l.meta)
	if err != nil {
		return err
	}
	for rest := newPace(); ; {
		begun := time.Now()
		if _, err := l.Call(ctx, listenMethod, params); err != nil {
			return err
		}
		if err := sleep(ctx, rest.next(time.Since(begun), false, 0)); err != nil {
			return err
		}
		l.hooks.missed(wanted)
	}
}

// Watch implements link.
func (l *streamLink) Watch(ctx context.Context, uri string, on bool) error {
	if !on {
		l.feeds.end(uri)
		return nil
	}
	return l.feeds.begin(ctx, l.life, &l.tasks, uri, l.listen)
}

// Newer implements link: servers on streams decide by the first message.
func (l *streamLink) Newer(ctx context.Context) (link, error) {
	if l.meta != nil {
		return nil, errNotNewer
	}
	newer, err := openStream(ctx, l.hooks, l.open, true, false)
	if err != nil {
		return nil, err
	}
	return newer, nil
}

// Beside implements link.
func (l *streamLink) Beside() bool { return false }

func (l *streamLink) Meta() map[string]json.RawMessage { return l.meta }
func (l *streamLink) Init() *Info                      { return l.init }

// Exit implements link.
func (l *streamLink) Exit() string {
	if l.proc == nil {
		return ""
	}
	return l.proc.exit()
}

// Close ends the session and, if it has one, the process.
func (l *streamLink) Close() {
	l.end()
	l.die()
	l.Conn.Close()
	<-l.Conn.Done()
	l.tasks.end()
}

var _ link = (*streamLink)(nil)
