package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/wire"
)

// Members of _meta.
const (
	metaVersion = mcp.MetaKeyProtocolVersion
	metaClient  = mcp.MetaKeyClientInfo
	metaAgent   = "rlmproxy/agent"
)

// meta is what of a request's _meta is the transport's business.
type meta struct {
	version, agent string
	client         json.RawMessage
}

// eachMember is jsonscan.Members for what may be no object.
func eachMember(b json.RawMessage, f func(key string, value json.RawMessage) error) error {
	if len(b) == 0 || b[0] != '{' {
		return nil
	}
	return jsonscan.Members(b, f)
}

func metaOf(params json.RawMessage) (m meta) {
	_ = eachMember(params, func(key string, value json.RawMessage) error {
		if key != "_meta" {
			return nil
		}
		return eachMember(value, func(key string, value json.RawMessage) error {
			var into *string
			switch key {
			case metaVersion:
				into = &m.version
			case metaAgent:
				into = &m.agent
			case metaClient:
				m.client = value
			}
			if into != nil && value[0] == '"' {
				return json.Unmarshal(value, into)
			}
			return nil
		})
	})
	return m
}

const (
	// bodyTime is how long a message may take to arrive.
	bodyTime = time.Minute

	// bodyWait is how long a long one waits for its share before it is refused:
	// most clients have given up by then.
	bodyWait = 2 * time.Minute

	// largeBody is from where it shares the bytes that all have. A hold counts
	// from one byte more.
	largeBody = 1<<20 + 1
)

// post takes the messages of a client and delivers what it is owed for them.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, version string) {
	if !isJSON(r.Header.Get("Content-Type")) {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	if jsons, streams := accepts(r); !jsons || !streams {
		http.Error(w, "Accept must have application/json and text/event-stream", http.StatusNotAcceptable)
		return
	}
	hold := h.bodies.Hold()
	defer hold.Release()
	body, ok := h.read(w, r, hold)
	if !ok {
		return
	}
	msgs, batch, err := split(body)
	if err != nil {
		fail(w, http.StatusBadRequest, nil, codeParse, err.Error())
		return
	}
	said := version
	if said == "" {
		said = unsaid
	}
	switch {
	case batch && said >= unbatched:
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "batches ended with revision "+unbatched)
		return
	case len(msgs) == 0:
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "the batch is empty")
		return
	}
	for _, m := range msgs {
		if m.Method == "" || m.ID == nil {
			continue
		}
		if err := wire.CheckID(m.ID); err != nil {
			fail(w, http.StatusBadRequest, nil, codeInvalidRequest, err.Error())
			return
		}
		if no := checkVersion(version, metaOf(m.Params)); no != nil {
			fail(w, http.StatusBadRequest, m.ID, no.code, no.text)
			return
		}
	}
	if version >= stateless {
		h.postStateless(w, r, msgs[0])
		return
	}
	h.postSession(w, r, msgs, batch, said)
}

// errLongBodies is why a long body is refused.
var errLongBodies = errors.New("long messages of others are being worked on")

// read reads a body. What is long takes its share of the bytes that all bodies
// may have. It has that until it was answered: what is made of it is in memory for
// as long, in the SDK's record of the request too, so nothing is gained by giving
// the share back when the request was sent on.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, hold *wire.Hold) ([]byte, bool) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // tests have connections without
	length := h.opts.MaxBodyBytes
	in := http.MaxBytesReader(w, r.Body, length)
	if r.ContentLength >= 0 {
		length = min(length, r.ContentLength)
	}
	var b bytes.Buffer
	held := hold.Reader(r.Context(), in, length)
	_, err := b.ReadFrom(io.LimitReader(held, largeBody))
	if err == nil && b.Len() == largeBody {
		wait, end := context.WithTimeoutCause(r.Context(), bodyWait, errLongBodies)
		err = hold.Take(wait, length)
		end()
		_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // it may have waited
		if err == nil && r.ContentLength > largeBody {
			b.Grow(int(length) - b.Len() + bytes.MinRead) // or it is copied as it grows
		}
		if err == nil {
			_, err = b.ReadFrom(held)
		}
	}
	if err == nil { // else what is left of it is read, in what is left of its time
		_ = rc.SetReadDeadline(time.Time{})
	}
	if body := b.Bytes(); err == nil && len(body) > 0 {
		// It has turned out how long it is. Whoever gave all back and waited for
		// another turn would stand behind all others, each with its body.
		hold.Keep(int64(len(body)))
		return body, true
	}
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		fail(w, http.StatusRequestEntityTooLarge, nil, codeInvalidRequest, fmt.Sprintf("a message of more than %d bytes", over.Limit))
	case errors.Is(err, errLongBodies):
		w.Header().Set("Retry-After", "60")
		fail(w, http.StatusServiceUnavailable, nil, codeInvalidRequest, err.Error())
	case err != nil:
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "the body could not be read")
	default:
		fail(w, http.StatusBadRequest, nil, codeParse, "the body is empty")
	}
	return nil, false
}

// split slices the messages out of a body.
func split(body []byte) (msgs []wire.Message, batch bool, err error) {
	at := 0
	for at < len(body) && (body[at] == ' ' || body[at] == '\t' || body[at] == '\n' || body[at] == '\r') {
		at++
	}
	add := func(b json.RawMessage) error {
		m, err := wire.Split(b)
		if err == nil && m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil) {
			err = errors.New("neither a request nor an answer")
		}
		if err == nil && len(msgs) == maxOpen {
			err = errTooMany
		}
		msgs = append(msgs, m)
		return err
	}
	if body = body[at:]; len(body) > 0 && body[0] == '[' {
		err = jsonscan.Elements(body, add)
		return msgs, true, err
	}
	err = add(body)
	return msgs, false, err
}

