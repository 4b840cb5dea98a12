package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Login says how a person signs in.
type Login struct {
	// Scopes are asked for besides those of the last sign-in.
	Scopes []string
	// Show is told the URL at which the person signs in.
	Show func(url string)
	// Pasted has lines from the person, one of which may be the URL that the browser was
	// sent to where it runs elsewhere. Nil: nobody can paste.
	Pasted io.Reader
	// Stray is called for a line of Pasted that does not end the sign-in. Nil: nobody is told.
	Stray func()
	// Wait bounds the time for the person. Zero means 5 minutes.
	Wait time.Duration
}

// ErrNotNeeded is that the server asks nobody to sign in.
var ErrNotNeeded = errors.New("the server answers without a sign-in, and names no place to sign in")

// Login has a person sign in, or the machine, and keeps what that brings.
func (a *Account) Login(ctx context.Context, l Login) (*Status, error) {
	c, code, err := a.probe(ctx)
	if err != nil {
		return nil, err
	}
	p, err := a.discover(ctx, c)
	switch {
	case err != nil && c.metadataURL == "" && code != http.StatusUnauthorized:
		return nil, fmt.Errorf("%w (%w)", ErrNotNeeded, err)
	case err != nil:
		return nil, err
	}
	var g *grant
	if a.server.Machine {
		g, err = a.begin(ctx, p)
	} else {
		g, err = a.person(ctx, p, l)
	}
	if err != nil {
		return nil, err
	}
	return a.status(g), nil
}

// begin signs a machine in.
func (a *Account) begin(ctx context.Context, p *place) (*grant, error) {
	g := a.newGrant(p, client{Kind: configured, ID: a.server.ClientID, InHeader: a.inHeader(p)})
	g.Scopes = a.server.Scopes
	if g.Scopes == nil {
		g.Scopes = slices.DeleteFunc(slices.Clone(p.scopes), func(s string) bool { return s == "offline_access" })
	}
	return a.machine(ctx, g)
}

func (a *Account) newGrant(p *place, c client) *grant {
	return &grant{
		URL: a.server.URL, Resource: p.resource, Issuer: p.meta.Issuer,
		TokenURL: p.meta.TokenEndpoint, RevokeURL: p.meta.RevocationEndpoint, Client: c,
	}
}

// probe asks the server for nothing, to hear whether it wants a sign-in. What it answers
// otherwise does not matter.
func (a *Account) probe(ctx context.Context) (c challenge, code int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return c, 0, errors.New("its URL cannot be parsed")
	}
	for k, v := range a.server.Headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := a.http().Do(req)
	if err != nil {
		return c, 0, fmt.Errorf("server %q cannot be reached: %s", a.server.Name, clip(cause(err).Error()))
	}
	done(resp)
	return challengeOf(resp.Header), resp.StatusCode, nil
}

// person has a person sign in.
func (a *Account) person(ctx context.Context, p *place, l Login) (*grant, error) {
	if p.meta.AuthorizationEndpoint == "" {
		return nil, errors.New("the authorization server names no sign-in page")
	}
	old, err := a.load()
	if err != nil {
		return nil, a.unread(err)
	}
	if old != nil && old.Issuer != p.meta.Issuer {
		old = nil // what one authorization server gave is not shown to another
	}
	listener, err := a.listen(old)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for the browser that comes back: %w", err)
	}
	defer listener.Close()
	redirect := fmt.Sprintf("http://127.0.0.1:%d%s", listener.Addr().(*net.TCPAddr).Port, callbackPath)
	who, err := a.choose(ctx, p, old, redirect)
	if err != nil {
		return nil, err
	}
	g := a.newGrant(p, who)
	g.Scopes = a.wanted(p, old, l)
	verifier := oauth2.GenerateVerifier()
	conf := oauth2.Config{ClientID: who.ID, RedirectURL: redirect, Scopes: g.Scopes, Endpoint: oauth2.Endpoint{AuthURL: p.meta.AuthorizationEndpoint}}
	back := newCallback(p.meta)
	code, err := back.wait(ctx, listener, l, conf.AuthCodeURL(back.state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", p.resource)))
	if err != nil {
		return nil, err
	}
	err = a.ask(ctx, g, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier}})
	if err != nil {
		return nil, fmt.Errorf("the authorization server gave no token: %w", err)
	}
	unlock, _, err := a.vault.lock(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := a.save(g); err != nil {
		return nil, a.unread(err)
	}
	a.hold(g)
	return g, nil
}

// wanted are the scopes to ask for.
func (a *Account) wanted(p *place, old *grant, l Login) []string {
	scopes := p.scopes
	if len(a.server.Scopes) > 0 {
		scopes = a.server.Scopes
	}
	if len(l.Scopes) > 0 {
		if old != nil {
			scopes = slices.Concat(scopes, old.Scopes)
		}
		scopes = slices.Concat(scopes, l.Scopes)
	}
	return scopesOf(scopes)
}

// listen takes the port of the configuration; else that of the registered client, which many
// authorization servers compare (RFC 8252 has them not); else any.
func (a *Account) listen(old *grant) (net.Listener, error) {
	at := fmt.Sprintf("127.0.0.1:%d", a.server.RedirectPort)
	if old != nil && a.server.RedirectPort == 0 {
		if u, err := url.Parse(old.Client.Redirect); err == nil && u.Hostname() == "127.0.0.1" {
			if l, err := net.Listen("tcp", u.Host); err == nil {
				return l, nil
			}
		}
	}
	return net.Listen("tcp", at)
}

// choose finds who we are to the authorization server: the client of the configuration, the
// document that describes us, the client that we have registered, or one that we register now.
func (a *Account) choose(ctx context.Context, p *place, old *grant, redirect string) (client, error) {
	s, m := a.server, p.meta
	switch {
	case s.ClientID != "":
		return client{Kind: configured, ID: s.ClientID, InHeader: a.inHeader(p)}, nil
	case s.ClientMetadataURL != "" && m.ClientIDMetadataDocumentSupported:
		return client{Kind: document, ID: s.ClientMetadataURL}, nil
	case old != nil && old.Client.Kind == registered && old.Client.Redirect == redirect && !strings.Contains(old.Refused, "client"):
		return old.Client, nil
	case m.RegistrationEndpoint == "":
		return client{}, errors.New(`the authorization server has no automatic registration: register a client there, and set "auth": {"clientId": …} for the server`)
	}
	r, err := oauthex.RegisterClient(ctx, m.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "rlmproxy", RedirectURIs: []string{redirect}, ApplicationType: "native",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: "none", Scope: strings.Join(a.wanted(p, nil, Login{}), " "),
	}, a.http())
	if err != nil {
		return client{}, fmt.Errorf(`the authorization server refused to register rlmproxy: %w; register a client there, and set "auth": {"clientId": …} for the server`, plain(err))
	}
	method := cmp.Or(r.TokenEndpointAuthMethod, "client_secret_basic") // the default of RFC 7591
	return client{Kind: registered, ID: r.ClientID, Secret: r.ClientSecret, InHeader: r.ClientSecret != "" && method == "client_secret_basic", Redirect: redirect}, nil
}

// inHeader reports whether the configured client's secret goes into a header, as it does by
// default (RFC 8414).
func (a *Account) inHeader(p *place) bool {
	return a.server.ClientSecret != "" && !slices.Contains(p.meta.TokenEndpointAuthMethodsSupported, "client_secret_post")
}
