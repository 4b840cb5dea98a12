package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"rlmproxy/middleware/upstream/transport"
)

// An attempt that failed stands for those behind it, for so long: where somebody has to sign
// in, that may have happened meanwhile.
const (
	pause       = 5 * time.Second
	signInPause = time.Second
)

// token returns what requests to the server carry, "" if there is none. Refused is the
// token that the server did not take, or "". Whoever comes while it is renewed waits.
func (a *Account) token(ctx context.Context, refused string) (string, error) {
	g, err := a.held()
	if err != nil {
		return "", a.unread(err)
	}
	if g == nil && refused == "" || g.good(refused) {
		return g.access(), nil
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	a.mu.Lock()
	g, err = a.grant, a.failed
	wait := pause
	if errors.As(err, new(*transport.SignInError)) {
		wait = signInPause
	}
	recent := time.Since(a.failedAt) < wait
	a.mu.Unlock()
	switch {
	case g.good(refused):
		return g.access(), nil
	case err == nil || !recent:
		if g, err = a.renew(ctx, refused); err == nil {
			return g.access(), nil
		}
		if ctx.Err() != nil { // which says nothing of the next attempt
			return "", err
		}
		a.mu.Lock()
		a.failed, a.failedAt = err, time.Now()
		a.mu.Unlock()
	}
	if g, _ := a.held(); g.usable(refused) {
		return g.access(), nil // it was only ahead of time
	}
	return "", err
}

// good reports whether g can be used now, and is not what the server has refused.
func (g *grant) good(refused string) bool {
	return g != nil && g.Refused == "" && g.Access != refused && !g.due(time.Now())
}

// usable reports whether the server takes g for a while yet, though it may be due.
func (g *grant) usable(refused string) bool {
	return g != nil && g.Refused == "" && g.Access != refused && time.Now().Before(g.Expires)
}

// A server that has refused a token which was renewed for it refuses the next one, too. Without this pause,
// each request that it refuses would cost a token.
const (
	unlikedPause = 30 * time.Second
	unlikedText  = "it refuses even a new token"
)

// dislike is the error where the server does not take a token that is new.
func (a *Account) dislike(token string) error {
	a.mu.Lock()
	a.unliked, a.unlikedAt = token, time.Now()
	a.mu.Unlock()
	return a.needed(unlikedText)
}

// disliked reports whether the server has refused a token when it was new, just now.
func (a *Account) disliked(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return token != "" && a.unliked == token && time.Since(a.unlikedAt) < unlikedPause
}

func (g *grant) access() string {
	if g == nil {
		return ""
	}
	return g.Access
}

// renew gets another token while no other process does. Somebody may have signed in
// meanwhile, or another process may have been faster.
func (a *Account) renew(ctx context.Context, refused string) (*grant, error) {
	if a.server.Machine {
		if a.disliked(refused) {
			return nil, a.needed(unlikedText)
		}
		a.mu.Lock()
		old := a.grant
		a.mu.Unlock()
		g := *old
		return a.machine(context.WithoutCancel(ctx), &g)
	}
	if !a.vault.known() {
		return nil, a.needed("nobody is signed in")
	}
	unlock, ends, err := a.lock(ctx, refused)
	if err != nil {
		return nil, err
	}
	defer unlock()
	ctx = context.WithoutCancel(ctx) // a caller that goes away does not take along a token that the server has replaced
	ctx, cancel := within(ctx, ends)
	defer cancel()
	old, err := a.load()
	switch {
	case err != nil:
		return nil, a.unread(err)
	case old == nil:
		a.hold(nil)
		return nil, a.needed("nobody is signed in")
	case old.Refused != "":
		a.hold(old)
		return nil, a.needed(old.Refused)
	case old.good(refused):
		a.hold(old)
		return old, nil
	case old.Access == refused && a.disliked(refused):
		return nil, a.needed(unlikedText)
	case old.Refresh == "" && old.Access != refused:
		a.hold(old)
		return old, nil // the server will say when it has ended
	case old.Refresh == "":
		return nil, a.lapse(old, "the last sign-in has expired")
	}
	g := *old
	err = a.ask(ctx, &g, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}})
	var said *endpointError
	switch {
	case errors.As(err, &said) && said.final():
		return nil, a.lapse(old, fmt.Sprintf("the last sign-in could not be renewed: %v", said))
	case err != nil:
		return nil, fmt.Errorf("the token cannot be renewed: %w", err)
	}
	if err := a.save(&g); err != nil { // this process has it
		a.opts.Logger.Error("the renewed token could not be saved: after a restart, somebody has to sign in again", "error", err)
	}
	a.hold(&g)
	a.opts.Logger.Debug("token renewed")
	return &g, nil
}

