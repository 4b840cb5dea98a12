package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// fetchTimeout bounds one refresh, discovery included.
	fetchTimeout = 10 * time.Second
	// refreshGap is the least time between two refreshes that unknown keys
	// cause: a flood of made-up ones reaches the issuer once a minute.
	refreshGap = time.Minute
	// retryAfter is that gap while there is not one key.
	retryAfter = 10 * time.Second
	// keysFresh is how long keys are used without asking again, so how long a
	// key that the issuer withdrew is still believed.
	keysFresh = 10 * time.Minute
	// keysStale is how long keys serve while the issuer cannot be reached.
	keysStale = 24 * time.Hour
)

// errNoKeys means that there are no keys to verify anything with.
var errNoKeys = errors.New("no keys of the issuer")

// A keySet keeps the issuer's public keys.
type keySet struct {
	issuer string
	url    string // of the keys; "" to ask the issuer's metadata each time
	client *http.Client
	log    *slog.Logger

	mu      sync.Mutex // guards the fields below
	keys    []jose.JSONWebKey
	fetched time.Time     // when keys came
	tried   time.Time     // when the last refresh ended
	pending chan struct{} // closed when the refresh that runs has ended; nil when none runs
}

// newKeySet returns one without keys: the first token has them fetched.
func newKeySet(opts JWT, log *slog.Logger) *keySet {
	return &keySet{
		issuer: opts.Issuer,
		url:    opts.JWKSURL,
		log:    log,
		client: &http.Client{
			Transport: opts.Transport,
			Timeout:   fetchTimeout,
			// The checks of the URL would not hold for another.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// forHeader lists the keys that could have made the signature under h: that
// of its kid, or without one all that fit the algorithm. It asks the issuer
// where the keys here are old or none fits, unless it did so just now. While
// it asks, requests that a kept key serves go on.
func (s *keySet) forHeader(ctx context.Context, h jose.Header) ([]jose.JSONWebKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		found, age := s.find(h), time.Since(s.fetched)
		usable := len(s.keys) > 0 && age < keysStale
		switch {
		case usable && len(found) > 0 && (age < keysFresh || s.pending != nil || !s.due()):
			return found, nil
		case s.pending != nil:
			if err := s.wait(ctx); err != nil {
				return nil, err
			}
		case s.due():
			s.refresh(ctx)
		case usable:
			return found, nil
		default:
			return nil, errNoKeys
		}
	}
}

// find lists kept keys for h. s.mu must be held.
func (s *keySet) find(h jose.Header) []jose.JSONWebKey {
	var found []jose.JSONWebKey
	for _, key := range s.keys {
		if (h.KeyID == "" || key.KeyID == h.KeyID) && fits(key, h.Algorithm) {
			found = append(found, key)
		}
	}
	return found
}

// due reports whether the issuer may be asked again. s.mu must be held.
func (s *keySet) due() bool {
	gap := refreshGap
	if len(s.keys) == 0 {
		gap = retryAfter
	}
	return time.Since(s.tried) >= gap
}

// wait returns when the refresh that runs has ended, or with ctx. s.mu must
// be held; it is released meanwhile.
func (s *keySet) wait(ctx context.Context) error {
	pending := s.pending
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-pending:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refresh asks the issuer for its keys, and keeps those here when that fails.
// s.mu must be held; it is released meanwhile.
func (s *keySet) refresh(ctx context.Context) {
	pending := make(chan struct{})
	s.pending = pending
	s.mu.Unlock()
	var keys []jose.JSONWebKey
	defer func() { // after a panic too, or all would wait for ever
		s.mu.Lock()
		s.pending, s.tried = nil, time.Now()
		close(pending)
		if len(keys) > 0 {
			s.keys, s.fetched = keys, s.tried
		}
	}()
	// A client that hangs up must not use up the one refresh a minute.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	var err error
	if keys, err = fetchKeys(ctx, s.client, s.issuer, s.url); err != nil {
		s.log.Warn("the issuer's keys cannot be read", "issuer", s.issuer, "error", err)
		return
	}
	s.log.Debug("the issuer's keys were read", "issuer", s.issuer, "keys", len(keys))
}
