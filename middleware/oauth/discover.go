package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline/show"
)

const (
	maxDocument  = 1 << 20 // oauthex and x/oauth2 read as much
	askTime      = 10 * time.Second
	maxRedirects = 3
)

// A challenge is what a server says when it refuses a request.
type challenge struct {
	bearer      bool
	metadataURL string
	scopes      []string
	error       string
}

// challengeOf reads the header of a 401 or 403. One that cannot be read says nothing.
func challengeOf(h http.Header) (c challenge) {
	all, err := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate"))
	if err != nil {
		return c
	}
	for _, one := range all {
		if one.Scheme == "bearer" {
			p := one.Params
			return challenge{true, p["resource_metadata"], scopesOf(strings.Fields(p["scope"])), p["error"]}
		}
	}
	return c
}

// A place is where a server has its tokens from.
type place struct {
	resource string // as the server calls itself
	scopes   []string
	meta     *oauthex.AuthServerMeta
}

// discover finds out who gives tokens for the server, which has said c.
func (a *Account) discover(ctx context.Context, c challenge) (*place, error) {
	resource, err := a.resource(ctx, c)
	if err != nil {
		return nil, err
	}
	if resource == nil { // a server of the first revision with OAuth is its own authorization server
		u, _ := url.Parse(a.server.URL)
		resource = &oauthex.ProtectedResourceMetadata{Resource: a.server.URL, AuthorizationServers: []string{u.Scheme + "://" + u.Host}}
	}
	p := &place{resource: resource.Resource, scopes: scopesOf(resource.ScopesSupported)}
	if len(c.scopes) > 0 {
		p.scopes = c.scopes
	}
	issuer := a.server.Issuer
	switch named := resource.AuthorizationServers; {
	case len(named) == 0:
		return nil, errors.New("the server names no authorization server")
	case issuer == "":
		issuer = named[0]
	case !slices.Contains(named, issuer):
		return nil, fmt.Errorf(`the configured "issuer" is not one of the server's authorization servers: %s`, clip(strings.Join(named, ", ")))
	}
	at, err := url.Parse(issuer)
	if err = cmp.Or(err, checkURL(issuer)); err != nil {
		return nil, fmt.Errorf("the authorization server %w", err)
	}
	// Else a server could name one of its own, to be told the secret.
	if u, _ := url.Parse(a.server.URL); a.server.ClientSecret != "" && a.server.Issuer == "" && !strings.EqualFold(at.Hostname(), u.Hostname()) {
		why := fmt.Sprintf(`to send its clientSecret to %s, set that as "issuer" in its "auth"`, clip(issuer))
		if a.server.Machine {
			return nil, a.needed(why)
		}
		return nil, errors.New(why)
	}
	m, err := auth.GetAuthServerMetadata(ctx, issuer, a.http())
	switch {
	case err != nil:
		return nil, fmt.Errorf("the authorization server's metadata: %s", clip(err.Error()))
	case m == nil:
		return nil, fmt.Errorf("the authorization server %s has no metadata", clip(issuer))
	case !slices.Contains(m.CodeChallengeMethodsSupported, "S256"):
		return nil, fmt.Errorf("the authorization server %s does not support PKCE with S256", clip(issuer))
	case m.TokenEndpoint == "":
		return nil, fmt.Errorf("the authorization server %s names no token endpoint", clip(issuer))
	}
	if checkURL(m.RevocationEndpoint) != nil { // oauthex looks at the others
		m.RevocationEndpoint = ""
	}
	if len(p.scopes) > 0 && slices.Contains(m.ScopesSupported, "offline_access") && !slices.Contains(p.scopes, "offline_access") {
		p.scopes = append(p.scopes, "offline_access") // or there may be no refresh token (SEP-2207)
	}
	p.meta = m
	return p, nil
}

// resource is what the server says of itself: where its challenge says, else at the
// well-known places. Nil: it says nothing.
func (a *Account) resource(ctx context.Context, c challenge) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(a.server.URL)
	if err != nil {
		return nil, errors.New("its URL cannot be parsed")
	}
	const known = "/.well-known/oauth-protected-resource"
	origin := u.Scheme + "://" + u.Host
	places := []string{c.metadataURL}
	if c.metadataURL == "" {
		places = []string{origin + known + strings.TrimRight(u.EscapedPath(), "/"), origin + known}
	}
	for _, at := range slices.Compact(places) {
		m, err := a.fetchResource(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("the server's metadata: %w", err)
		}
		if m == nil {
			continue
		}
		if !covers(m.Resource, u) {
			return nil, fmt.Errorf("the server's metadata is for another resource, %s", clip(m.Resource))
		}
		return m, nil
	}
	if c.metadataURL != "" {
		return nil, fmt.Errorf("the server says that its metadata is at %s, but it is not", clip(c.metadataURL))
	}
	return nil, nil
}

