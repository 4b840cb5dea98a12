package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"rlmproxy/keyring"
)

// A Status is how we stand with a server. It holds no token.
type Status struct {
	SignedIn bool
	// Asked says that the server wants a sign-in that there is not.
	Asked   bool
	Why     string    // why the last sign-in is of no use, or the server cannot be asked
	Until   time.Time // the end of the token; zero: the server does not say
	Renewed bool      // it is renewed by itself
	Machine bool      // nobody signs in: the client does
	Client  string    // the kind of client, "" where there is none
	Issuer  string
	Scopes  []string
}

func (a *Account) status(g *grant) *Status {
	s := &Status{Until: g.Expires, Renewed: g.Refresh != "" || a.server.Machine, Client: g.Client.Kind, Issuer: g.Issuer, Scopes: g.Scopes, Why: g.Refused}
	ended := !s.Renewed && !g.Expires.IsZero() && time.Now().After(g.Expires)
	if ended {
		s.Why = "the token has expired"
	}
	s.SignedIn = g.Access != "" && !ended
	s.Asked = !s.SignedIn
	return s
}

// Status says how we stand with the server, which is asked if nobody is signed in.
func (a *Account) Status(ctx context.Context) (*Status, error) {
	if a.server.Machine {
		return &Status{Machine: true, Client: configured}, nil
	}
	g, err := a.load()
	if err != nil {
		return nil, a.unread(err)
	}
	if g != nil {
		return a.status(g), nil
	}
	s := new(Status)
	_, code, err := a.probe(ctx)
	if err != nil {
		s.Why = err.Error()
	}
	s.Asked = code == http.StatusUnauthorized
	return s, nil
}

// Logout forgets the tokens and the client that was registered, and revokes them where the
// authorization server can do that (RFC 7009). It reports whether there were any. Revoked is
// why they could not be revoked.
func (a *Account) Logout(ctx context.Context) (had bool, revoked, err error) {
	if !a.vault.known() {
		return false, nil, nil
	}
	unlock, ends, err := a.vault.lock(ctx)
	if err != nil {
		return false, nil, err
	}
	defer unlock()
	g, err := a.load()
	switch {
	case errors.Is(err, errSealed):
		revoked = errSealed
	case err != nil:
		return false, nil, a.unread(err)
	case g != nil && g.Refresh+g.Access != "":
		ctx, cancel := within(ctx, ends)
		revoked = a.revoke(ctx, g)
		cancel()
	}
	a.hold(nil)
	err = a.vault.remove()
	if errors.Is(err, keyring.ErrNotFound) {
		return false, revoked, nil
	}
	return true, revoked, err
}

// revoke revokes the refresh token, and the access token with it or by itself. The SDK has
// nothing for it.
func (a *Account) revoke(ctx context.Context, g *grant) error {
	if g.RevokeURL == "" {
		return errors.New("the authorization server does not revoke tokens")
	}
	for kind, token := range map[string]string{"refresh_token": g.Refresh, "access_token": g.Access} {
		if token == "" {
			continue
		}
		form := url.Values{"token": {token}, "token_type_hint": {kind}}
		if !g.Client.InHeader {
			form.Set("client_id", g.Client.ID)
			if secret := a.secret(g.Client); secret != "" {
				form.Set("client_secret", secret)
			}
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.RevokeURL, strings.NewReader(form.Encode()))
		if err != nil {
			return plain(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if g.Client.InHeader {
			req.SetBasicAuth(url.QueryEscape(g.Client.ID), url.QueryEscape(a.secret(g.Client)))
		}
		resp, err := a.http().Do(req)
		if err != nil {
			return plain(err)
		}
		done(resp)
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the authorization server answers HTTP %d", resp.StatusCode)
		}
	}
	return nil
}
