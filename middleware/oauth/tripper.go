package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"rlmproxy/middleware/upstream/transport"
)

// Authorize returns base with the token of the account in each request. All requests must be
// for the server.
func (a *Account) Authorize(base http.RoundTripper) http.RoundTripper { return &tripper{a, base} }

type tripper struct {
	account *Account
	base    http.RoundTripper
}

// RoundTrip sends a request, and once more with another token where the server does not take
// the first.
func (t *tripper) RoundTrip(req *http.Request) (*http.Response, error) {
	a := t.account
	token, err := a.token(req.Context(), "")
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, a.untaken(req.Context(), err)
	}
	resp, err := t.send(req, token)
	if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return resp, err
	}
	c := challengeOf(resp.Header)
	if resp.StatusCode == http.StatusForbidden {
		if c.error == "insufficient_scope" && len(c.scopes) > 0 {
			done(resp)
			return nil, a.needed("the last sign-in lacks a scope that this call needs", c.scopes...)
		}
		return resp, nil
	}
	again, err := a.another(req.Context(), token, c)
	switch {
	case err != nil:
		done(resp)
		return nil, a.untaken(req.Context(), err)
	case again == "", req.Body != nil && req.GetBody == nil:
		return resp, nil
	}
	done(resp)
	if req.GetBody != nil {
		req = req.Clone(req.Context())
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	if resp, err = t.send(req, again); err == nil && resp.StatusCode == http.StatusUnauthorized {
		done(resp)
		return nil, a.dislike(again)
	}
	return resp, err
}

// untaken says of a request that it was not sent, or not taken, for want of a token.
func (a *Account) untaken(ctx context.Context, err error) error {
	if errors.As(err, new(*transport.SignInError)) || ctx.Err() != nil {
		return err
	}
	text := fmt.Sprintf("server %q: %v", a.server.Name, err)
	return &transport.SignInError{Text: text, Log: text, Hint: "try again in a moment", Call: true}
}

// another returns a token in place of the one that the server has refused with a challenge,
// or "" where a sign-in does not seem to be what it wants.
func (a *Account) another(ctx context.Context, token string, c challenge) (string, error) {
	switch {
	case a.server.Machine && token == "":
		return a.first(ctx, c)
	case token != "":
		return a.token(ctx, token)
	}
	// Somebody may have signed in since the keyring was read.
	again, err := a.token(ctx, "(none)")
	var needs *transport.SignInError
	if errors.As(err, &needs) && c.metadataURL == "" && a.server.ClientID == "" {
		if m, err := a.resource(ctx, c); err != nil || m == nil {
			return "", nil
		}
	}
	return again, err
}

// first signs a machine in.
func (a *Account) first(ctx context.Context, c challenge) (string, error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	g, err := a.held()
	if err == nil && !g.good("") {
		var p *place
		if p, err = a.discover(ctx, c); err == nil {
			g, err = a.begin(context.WithoutCancel(ctx), p)
		}
	}
	<-a.turn
	if err != nil {
		return "", err
	}
	return g.access(), nil
}

// send sends a request with a token, or as it is.
func (t *tripper) send(req *http.Request, token string) (*http.Response, error) {
	if token == "" {
		return t.base.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	return t.base.RoundTrip(req)
}

// done ends a response that nobody reads.
func done(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	resp.Body.Close()
}