// fetchResource reads metadata of a resource, nil where there is none.
func (a *Account) fetchResource(ctx context.Context, at string) (*oauthex.ProtectedResourceMetadata, error) {
	if err := checkURL(at); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := a.http().Do(req)
	if err != nil {
		return nil, errors.New(clip(cause(err).Error()))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode/100 == 4, resp.StatusCode == http.StatusOK && !strings.Contains(resp.Header.Get("Content-Type"), "json"):
		return nil, nil // or a page for people
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, errors.New(clip(err.Error()))
	case len(data) > maxDocument:
		return nil, fmt.Errorf("it has more than %d bytes", maxDocument)
	}
	m := new(oauthex.ProtectedResourceMetadata)
	if json.Unmarshal(data, m) != nil {
		return nil, errors.New("it does not have the form of RFC 9728")
	}
	return m, nil
}

// covers reports whether a resource is the server at u, or what is above its path.
func covers(resource string, u *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Scheme != u.Scheme || !strings.EqualFold(r.Host, u.Host) || r.Fragment != "" || r.RawQuery != "" && r.RawQuery != u.RawQuery {
		return false
	}
	above := strings.TrimRight(r.EscapedPath(), "/")
	rest, ok := strings.CutPrefix(u.EscapedPath(), above)
	return ok && (rest == "" || rest[0] == '/')
}

// checkURL refuses a URL that is neither https nor http on this machine.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return errors.New("has no valid URL")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("has a URL without TLS, %s", clip(u.Redacted()))
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// newClient returns what asks authorization servers. Inside says that the server is on this
// machine or in its network. What a server on the Internet names is on the Internet, too: it
// does not send us to this machine or its network.
func newClient(inside bool, proxy func(*http.Request) (*url.URL, error)) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DisableKeepAlives = true // we come back in an hour
	base.Proxy = proxy
	base.DialContext = (&net.Dialer{Timeout: askTime}).DialContext
	client := &http.Client{Transport: base, Timeout: askTime, CheckRedirect: checkRedirect}
	if !inside {
		direct := base.Clone()
		direct.Proxy = nil
		direct.DialContext = (&net.Dialer{Timeout: askTime, Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return checkPublic(at.Addr())
		}}).DialContext
		client.Transport = &outward{direct, base}
	}
	return client
}

// An outward sends requests to the Internet. Those that no proxy takes, such as those to
// localhost, are checked when we dial; of the others we see the name alone.
type outward struct{ direct, proxied *http.Transport }

func (o *outward) RoundTrip(req *http.Request) (*http.Response, error) {
	if through, err := o.proxied.Proxy(req); err == nil && through == nil {
		return o.direct.RoundTrip(req)
	}
	if ip, err := netip.ParseAddr(req.URL.Hostname()); err == nil {
		if err := checkPublic(ip); err != nil {
			return nil, err
		}
	}
	return o.proxied.RoundTrip(req)
}

// checkRedirect lets metadata be elsewhere, but takes no code and no token along.
func checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case via[0].Method != http.MethodGet:
		return errors.New("a redirect of a request that holds secrets")
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return checkURL(req.URL.String())
}

// inside reports whether the operator's server is on this machine or in its network.
func inside(address string) (bool, error) {
	u, err := url.Parse(address)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	return err == nil && len(ips) > 0 && !slices.ContainsFunc(ips, public), err
}

// shared is what carriers share among their customers (RFC 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")

func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !shared.Contains(ip)
}

func checkPublic(ip netip.Addr) error {
	if !public(ip) {
		return fmt.Errorf("%s is a private address, but the server is on the Internet", ip)
	}
	return nil
}

// cause is why a request failed, without its URL: that of a server may hold a secret.
func cause(err error) error {
	var in *url.Error
	if errors.As(err, &in) {
		return in.Err
	}
	return err
}

// clip is text of a stranger in an error.
func clip(text string) string { return show.ClipBytes(frame.OneLine(text), 200) }