// lock takes the lock of the grant. A replica does not wait long for another that renews a token
// of which its own can still be used.
func (a *Account) lock(ctx context.Context, refused string) (unlock func(), ends time.Time, err error) {
	a.mu.Lock()
	g := a.grant
	a.mu.Unlock()
	if _, ok := a.vault.(*sharedVault); ok && g.usable(refused) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, aheadTime, errors.New("another replica renews the token"))
		defer cancel()
	}
	return a.vault.lock(ctx)
}

// within is ctx until the end of a lock, if it has one.
func within(ctx context.Context, ends time.Time) (context.Context, context.CancelFunc) {
	if ends.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, ends)
}

// lapse remembers that a grant is of no use any more. Whoever connects logs why.
func (a *Account) lapse(g *grant, why string) error {
	g.Access, g.Refresh, g.Refused = "", "", why
	a.hold(g)
	if err := a.save(g); err != nil {
		a.opts.Logger.Error("the keyring could not be written", "error", err)
	}
	return a.needed(why)
}

// machine gets a token for a client that signs in by itself.
func (a *Account) machine(ctx context.Context, g *grant) (*grant, error) {
	params := url.Values{"grant_type": {"client_credentials"}}
	if len(g.Scopes) > 0 {
		params.Set("scope", strings.Join(g.Scopes, " "))
	}
	err := a.ask(ctx, g, params)
	var said *endpointError
	switch {
	case errors.As(err, &said) && said.final():
		return nil, a.needed(fmt.Sprintf("the authorization server refused the configured client: %v", said))
	case err != nil:
		return nil, err
	}
	g.Refresh = ""
	a.hold(g)
	return g, nil
}

// ask asks the token endpoint, for the server alone (RFC 8707), and puts what it gives into g.
// Any grant goes through clientcredentials: it takes parameters, which refreshing in x/oauth2
// does not, and one attempt is made, where that would repeat a refresh token.
func (a *Account) ask(ctx context.Context, g *grant, params url.Values) error {
	params.Set("resource", g.Resource)
	c := clientcredentials.Config{
		ClientID: g.Client.ID, ClientSecret: a.secret(g.Client), TokenURL: g.TokenURL, EndpointParams: params, AuthStyle: g.Client.style(),
	}
	begun := time.Now()
	t, err := c.Token(context.WithValue(ctx, oauth2.HTTPClient, a.http()))
	if err != nil {
		return plain(err)
	}
	if !strings.EqualFold(t.Type(), "bearer") {
		return fmt.Errorf("the authorization server gives tokens of type %s, not Bearer", clip(t.Type()))
	}
	if strings.ContainsFunc(t.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the authorization server's token cannot be sent in a header")
	}
	g.Access, g.Refresh, g.Refused = t.AccessToken, t.RefreshToken, ""
	g.Since, g.Expires = begun, t.Expiry
	if !g.Expires.After(begun) {
		g.Expires = time.Time{} // an end that has passed already says nothing; the server will
	}
	if granted, ok := t.Extra("scope").(string); ok {
		g.Scopes = scopesOf(strings.Fields(granted))
	}
	return nil
}

// style is how the client says who it is.
func (c client) style() oauth2.AuthStyle {
	if c.InHeader {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// An endpointError is a response that is no success.
type endpointError struct {
	status int
	code   string // as in RFC 6749, section 5.2, or ""
}

func (e *endpointError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the authorization server answers HTTP %d %s", e.status, e.code))
}

// final reports whether no second attempt cures it. Some servers say so without a code, or
// where x/oauth2 finds none.
func (e *endpointError) final() bool {
	switch e.code {
	case "invalid_grant", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_target":
		return true
	}
	return e.code == "" && (e.status == http.StatusBadRequest || e.status == http.StatusUnauthorized)
}

// plain is an error of an endpoint without its body, which may repeat what was sent.
func plain(err error) error {
	var said *oauth2.RetrieveError
	var rejected *oauthex.ClientRegistrationError
	var in *url.Error
	switch {
	case errors.As(err, &said):
		return &endpointError{said.Response.StatusCode, code(said.ErrorCode)}
	case errors.As(err, &rejected):
		return errors.New(clip(code(rejected.ErrorCode) + " " + rejected.ErrorDescription))
	case errors.As(err, &in):
		return fmt.Errorf("the authorization server: %s", clip(in.Err.Error()))
	}
	return errors.New("the authorization server's answer cannot be understood")
}

// code is text if it can be an error's code, else "".
func code(text string) string {
	if len(text) > 40 || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return text
}
