package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/rpc"
)

// SSE is a connection over the older HTTP with server-sent events, where messages are
// posted and all that comes back is on one stream. The stream names the URL for
// messages first.
type SSE struct {
	*rpc.Peer
	opts   Options
	client *http.Client
	stream *http.Response
	events *eventReader
	post   string          // the URL for messages
	life   context.Context // ends with the connection
	die    context.CancelFunc
	tasks  Tasks         // what is sent and nobody waits for
	ended  chan struct{} // closed when nothing is read or answered any more
}

var _ rpc.Transport = (*SSE)(nil)

// endpointWait is how long a stream may take to name the endpoint, which servers do
// at once: one that does not is of another transport.
const endpointWait = 5 * time.Second

// OpenSSE opens the stream at address, a URL, and reads where messages go. The stream
// outlasts ctx.
func OpenSSE(ctx context.Context, address string, client *http.Client, opts Options) (*SSE, error) {
	s := &SSE{opts: opts, client: client, ended: make(chan struct{})}
	s.life, s.die = context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, s.die)
	defer stop()
	if err := s.open(address); err != nil {
		s.die()
		client.CloseIdleConnections()
		return nil, err
	}
	s.Peer = rpc.NewPeer(s, opts.Options)
	go s.read()
	return s, nil
}

// open opens the stream and reads where messages go.
func (s *SSE) open(address string) error {
	base, err := url.Parse(address)
	if err != nil {
		return errors.New("the URL cannot be parsed") // the error would repeat it
	}
	req, err := http.NewRequestWithContext(s.life, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := s.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	if resp.StatusCode/100 != 2 {
		resp.Body.Close()
		return newStatusError(resp)
	}
	s.stream, s.events = resp, newEventReader(resp.Body, s.opts.MaxBytes)
	late := time.AfterFunc(endpointWait, func() { resp.Body.Close() })
	ev, err := s.events.next()
	switch {
	case !late.Stop():
		err = fmt.Errorf("the stream names no endpoint within %v", endpointWait)
	case err != nil:
		err = fmt.Errorf("the stream names no endpoint: %w", err)
	case ev.name != "endpoint":
		err = fmt.Errorf("the first event is %.40q, not the endpoint", ev.name)
	default:
		var to *url.URL
		if to, err = base.Parse(string(ev.data)); err == nil {
			s.post = to.String()
			return nil
		}
		err = errors.New("the endpoint cannot be parsed")
	}
	resp.Body.Close()
	return err
}

// read takes in what comes, until the stream ends.
func (s *SSE) read() {
	defer close(s.ended)
	defer s.Peer.Close()
	defer s.die()
	defer s.stream.Body.Close()
	for {
		ev, err := s.events.next()
		var long *tooLongError
		switch {
		case errors.As(err, &long):
			s.unreadable(long.head, err)
		case err != nil:
			return
		case ev.isMessage():
			if err := eachMessage(rpc.Trim(ev.data), s.message); err != nil {
				s.unreadable(ev.data, err)
			}
		}
	}
}

// message takes one message in.
func (s *SSE) message(data []byte) error {
	m, err := rpc.Parse(data)
	if err != nil {
		s.unreadable(data, err)
		return nil
	}
	receive(s.life, s.Peer, s, m)
	return nil
}

// unreadable fails the call that an unreadable message would have answered, of one that
// is too long by its begin.
func (s *SSE) unreadable(data []byte, why error) {
	s.opts.junk(data, why)
	if data = rpc.Trim(data); len(data) > 0 && data[0] == '{' {
		var long *tooLongError
		s.Unreadable(rpc.EndsOf(data), why, errors.As(why, &long) || errors.Is(why, jsonscan.ErrTooDeep))
	}
}

// Done is closed when the stream has ended.
func (s *SSE) Done() <-chan struct{} { return s.life.Done() }

// Exit says nothing: the stream does not tell why it ended.
func (s *SSE) Exit() string { return "" }

// Close ends the connection.
func (s *SSE) Close() {
	s.die()
	s.stream.Body.Close()
	<-s.ended
	s.tasks.Wait()
	s.client.CloseIdleConnections()
}

// Send implements [rpc.Transport].
func (s *SSE) Send(ctx context.Context, m rpc.Message) error {
	if m.Method == "" {
		return reply(ctx, s.life, s.opts.Logger, func(ctx context.Context) error { return s.tell(ctx, m) })
	}
	err := s.tell(ctx, m)
	var status *StatusError
	var signIn *SignInError
	if err != nil && !errors.As(err, &status) && !errors.As(err, &signIn) {
		return lost(err)
	}
	return err
}

// Try implements [rpc.Transport].
func (s *SSE) Try(_ context.Context, m rpc.Message) {
	s.tasks.try(s.life, func(ctx context.Context) error { return s.tell(ctx, m) })
}

// tell posts one message, which the server answers on the stream.
func (s *SSE) tell(ctx context.Context, m rpc.Message) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.post, bytes.NewReader(m.Bytes()))
	if err != nil {
		return errors.New("the endpoint cannot be reached") // the error would repeat its URL
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return newStatusError(resp)
	}
	if n := resp.ContentLength; n > 0 && n <= maxFieldBytes {
		discardRest(resp)
	}
	return nil
}
