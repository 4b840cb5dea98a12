// Package auth decides who may speak to the proxy over HTTP.
//
//	request → Host → Origin → Authorization → agent → handler
//
// An agent shows a bearer token: a static one of the operator's, or a JWT of
// an issuer whose keys are fetched and kept. Refusals are logged with their
// reason and the peer's address: ten of each reason, then one a minute. No log line, error
// or reply holds a token, or a part of one.
//
// There is no TLS here. Whoever serves beyond one machine puts it in front.
package auth

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"rlmproxy/middleware/rights"
)

// Options configures a [Guard]. Without Tokens and JWT nobody is asked for a
// token, which is for loopback addresses only: see [CheckBind].
type Options struct {
	Tokens []Token
	JWT    *JWT
	// Resource is the URL at which clients reach the MCP endpoint, such as
	// https://mcp.example.com/mcp. With JWT it is required (RFC 9728 has it in
	// the metadata, and a client compares it); its host is an allowed one.
	Resource string
	// AllowedHosts are names that a request's Host may have, with a port or
	// for any. On a loopback address the loopback names are allowed too. On
	// another, an empty list without Resource allows all: there a token is
	// required, which a page that was rebound to this address does not have.
	AllowedHosts []string
	// AllowedOrigins are origins of browser pages, such as
	// https://inspector.example.com, besides that of the Host itself.
	AllowedOrigins []string
	// Logger receives refusals at RefusalLevel, an issuer's failures at warn. Nil
	// discards them.
	Logger *slog.Logger
	// RefusalLevel is zero for info.
	RefusalLevel slog.Level
}

// A Guard admits requests. It is safe for concurrent use.
type Guard struct {
	tokens   atomic.Pointer[tokens] // static ones; nil if there never are any
	jwt      *verifier              // nil without JWT
	metadata *metadata              // nil without JWT
	hosts    map[string]bool
	origins  map[string]bool
	log      *slog.Logger
	level    slog.Level // of refusals
	refusals refusals
}

// New checks opts; errors name the settings of package config. No connection is
// made before the first JWT comes.
func New(opts Options) (*Guard, error) {
	g := &Guard{hosts: map[string]bool{}, origins: map[string]bool{}, log: opts.Logger, level: opts.RefusalLevel}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if len(opts.Tokens) > 0 {
		all, err := newTokens(opts.Tokens)
		if err != nil {
			return nil, err
		}
		g.tokens.Store(all)
	}
	var err error
	for _, text := range opts.AllowedHosts {
		host, err := parseHost(text)
		if err != nil {
			return nil, err
		}
		g.hosts[host] = true
	}
	for _, text := range opts.AllowedOrigins {
		origin, err := parseOrigin(text)
		if err != nil {
			return nil, err
		}
		g.origins[origin] = true
	}
	if opts.Resource != "" {
		host, err := resourceHost(opts.Resource)
		if err != nil {
			return nil, err
		}
		g.hosts[host] = true
	}
	if opts.JWT == nil {
		return g, nil
	}
	if opts.Resource == "" {
		return nil, errors.New("httpPublicURL is not set: with httpJWTIssuer, clients are told at which URL they reach the server (RFC 9728)")
	}
	if g.jwt, err = newVerifier(*opts.JWT, opts.Resource, g.log); err != nil {
		return nil, err
	}
	g.metadata = newMetadata(opts.Resource, opts.JWT.Issuer)
	return g, nil
}

// Authenticates reports whether a request needs a token. It does not change: without a
// token that is left, nobody is admitted.
func (g *Guard) Authenticates() bool { return g.tokens.Load() != nil || g.jwt != nil }

type subjectKey struct{}

// A subject is who was authenticated.
type subject struct {
	agent  string
	until  time.Time // zero: for ever
	token  *token    // nil: a JWT
	rights rights.Who
}

