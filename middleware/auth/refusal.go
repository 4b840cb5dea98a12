package auth

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
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
	g.refusals.do(no.reason, func() {
		g.log.LogAttrs(r.Context(), g.level, "http request refused", slog.String("reason", no.reason), slog.String("remote", r.RemoteAddr), no.seen)
	})

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

// refusals logs what is refused: the first ten of a reason, then one a minute. Whoever
// reaches the port can be refused as often as he likes, and a flood of one reason hides
// none of the others.
type refusals struct {
	mu     sync.Mutex // guards the field below
	reason map[string]*rate.Sometimes
}

// do logs a refusal, unless there were many of its reason.
func (s *refusals) do(reason string, log func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == nil {
		s.reason = map[string]*rate.Sometimes{}
	}
	if s.reason[reason] == nil {
		s.reason[reason] = &rate.Sometimes{First: 10, Interval: time.Minute}
	}
	s.reason[reason].Do(log)
}
