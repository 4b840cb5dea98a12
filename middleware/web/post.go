package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"net/http"

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

// metaOf reads it from params. What is of the wrong type is as if it were not there.
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