// Subject is the authenticated agent of a request that a [Guard] admitted.
// It is "token:" and the agent of a static token, or "jwt:", the issuer, a
// space and the claim: no two sources can give the same subject. ok is false
// where no token is asked for.
func Subject(ctx context.Context) (agent string, ok bool) {
	s, ok := ctx.Value(subjectKey{}).(subject)
	return s.agent, ok
}

// Expiry is when the token of a request that a [Guard] admitted would be refused.
// What is sent to its agent for as long as it listens must end then. ok is false
// where no token is asked for, and for tokens that do not expire.
func Expiry(ctx context.Context) (at time.Time, ok bool) {
	s, _ := ctx.Value(subjectKey{}).(subject)
	return s.until, !s.until.IsZero()
}

// ErrRevoked is the cause of a request's end whose token was taken out.
var ErrRevoked = errors.New("the bearer token has been revoked")

// Life ends when the static token of a request that a [Guard] admitted is taken out, with
// the cause [ErrRevoked]: all that the token began is to end then. It is nil where there is
// no such token.
func Life(ctx context.Context) context.Context {
	if s, _ := ctx.Value(subjectKey{}).(subject); s.token != nil {
		return s.token.life
	}
	return nil
}

// Wrap guards next, which is everything that the server serves. It answers
// the metadata of RFC 9728 and browsers' preflights itself. The request that
// next sees has no Authorization header.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if no := g.checkHost(r); no != nil {
			g.refuse(w, r, no)
			return
		}
		if isMetadata(r.URL.Path) {
			g.serveMetadata(w, r)
			return
		}
		if no := g.checkOrigin(r); no != nil {
			g.refuse(w, r, no)
			return
		}
		if preflight := allowOrigin(w, r); preflight {
			return
		}
		ctx := r.Context()
		if g.Authenticates() {
			who, no := g.authenticate(r)
			if no != nil {
				g.refuse(w, r, no)
				return
			}
			ctx = rights.With(context.WithValue(ctx, subjectKey{}, who), who.rights)
			if who.token != nil {
				var cancel context.CancelCauseFunc
				ctx, cancel = context.WithCancelCause(ctx)
				defer cancel(nil)
				defer context.AfterFunc(who.token.life, func() { cancel(ErrRevoked) })()
			}
		} else if no := checkForwarded(r); no != nil {
			g.refuse(w, r, no)
			return
		}
		r = r.WithContext(ctx)                // a copy
		if r.Header["Authorization"] != nil { // a token for us is nobody else's business
			r.Header = maps.Clone(r.Header)
			r.Header.Del("Authorization")
		}
		next.ServeHTTP(w, r)
	})
}

// authenticate finds the agent whose token r shows.
func (g *Guard) authenticate(r *http.Request) (who subject, no *refusal) {
	token, no := bearer(r.Header.Values("Authorization"))
	if no != nil {
		return who, no
	}
	if known := g.tokens.Load().find(token); known != nil {
		return subject{agent: "token:" + known.agent, token: known, rights: rights.Who{Agent: known.agent}}, nil
	}
	if g.jwt == nil {
		return who, invalidToken("foreign token")
	}
	return g.jwt.verify(r.Context(), token, time.Now())
}

// Knows reports whether r shows a token that is valid here.
func (g *Guard) Knows(r *http.Request) bool {
	if !g.Authenticates() || r.Header["Authorization"] == nil {
		return false
	}
	_, no := g.authenticate(r)
	return no == nil
}

// Open guards what anybody may see, such as whether the server runs: only a Host
// that is a name is checked. Kubelets and load balancers know an address; a page
// that was rebound (DNS rebinding) has a name.
func (g *Guard) Open(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := hostname(r.Host)
		_, err := netip.ParseAddr(name)
		if no := g.checkHost(r); no != nil && name != "" && err != nil {
			g.refuse(w, r, no)
			return
		}
		next.ServeHTTP(w, r)
	})
}
