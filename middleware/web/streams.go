package web

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/rpc"
)

type streamKey struct{}

// withStream gives requests that are received with ctx the stream for their answers.
func withStream(ctx context.Context, s *stream) context.Context {
	return context.WithValue(ctx, streamKey{}, s)
}

// streamOf is the stream of the request that ctx is of, or nil.
func streamOf(ctx context.Context) *stream {
	s, _ := ctx.Value(streamKey{}).(*stream)
	return s
}

// statelessTransport is the way to the client of one request of revision 2026-07-28.
type statelessTransport struct{ stream *stream }

var _ rpc.Transport = statelessTransport{}

// Send implements [rpc.Transport]. It does not block.
func (t statelessTransport) Send(_ context.Context, m rpc.Message) error {
	if m.Method != "" && m.ID != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "clients of revision " + revision.Stateless + " can be asked for input only in results of their own requests"}
	}
	t.stream.push(m)
	return nil
}

// Try implements [rpc.Transport].
func (t statelessTransport) Try(ctx context.Context, m rpc.Message) { _ = t.Send(ctx, m) }

// streams is the way to the client of a session. Answers go out on the stream of their
// request. So does what is sent while the request is worked on; all else goes to the
// stream on which the client listens.
type streams struct {
	listening *stream        // by GET
	account   *guard.Account // of what the client has not read yet
	prefix    string         // of the streams' ids
	// elsewhere hands what is for a client that listens at another replica to that one, and
	// reports whether it does. Nil: there is none.
	elsewhere func(ctx context.Context, m rpc.Message) (passed bool, err error)

	mu   sync.Mutex // guards the fields below
	seq  int
	byID map[string]*stream // those that the client knows an id of
}

var _ rpc.Transport = (*streams)(nil)

func newStreams(of *session, account *guard.Account) *streams {
	listening := newStream(1, account) // that one request is never answered
	listening.session, listening.listens, listening.expected = of, true, false
	t := &streams{listening: listening, account: account, byID: map[string]*stream{}}
	if of.sharing != nil {
		t.prefix = of.sharing.prefix
	}
	t.identify(listening)
	return t
}

// Send implements [rpc.Transport]. It does not block.
func (t *streams) Send(ctx context.Context, m rpc.Message) error {
	s := streamOf(ctx)
	if m.Method != "" {
		if s == nil || s.ended() {
			s = t.listening
		}
		if s == t.listening && t.elsewhere != nil {
			if passed, err := t.elsewhere(ctx, m); passed {
				return err
			}
		}
		if m.ID != nil && !s.reachable() {
			return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client has no stream open on which it could be asked"}
		}
		if m.ID != nil {
			if err := t.room(); err != nil {
				return err
			}
		}
	}
	if m.Method == "" && s.answering != nil {
		s.answering(m)
	}
	s.push(m)
	return nil
}

// room reports whether the client can be asked: not where it reads nothing.
func (t *streams) room() error {
	if t.account.Over() {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: errUnread.Error()}
	}
	return nil
}

// Try implements [rpc.Transport].
func (t *streams) Try(ctx context.Context, m rpc.Message) { _ = t.Send(ctx, m) }

// identify gives a stream the id by which the client may come back to it. Its reader
// calls it before the client learns the id.
func (t *streams) identify(s *stream) {
	if s.id != "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.id = t.prefix + strconv.Itoa(t.seq) + s.answers
	t.seq++
	t.byID[s.id] = s
}

// remove drops a stream that the client cannot come back to any more.
func (t *streams) remove(s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s != t.listening {
		delete(t.byID, s.id)
	}
}

// settle says that nobody reads any of them any more.
func (t *streams) settle() {
	t.mu.Lock()
	all := slices.Collect(maps.Values(t.byID))
	t.mu.Unlock()
	for _, s := range all {
		s.settle()
	}
}

// eventID names the nth event of a stream. It says how many the client has.
func eventID(stream string, n int) string { return fmt.Sprintf("%s_%d", stream, n) }

// find returns the stream of an event's id and the number of the event there.
func (t *streams) find(event string) (*stream, int) {
	id, number, ok := strings.Cut(event, "_")
	number, _, _ = strings.Cut(number, "_") // behind that is how often the client was sent back
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 {
		return nil, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id], n
}
