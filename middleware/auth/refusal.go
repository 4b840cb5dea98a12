package auth

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A refusal is why a request goes no further.
type refusal struct {
	status int
	code   string // stable: in the body, and of RFC 6750 where it has one
	text   string // one sentence for the client
	// reason is for the log: a fixed word or two, never of the request.
	reason string
	seen   slog.Attr // the Host or Origin that was refused, cut
}

// noToken is the answer to a request that shows nothing.
func noToken() *refusal {
	return &refusal{status: http.StatusUnauthorized, code: "unauthorized", text: "a bearer token is required", reason: "no token"}
}

// invalidToken is one answer for all that can be wrong with a token: the
// difference is for the log only.
func invalidToken(reason string) *refusal {
	return &refusal{status: http.StatusUnauthorized, code: errInvalidToken, text: "the bearer token is not valid here", reason: reason}
}

// expired is told apart, since the remedy is: get another token.
func expired() *refusal {
	return &refusal{status: http.StatusUnauthorized, code: errInvalidToken, text: "the bearer token has expired", reason: "expired token"}
}

// errInvalidToken is the code of RFC 6750, section 3.1.
const errInvalidToken = "invalid_token"

// noKeys is our failure, not the client's: the issuer cannot be reached.
func noKeys() *refusal {
	return &refusal{status: http.StatusServiceUnavailable, code: "unavailable", text: "tokens cannot be verified now; try again later", reason: "no keys of the issuer"}
}

// refuse answers a request that goes no further, and logs why.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	g.log.LogAttrs(r.Context(), g.refusals.level(no.reason), "http request refused", slog.String("reason", no.reason), slog.String("remote", r.RemoteAddr), no.seen)

	h := w.Header()
	switch no.status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", g.challenge(no))
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(no.status)
	body := struct {
		Error string `json:"error"`
		Text  string `json:"error_description"`
	}{no.code, no.text}
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// challenge is the value of WWW-Authenticate (RFC 6750, RFC 9728).
func (g *Guard) challenge(no *refusal) string {
	value := `Bearer realm="rlmproxy"`
	if g.metadata != nil {
		value = `Bearer resource_metadata="` + g.metadata.url + `"`
	}
	if no.code == errInvalidToken {
		value += `, error="` + no.code + `", error_description="` + no.text + `"`
	}
	return value
}

const (
	// refusalLines is how many refusals of one reason are logged in a
	// refusalTime; of the others there is a count at its end. Whoever reaches
	// the port can be refused, as often as he likes.
	refusalLines = 10
	refusalTime  = time.Minute
)

// refusals counts what is refused, by reason: there are as many as there are
// checks, so that a flood of one hides none of the others.
type refusals struct {
	log *slog.Logger

	mu   sync.Mutex // guards the field below
	seen map[string]int
}

// level is that at which a refusal is logged: debug once there were many.
func (s *refusals) level(reason string) slog.Level {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.seen[reason]++
	switch n := s.seen[reason]; {
	case n == 1:
		time.AfterFunc(refusalTime, func() { s.sum(reason) })
	case n > refusalLines:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// sum tells how many were not logged, and begins anew.
func (s *refusals) sum(reason string) {
	s.mu.Lock()
	n := s.seen[reason] - refusalLines
	delete(s.seen, reason)
	s.mu.Unlock()
	if n > 0 {
		s.log.Info("http requests refused", "reason", reason, "more", n, "within", refusalTime)
	}
}
