package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/revision"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/rpc"
)

// Members of _meta.
const (
	metaVersion = mcp.MetaKeyProtocolVersion
	metaClient  = mcp.MetaKeyClientInfo
	metaAgent   = "rlmproxy/agent"
)

// post takes the messages of a client and responds with what they cause.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, version string) {
	if !isJSON(r.Header.Get("Content-Type")) {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	accepted := accepts(r)
	if !accepted.json || !accepted.events {
		http.Error(w, "Accept must include application/json and text/event-stream", http.StatusNotAcceptable)
		return
	}
	claim := h.claim(r)
	defer func() { _ = claim.resize(0) }()
	body, ok := h.read(w, r, claim)
	if !ok {
		return
	}
	msgs, batch, err := parse(body)
	if err != nil {
		fail(w, http.StatusBadRequest, nil, codeParse, err.Error())
		return
	}
	switch {
	case batch && version >= revision.Unbatched:
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "there are no batches since revision "+revision.Unbatched)
		return
	case len(msgs) == 0:
		fail(w, http.StatusBadRequest, nil, codeInvalidRequest, "the batch is empty")
		return
	}
	for _, m := range msgs {
		if m.Method == "" || m.ID == nil {
			continue
		}
		if wrong := checkVersion(version, jsonscan.StringMember(jsonscan.Member(m.Params, "_meta"), metaVersion)); wrong != nil {
			fail(w, http.StatusBadRequest, m.ID, wrong.Code, wrong.Message)
			return
		}
	}
	if slices.ContainsFunc(msgs, isRequest) {
		_ = claim.resize(0) // the requests count their bytes, for as long as they run
	}
	out := newResponse(w, accepted.prefersEvents)
	if version >= revision.Stateless {
		h.postStateless(out, r, msgs[0])
		return
	}
	h.postSession(out, r, msgs, batch, version)
}

func isRequest(m rpc.Message) bool { return m.Method != "" && m.ID != nil }

// postStateless answers a request of revision 2026-07-28, which has a session for
// itself.
func (h *Handler) postStateless(out *response, r *http.Request, m rpc.Message) {
	if m.Method == "" {
		fail(out.w, http.StatusBadRequest, nil, codeInvalidRequest, "revision "+revision.Stateless+" has no requests to clients, and so no answers from them")
		return
	}
	if wrong := h.checkHeaders(r.Context(), r.Header, m); wrong != nil {
		fail(out.w, http.StatusBadRequest, m.ID, wrong.Code, wrong.Message)
		return
	}
	who := h.identity(r, jsonscan.Member(m.Params, "_meta"))
	s := newStream(1, h.opts.Accounts.Of(who.Party(0)))
	defer s.settle()
	s.listens = m.Method == "subscriptions/listen"
	session := h.opts.Attach(statelessTransport{s}, who, h.sessionOptions())
	defer session.End()
	// The client's end is that of the request, which has no other way to be cancelled.
	if err := session.Receive(withStream(r.Context(), s), m); err != nil {
		out.refuse(m.ID, err)
		return
	}
	if m.ID == nil {
		out.w.WriteHeader(http.StatusAccepted)
		return
	}
	h.deliver(r.Context(), out, s, false)
}

// sessionOptions is how a session reports to its transport.
func (h *Handler) sessionOptions() rpc.Options {
	return rpc.Options{
		Unanswered: func(ctx context.Context) { streamOf(ctx).unanswered() },
		Fault:      func(err error) { h.log.Error("internal error", "error", err) },
	}
}

// identity is who a request without session is from.
func (h *Handler) identity(r *http.Request, meta json.RawMessage) middleware.Identity {
	who := middleware.Identity{Name: r.Header.Get(headerAgent)}
	who.Subject, _ = auth.Subject(r.Context())
	who.Who, _ = rights.From(r.Context())
	if who.Name == "" {
		who.Name = jsonscan.StringMember(meta, metaAgent)
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if name, ok := r.Context().Value(peerKey{}).(string); ok { // on a Unix socket
		host = name
	}
	sum := sha256.Sum256([]byte(h.machine + host + "\n" + r.UserAgent() + "\n" + string(jsonscan.Member(meta, metaClient))))
	who.Peer = hex.EncodeToString(sum[:])
	return who
}

// postSession takes the messages of a session, or the one that begins it.
func (h *Handler) postSession(out *response, r *http.Request, msgs []rpc.Message, batch bool, version string) {
	requests, begins := 0, false
	for _, m := range msgs {
		if m.Method != "" && m.ID != nil {
			requests++
			begins = begins || m.Method == "initialize"
		}
	}
	var s *session
	switch {
	case begins && batch:
		fail(out.w, http.StatusBadRequest, nil, codeInvalidRequest, "initialize must not be in a batch")
		return
	case begins && r.Header.Get(headerSession) == "":
		if s = h.open(r); s == nil {
			out.w.Header().Set("Retry-After", "60")
			fail(out.w, http.StatusServiceUnavailable, msgs[0].ID, codeNoSession, "too many sessions")
			return
		}
		out.w.Header().Set(headerSession, s.id)
		defer func() {
			if !s.client.Initialized() {
				h.remove(s, "initialize did not succeed", ended)
			}
		}()
	default:
		if s = h.find(out.w, r, requests == 0); s == nil {
			return
		}
	}
	defer h.places.release(s)
	// Requests outlast the POST where the client may come back for the answers.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	stream := newStream(requests, s.streams.account)
	stream.session, stream.cancel, stream.batch = s, cancel, batch
	if life := auth.Life(r.Context()); life != nil && requests > 0 {
		stream.unbind = context.AfterFunc(life, cancel)
	}
	h.shared.observe(s, stream, msgs)
	ctx = withStream(ctx, stream)
	for _, m := range msgs {
		if passed, err := h.shared.pass(r.Context(), s, m); err != nil && !batch {
			refuseSession(out.w, r, err)
			return
		} else if passed {
			continue
		}
		err := s.client.Receive(ctx, m)
		switch {
		case err == nil:
		case !batch && errors.Is(context.Cause(s.life), errLeft):
			stream.unanswered()
			refuseSession(out.w, r, errLeft)
			return
		case batch:
			stream.push(rpc.Refused(m.ID, err))
		default:
			stream.unanswered()
			out.refuse(m.ID, err)
			return
		}
	}
	if requests == 0 {
		out.w.WriteHeader(http.StatusAccepted)
		return
	}
	h.deliver(r.Context(), out, stream, version >= revision.Resumable)
}