// request is m as the SDK takes it.
func request(m wire.Message, origin string) (*jsonrpc.Request, error) {
	method, params := m.Method, m.Params
	if m.ID == nil {
		return &jsonrpc.Request{Method: method, Params: params}, nil
	}
	id, err := wire.ParseID(m.ID)
	if err == nil && middleware.Forwards(method) {
		method = wire.ForwardMethod
		params, err = wire.Forward(m.Method, m.Params, origin)
	}
	return &jsonrpc.Request{ID: id, Method: method, Params: params}, err
}

// postStateless answers a request of revision 2026-07-28, which has a link for itself.
func (h *Handler) postStateless(w http.ResponseWriter, r *http.Request, m wire.Message) {
	if m.Method == "" {
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "revision "+stateless+" has no requests to clients")
		return
	}
	if no := h.checkHeaders(r.Header, m); no != nil {
		fail(w, http.StatusBadRequest, m.ID, no.code, no.text)
		return
	}
	l := h.newLink("")
	client, err := h.opts.Server.Attach(context.WithoutCancel(r.Context()), l, identity(r, metaOf(m.Params)))
	if err != nil {
		h.log.Error("request not begun", "error", err)
		fail(w, http.StatusInternalServerError, m.ID, jsonrpc.CodeInternalError, "the request could not be begun")
		return
	}
	defer client.End()
	defer l.Close()
	if m.ID == nil {
		// The end of a request cancels it, and there is no session to tell of.
		client.Notification(m.Method, m.Params)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h.call(w, r, l, []wire.Message{m}, false, "")
}

// identity is who a request without session is from.
func identity(r *http.Request, meta meta) middleware.Identity {
	who := middleware.Identity{Name: r.Header.Get(headerAgent)}
	who.Subject, _ = auth.Subject(r.Context())
	if who.Name == "" {
		who.Name = meta.agent
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	sum := sha256.Sum256([]byte(host + "\n" + r.UserAgent() + "\n" + string(meta.client)))
	who.Peer = hex.EncodeToString(sum[:])
	return who
}

// postSession takes the messages of a session, or the one that begins it.
func (h *Handler) postSession(w http.ResponseWriter, r *http.Request, msgs []wire.Message, batch bool, version string) {
	begins := false
	for _, m := range msgs {
		begins = begins || m.Method == "initialize" && m.ID != nil
	}
	var s *session
	switch {
	case begins && batch:
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "initialize stands alone")
		return
	case begins && r.Header.Get(headerSession) == "":
		if s = h.open(r); s == nil {
			w.Header().Set("Retry-After", "60")
			fail(w, http.StatusServiceUnavailable, msgs[0].ID, codeNoSession, "too many sessions")
			return
		}
		w.Header().Set(headerSession, s.id)
		defer func() {
			if !s.client.Initialized() {
				h.remove(s, "it was not begun")
			}
		}()
	default:
		if s = h.use(w, r); s == nil {
			return
		}
	}
	defer h.release(s)
	var calls []wire.Message
	for _, m := range msgs {
		switch {
		case m.Method == "":
			m.Result, m.Error = clone(m.Result), clone(m.Error)
			s.link.answered(m)
		case m.ID != nil:
			calls = append(calls, m)
		case m.Method == "notifications/cancelled" && !s.link.unanswer(m.Params):
		case !s.client.Notification(m.Method, m.Params):
			if req, err := request(m, ""); err == nil {
				s.link.push(req)
			}
		}
	}
	if len(calls) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h.call(w, r, s.link, calls, batch, version)
}

// call passes requests on and delivers their answers.
func (h *Handler) call(w http.ResponseWriter, r *http.Request, l *link, calls []wire.Message, batch bool, version string) {
	ids := make([]jsonrpc.ID, len(calls))
	for i, m := range calls {
		id, err := wire.ParseID(m.ID)
		if err != nil {
			fail(w, http.StatusBadRequest, nil, codeInvalidRequest, err.Error())
			return
		}
		ids[i] = id
	}
	s := newStream(l, ids...)
	s.batch, s.begins = batch, calls[0].Method == "initialize"
	s.listens = l.session == "" && calls[0].Method == "subscriptions/listen"
	if err := l.admit(s); err != nil {
		status := http.StatusBadRequest
		switch {
		case errors.Is(err, errTooMany):
			status = http.StatusServiceUnavailable
		case errors.Is(err, wire.ErrClosed):
			status = http.StatusNotFound
		}
		fail(w, status, calls[0].ID, codeInvalidRequest, err.Error())
		return
	}
	for _, m := range calls {
		req, err := request(m, s.id)
		if err != nil { // Split has checked it
			h.log.Error("request not passed on", "error", err)
			continue
		}
		if m.Method == "initialize" && len(m.Params) <= wire.MaxHandshakeBytes {
			l.mu.Lock()
			l.handshake = clone(m.Params)
			l.mu.Unlock()
		}
		l.push(req)
	}
	p := newReply(w)
	p.streams = prefersStreams(r)
	h.deliver(r.Context(), p, s, l.session != "" && version >= resumable)
}

func clone(b json.RawMessage) json.RawMessage {
	return append(json.RawMessage(nil), b...)
}
