package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"rlmproxy/fleet/fleettest"
	"rlmproxy/keyring"
	"rlmproxy/middleware/upstream"
	"rlmproxy/middleware/upstream/transport"
)

func configuredAs(id, secret string) func(*Server) {
	return func(s *Server) { s.ClientID, s.ClientSecret = id, secret }
}

// TestLogin is the matrix of sign-ins: each ends with a request that the server takes, or
// with an error.
func TestLogin(t *testing.T) {
	document := func(s *Server) { s.ClientMetadataURL = "https://example.com/rlmproxy.json" }
	big := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer":%q}`, strings.Repeat("x", maxDocument))
	}
	to := func(at string, code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, at, code) }
	}
	meta := func(change func(m *oauthex.AuthServerMeta)) func(*world) { return func(w *world) { w.meta = change } }
	answer := func(key, value string) func(*world) {
		return func(w *world) {
			w.answer = func(q url.Values) { q.Set(key, value) }
		}
	}
	for name, tt := range map[string]struct {
		set    func(*world)
		server func(*Server)
		client string // its kind
		err    string // holds
	}{
		"registered":                  {client: registered},
		"issuer with a path":          {set: func(w *world) { w.issuerPath = "/tenant/1" }, client: registered},
		"OpenID, path inserted":       {set: func(w *world) { w.issuerPath, w.metadataPath = "/t", "/.well-known/openid-configuration/t" }, client: registered},
		"OpenID, path appended":       {set: func(w *world) { w.issuerPath, w.metadataPath = "/t", "/t/.well-known/openid-configuration" }, client: registered},
		"no challenge":                {set: func(w *world) { w.noChallenge = true }, client: registered},
		"a resource above":            {set: func(w *world) { w.resource = w.server.URL }, client: registered},
		"metadata document":           {set: meta(func(m *oauthex.AuthServerMeta) { m.ClientIDMetadataDocumentSupported = true }), server: document, client: "metadata document"},
		"no documents are read there": {server: document, client: registered},
		"configured, public":          {server: configuredAs("known", ""), client: configured},
		"configured before a document": {
			set: func(w *world) {
				w.secret = "s"
				w.meta = func(m *oauthex.AuthServerMeta) { m.ClientIDMetadataDocumentSupported = true }
			},
			server: func(s *Server) { document(s); configuredAs("known", "s")(s) }, client: configured},
		"secret in the body": {
			set: func(w *world) {
				w.secret = "s"
				w.meta = func(m *oauthex.AuthServerMeta) { m.TokenEndpointAuthMethodsSupported = []string{"client_secret_post"} }
			},
			server: configuredAs("known", "s"), client: configured},
		"wrong secret":               {set: func(w *world) { w.secret = "s" }, server: configuredAs("known", "other"), err: "invalid_client"},
		"secret for another host":    {set: func(w *world) { w.pages[resourceMetadata] = naming("https://evil.example", w) }, server: configuredAs("known", "s"), err: `to send its clientSecret to https://evil.example, set that as "issuer" in its "auth"`},
		"no registration":            {set: meta(func(m *oauthex.AuthServerMeta) { m.RegistrationEndpoint = "" }), err: `set "auth"`},
		"iss not advertised":         {set: meta(func(m *oauthex.AuthServerMeta) { m.AuthorizationResponseIssParameterSupported = false }), client: registered},
		"wrong iss":                  {set: answer("iss", "https://evil.example"), err: "from another authorization server, https://evil.example"},
		"no iss":                     {set: answer("iss", ""), err: "RFC 9207"},
		"refused by the person":      {set: answer("error", "access_denied"), err: "access_denied"},
		"another resource":           {set: func(w *world) { w.resource = "https://good.example/mcp" }, err: "for another resource"},
		"a resource beside":          {set: func(w *world) { w.resource = w.server.URL + "/mc" }, err: "for another resource"},
		"metadata of other issuer":   {set: meta(func(m *oauthex.AuthServerMeta) { m.Issuer = "https://evil.example" }), err: "does not match"},
		"no PKCE":                    {set: meta(func(m *oauthex.AuthServerMeta) { m.CodeChallengeMethodsSupported = nil }), err: "PKCE"},
		"plain PKCE":                 {set: meta(func(m *oauthex.AuthServerMeta) { m.CodeChallengeMethodsSupported = []string{"plain"} }), err: "PKCE with S256"},
		"token endpoint without TLS": {set: meta(func(m *oauthex.AuthServerMeta) { m.TokenEndpoint = "http://issuer.example/token" }), err: "HTTPS"},
		"issuer without TLS":         {server: func(s *Server) { s.Issuer = "http://issuer.example" }, set: func(w *world) { w.pages[resourceMetadata] = naming("http://issuer.example", w) }, err: "without TLS"},
		"issuer that is not named":   {server: func(s *Server) { s.Issuer = "https://issuer.example" }, err: `the configured "issuer" is not one`},
		"large metadata":             {set: func(w *world) { w.pages["/.well-known/oauth-authorization-server"] = big }, err: "metadata"},
		"large resource metadata":    {set: func(w *world) { w.pages[resourceMetadata] = big }, err: "more than 1048576 bytes"},
		"metadata sent away":         {set: func(w *world) { w.pages[resourceMetadata] = to("http://elsewhere.example/", 302) }, err: "without TLS"},
		"metadata in a circle":       {set: func(w *world) { w.pages[resourceMetadata] = to(resourceMetadata, 302) }, err: "more than 3 redirects"},
		"code sent away":             {set: func(w *world) { w.pages["/token"] = to("https://elsewhere.example/", 307) }, err: "holds secrets"},
		"registration sent away":     {set: func(w *world) { w.pages["/register"] = to("https://elsewhere.example/", 307) }, err: "holds secrets"},
		"token of another type":      {set: func(w *world) { w.token = func(m map[string]any) { m["token_type"] = "DPoP" } }, err: "type DPoP"},
		"token with a line end":      {set: func(w *world) { w.token = func(m map[string]any) { m["access_token"] = "a\r\nb" } }, err: "cannot be sent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if tt.set != nil {
				tt.set(w)
			}
			a := w.account()
			if tt.server != nil {
				a = w.account(tt.server)
			}
			s, err := a.Login(t.Context(), Login{Show: browser, Wait: 5 * time.Second})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "SECRET") {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.Client != tt.client || !s.SignedIn || !s.Renewed {
				t.Errorf("status %+v", s)
			}
			// Another process finds what this one has kept.
			for _, a := range []*Account{a, New(a.server, Options{Keyring: keyring.Open(w.dir), Dir: w.dir + "/oauth"})} {
				if got, err := w.call(a); got != "200 hello world" {
					t.Errorf("call: %q %v", got, err)
				}
			}
		})
	}
}

// naming is metadata that names an issuer.
func naming(issuer string, w *world) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		reply(rw, 200, oauthex.ProtectedResourceMetadata{Resource: w.server.URL + "/mcp", AuthorizationServers: []string{issuer}})
	}
}

// TestHeadless signs in where the browser is on another machine: its address is pasted, after
// something else.
func TestHeadless(t *testing.T) {
	w := newWorld(t)
	in, out := io.Pipe()
	defer in.Close()
	noRedirect := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	show := func(address string) {
		go func() {
			resp, err := noRedirect.Get(address)
			if err != nil {
				return
			}
			resp.Body.Close()
			fmt.Fprintf(out, "what?\nhttp://127.0.0.1/callback?code=forged&state=forged\n%s\n", resp.Header.Get("Location"))
		}()
	}
	a := w.account()
	if _, err := a.Login(t.Context(), Login{Show: show, Pasted: in, Wait: 5 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if got, err := w.call(a); got != "200 hello world" {
		t.Errorf("call: %q %v", got, err)
	}
}

// TestCallback holds that a request which does not know our state ends no sign-in, and that
// nobody waits for ever.
func TestCallback(t *testing.T) {
	w := newWorld(t)
	var codes []int
	show := func(address string) {
		u, _ := url.Parse(address)
		back := u.Query().Get("redirect_uri")
		for _, stray := range []string{"?code=a&state=b&iss=" + w.issuer.URL, "?error=access_denied", "/../other"} {
			resp, err := http.Get(back + stray)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			codes = append(codes, resp.StatusCode)
		}
	}
	_, err := w.account().Login(t.Context(), Login{Show: show, Wait: 50 * time.Millisecond})
	if err == nil || err.Error() != "nobody has signed in within 50ms" {
		t.Errorf("error %v", err)
	}
	if got := fmt.Sprint(codes); got != "[400 400 404]" {
		t.Errorf("answers %s", got)
	}
}

// signedIn is an account that somebody has just signed in to.
func (w *world) signedIn() *Account {
	w.t.Helper()
	a := w.account()
	if _, err := a.Login(w.t.Context(), Login{Show: browser, Wait: 5 * time.Second}); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// older has the token of an account be d older than it is, in the keyring too.
func older(t *testing.T, d time.Duration, accounts ...*Account) {
	t.Helper()
	for _, a := range accounts {
		g, err := a.load()
		if err != nil || g == nil {
			t.Fatal(g, err)
		}
		g.Since, g.Expires = g.Since.Add(-d), g.Expires.Add(-d)
		a.hold(g)
	}
	if err := accounts[0].save(accounts[0].grant); err != nil {
		t.Fatal(err)
	}
}

// TestRenewed holds that tokens are renewed ahead of their end, once for all who wait, in
// this process and others, and that each refresh token is used once.
func TestRenewed(t *testing.T) {
	for name, accounts := range map[string]int{"one process": 1, "three processes": 3, "no rotation": 1, "three replicas": 3} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if name == "three replicas" {
				w.store = fleettest.Start(t)
			}
			if name == "no rotation" {
				w.token = func(m map[string]any) {
					if old := w.lastForm.Get("refresh_token"); old != "" {
						delete(m, "refresh_token")
						w.refresh[old] = true
					}
				}
			}
			all := []*Account{w.signedIn()}
			for len(all) < accounts {
				all = append(all, w.account())
			}
			for round := range 3 { // each with the refresh token of the last
				older(t, 56*time.Minute, all...)
				var wg sync.WaitGroup
				for i := range 20 {
					wg.Go(func() {
						if got, err := w.call(all[i%accounts]); got != "200 hello world" {
							t.Errorf("call: %q %v", got, err)
						}
					})
				}
				wg.Wait()
				if n := w.times("refresh_token"); n != round+1 {
					t.Fatalf("%d renewals in round %d", n, round)
				}
			}
			if w.lastForm.Get("resource") != w.server.URL+"/mcp" {
				t.Errorf("renewed for %q", w.lastForm.Get("resource"))
			}
		})
	}
}

// TestDue holds when a token is renewed. Only our own clock counts.
func TestDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, tt := range []struct {
			since, expires time.Duration // from now
			due            bool
		}{
			{-54 * time.Minute, 6 * time.Minute, false},
			{-56 * time.Minute, 4 * time.Minute, true},
			{-7 * time.Minute, 3 * time.Minute, false}, // of ten minutes, a fifth is two
			{-9 * time.Minute, time.Minute, true},
			{0, time.Second, false},
			{-2 * time.Hour, -time.Hour, true},
			{time.Hour, 2 * time.Hour, false}, // the clock was set back: the server will say
		} {
			g := grant{Since: now.Add(tt.since), Expires: now.Add(tt.expires)}
			if got := g.due(now); got != tt.due {
				t.Errorf("%v: due %v", tt, got)
			}
		}
		if (&grant{}).due(now) {
			t.Error("a token without an end is due")
		}
	})
}

// TestOddLifetimes holds that what a server says of its tokens' end causes no loop.
func TestOddLifetimes(t *testing.T) {
	for _, seconds := range []any{0, -5, 1, "60", 1 << 40, nil} {
		t.Run(fmt.Sprint(seconds), func(t *testing.T) {
			w := newWorld(t)
			w.token = func(m map[string]any) {
				if m["expires_in"] = seconds; seconds == nil {
					delete(m, "expires_in")
				}
			}
			a := w.signedIn()
			for range 10 {
				if got, err := w.call(a); got != "200 hello world" {
					t.Fatalf("call: %q %v", got, err)
				}
			}
			if n := w.times("refresh_token"); n > 1 {
				t.Errorf("%d renewals for 10 requests", n)
			}
		})
	}
}

// TestRefusedToken holds that a token which the server refuses before its end is renewed once, the
// request is sent again with its body, and that a server which refuses all is believed.
func TestRefusedToken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.signedIn()
		w.end(false)
		if got, err := w.call(a); got != "200 hello world" {
			t.Errorf("call: %q %v", got, err)
		}
		w.pages["/mcp"] = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUnauthorized) }
		_, err := w.call(a)
		var needs *transport.SignInError
		if !errors.As(err, &needs) || needs.Call || w.times("refresh_token") != 2 {
			t.Errorf("error %v after %d renewals", err, w.times("refresh_token"))
		}
	})
}

// TestRefusedRefresh holds that somebody is told once what to do, that nobody is asked again
// and again, and that a sign-in is noticed.
func TestRefusedRefresh(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var log bytes.Buffer
		a := w.signedIn()
		a.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		w.end(true)
		for range 20 {
			_, err := w.call(a)
			var needs *transport.SignInError
			if !errors.As(err, &needs) {
				t.Fatal(err)
			}
			if want := `tell the person: server "x" needs you to sign in: rlmproxy auth login x`; needs.Hint != want {
				t.Errorf("hint %q", needs.Hint)
			}
			a.failedAt = time.Time{} // as if time had passed
		}
		if n := w.times("refresh_token"); n != 1 {
			t.Errorf("%d attempts to renew", n)
		}
		if log.Len() > 0 { // whoever connects logs it
			t.Errorf("log: %s", &log)
		}
		if s, err := w.account().Status(t.Context()); err != nil || !s.Asked || s.Why == "" {
			t.Errorf("status %+v %v", s, err)
		}
		w.signedIn() // in another process
		if got, err := w.call(a); got != "200 hello world" {
			t.Errorf("call after a sign-in: %q %v", got, err)
		}
		if n := len(w.clients); n != 1 {
			t.Errorf("%d clients were registered", n)
		}
	})
}

// TestAway holds that an authorization server which is away costs nothing while the token is
// good, and is asked once for all who wait when it is not.
func TestAway(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.signedIn()
		asked := 0
		w.pages["/token"] = func(rw http.ResponseWriter, _ *http.Request) { asked++; rw.WriteHeader(503) }
		older(t, 56*time.Minute, a)
		for range 5 {
			if got, err := w.call(a); got != "200 hello world" {
				t.Errorf("call: %q %v", got, err)
			}
		}
		w.end(false)
		_, err := w.call(a)
		var needs *transport.SignInError
		if !errors.As(err, &needs) || !needs.Call || needs.Hint != "try again in a moment" || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("error %v", err)
		}
		if asked > 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// TestNobodySignedIn holds what the server's own 401 becomes.
func TestNobodySignedIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.account()
		if _, err := w.call(a); !errors.As(err, new(*transport.SignInError)) {
			t.Errorf("error %v", err)
		}
		w.noChallenge = true // but it has metadata
		if _, err := w.call(a); !errors.As(err, new(*transport.SignInError)) {
			t.Errorf("error %v", err)
		}
		w.pages[resourceMetadata] = http.NotFound // it may want a key of another kind
		if got, err := w.call(w.account()); got != "401 " {
			t.Errorf("without a challenge: %q %v", got, err)
		}
		delete(w.pages, resourceMetadata)
		w.signedIn()
		a.failedAt = time.Time{}
		if got, err := w.call(a); got != "200 hello world" {
			t.Errorf("after a sign-in: %q %v", got, err)
		}
	})
}

// TestOpenServer holds that a server which asks nobody is left alone, and the keyring with it.
func TestOpenServer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.tokens[""] = true // all may come
		w.pages[resourceMetadata] = http.NotFound
		a := w.account()
		if got, err := w.call(a); got != "200 hello world" {
			t.Errorf("call: %q %v", got, err)
		}
		if _, err := a.Login(t.Context(), Login{Show: browser}); !errors.Is(err, ErrNotNeeded) {
			t.Errorf("error %v", err)
		}
		if s, err := a.Status(t.Context()); err != nil || s.Asked || s.SignedIn {
			t.Errorf("status %+v %v", s, err)
		}
		if left, _ := os.ReadDir(w.dir); len(left) > 0 {
			t.Errorf("kept: %v", left)
		}
	})
}

// TestAllRefused holds that a server which refuses each request costs no token each: its
// authorization server would be asked as often as agents call.
func TestAllRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.signedIn()
		w.pages["/mcp"] = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUnauthorized) }
		for range 20 {
			if _, err := w.call(a); err == nil || !strings.Contains(err.Error(), "refuses even a new token") {
				t.Errorf("error %v", err)
			}
			a.failedAt = time.Time{} // as if time had passed
		}
		if n := w.times("refresh_token"); n != 1 {
			t.Errorf("%d renewals for 20 requests", n)
		}
	})
}

// TestChangedEntry holds that a token is not used where the configuration has another
// authorization server or client by now.
func TestChangedEntry(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.signedIn()
		issuer := func(url string) func(*Server) { return func(s *Server) { s.Issuer = url } }
		kept := func(change func(*Server)) bool {
			g, err := w.account(change).load()
			return g != nil && err == nil
		}
		if !kept(issuer(w.issuer.URL)) || !kept(issuer(w.issuer.URL+"/")) || kept(issuer("https://issuer.example")) || kept(configuredAs("known", "")) {
			t.Error("registered: the wrong entries have the token")
		}
		if _, err := w.account(configuredAs("known", "")).Login(t.Context(), Login{Show: browser, Wait: 5 * time.Second}); err != nil {
			t.Fatal(err)
		}
		if !kept(configuredAs("known", "")) || kept(configuredAs("other", "")) || kept(func(*Server) {}) {
			t.Error("configured: the wrong entries have the token")
		}
	})
}

// TestRegisteredAgain holds when a registered client is not used again: where the authorization
// server does not know it any more, and at another authorization server.
func TestRegisteredAgain(t *testing.T) {
	w := newWorld(t)
	a := w.signedIn()
	w.end(false)
	w.pages["/token"] = func(rw http.ResponseWriter, _ *http.Request) {
		reply(rw, 401, map[string]any{"error": "invalid_client"})
	}
	if _, err := w.call(a); !errors.As(err, new(*transport.SignInError)) {
		t.Errorf("error %v", err)
	}
	delete(w.pages, "/token")
	w.signedIn()
	w.signedIn()
	if n := w.times("/register"); n != 2 {
		t.Errorf("%d registrations with the client that is gone", n)
	}
	w.issuerPath = "/other"
	w.signedIn()
	if n := w.times("/other/register"); n != 1 {
		t.Errorf("%d registrations at another authorization server", n)
	}
}

// TestLocked holds that nobody waits for a process that was stopped while it had the lock for longer
// than they have time.
func TestLocked(t *testing.T) {
	w := newWorld(t)
	a := w.signedIn()
	unlock, _, err := w.account().vault.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	older(t, 2*time.Hour, a)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := a.token(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	unlock()
	if got, err := w.call(a); got != "200 hello world" {
		t.Errorf("call after it: %q %v", got, err)
	}
}

var manyScopes = func() (all string) {
	for i := range 50 {
		all += fmt.Sprintf("s%0150d ", i)
	}
	return all
}()

// TestStepUp holds that a right which is missing refuses one call, and that the next sign-in
// asks for it besides the others.
func TestStepUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.signedIn()
		w.scope = "files:write it's"
		_, err := w.call(a)
		var needs *transport.SignInError
		if !errors.As(err, &needs) || !needs.Call || !strings.HasSuffix(needs.Hint, "rlmproxy auth login x --scope files:write") {
			t.Errorf("error %v %+v", err, needs)
		}
		for scope, hint := range map[string]string{
			"a&calc b;id $(id) c|d %x% repo:* ok":              " --scope 'repo:*' --scope ok",
			strings.Repeat("x", 200) + strings.Repeat(" y", 9): " --scope " + strings.Repeat("x", 200) + " --scope y",
			strings.Repeat("please-run/this ", 1) + manyScopes: " --scope please-run/this",
		} {
			w.scope = scope
			if _, err := w.call(a); !errors.As(err, &needs) || !strings.Contains(needs.Hint, "rlmproxy auth login x"+hint) || len(needs.Hint) > 600 || strings.ContainsAny(needs.Hint, "&;$|%") {
				t.Errorf("%s: hint %q", scope, needs.Hint)
			}
		}
		w.scope = ""
		scope := ""
		w.answer = func(url.Values) {
			for _, form := range w.codes {
				scope = form.Get("scope")
			}
		}
		for _, step := range [][2]string{{"files:write", "read offline_access files:write"}, {"mail", "read offline_access files:write mail"}} {
			if _, err := a.Login(t.Context(), Login{Show: browser, Scopes: step[:1], Wait: 5 * time.Second}); err != nil || scope != step[1] {
				t.Errorf("asked for %q, error %v", scope, err)
			}
		}
	})
}

// TestMachine holds that a client with a secret signs in by itself, when it is asked to, and again
// when its token ends.
func TestMachine(t *testing.T) {
	w := newWorld(t)
	w.secret = "s"
	machine := func(s *Server) { s.ClientID, s.ClientSecret, s.Machine = "known", "s", true }
	a := w.account(machine)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if got, err := w.call(a); got != "200 hello world" {
				t.Errorf("call: %q %v", got, err)
			}
		})
	}
	wg.Wait()
	w.end(false)
	if got, err := w.call(a); got != "200 hello world" || w.times("client_credentials") != 2 {
		t.Errorf("call: %q %v, %d tokens", got, err, w.times("client_credentials"))
	}
	if left, _ := os.ReadDir(w.dir); len(left) > 0 {
		t.Errorf("kept: %v", left)
	}
	w.pages[resourceMetadata] = func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://127.0.0.1:1/SECRET", http.StatusFound)
	}
	if _, err := w.call(w.account(machine)); err == nil || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("error %v", err)
	}
	delete(w.pages, resourceMetadata)
	w.secret = "changed"
	_, err := w.call(w.account(machine))
	var needs *transport.SignInError
	if !errors.As(err, &needs) || !strings.HasPrefix(needs.Hint, "tell the operator") || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("error %v", err)
	}
}

// TestLogout holds that tokens are revoked and forgotten, and that the token of one URL is not
// for another.
func TestLogout(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.signedIn()
		elsewhere := w.account(func(s *Server) { s.URL += "/" })
		if g, err := elsewhere.load(); g != nil || err != nil {
			t.Errorf("another URL has %v, %v", g, err)
		}
		if had, revoked, err := a.Logout(t.Context()); !had || revoked != nil || err != nil || len(w.tokens)+len(w.refresh) > 0 {
			t.Errorf("%v %v %v, left %v %v", had, revoked, err, w.tokens, w.refresh)
		}
		if had, _, err := a.Logout(t.Context()); had || err != nil {
			t.Errorf("again: %v %v", had, err)
		}
		w.meta = func(m *oauthex.AuthServerMeta) { m.RevocationEndpoint = "http://issuer.example/revoke" }
		if _, revoked, err := w.signedIn().Logout(t.Context()); err != nil || revoked == nil || !strings.Contains(revoked.Error(), "does not revoke") {
			t.Errorf("revoked without TLS: %v, %v", revoked, err)
		}
		if _, err := w.call(a); !errors.As(err, new(*transport.SignInError)) {
			t.Errorf("error %v", err)
		}
		if s, err := a.Status(t.Context()); err != nil || s.SignedIn || !s.Asked {
			t.Errorf("status %+v %v", s, err)
		}
	})
}

// TestWhere holds that tokens go to the server alone, and that a server on the Internet does not
// send us to this machine.
func TestWhere(t *testing.T) {
	w := newWorld(t)
	a := w.signedIn()
	foreign := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Error("it was sent ", r.Header) }))
	defer foreign.Close()
	w.pages["/mcp"] = func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, foreign.URL, http.StatusTemporaryRedirect)
	}
	client, err := transport.NewClient(w.server.URL+"/mcp", nil, a.Authorize)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Post(w.server.URL+"/mcp", "application/json", strings.NewReader("{}")); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("error %v", err)
	}
	if _, err := newClient(false, noProxy).Get(foreign.URL); err == nil || !strings.Contains(err.Error(), "is a private address") {
		t.Errorf("error %v", err)
	}
	// With a proxy, that of this machine is still asked directly, as http.ProxyFromEnvironment has it.
	local := func(r *http.Request) (*url.URL, error) {
		if isLoopback(r.URL.Hostname()) {
			return nil, nil
		}
		return url.Parse(foreign.URL)
	}
	for _, at := range []string{strings.Replace(foreign.URL, "127.0.0.1", "localhost", 1), "http://10.0.0.1/"} {
		if _, err := newClient(false, local).Get(at); err == nil || !strings.Contains(err.Error(), "is a private address") {
			t.Errorf("%s behind a proxy: error %v", at, err)
		}
	}
	for address, ok := range map[string]bool{
		"8.8.8.8": true, "127.0.0.1": false, "::1": false, "10.0.0.1": false, "169.254.169.254": false, "100.64.1.1": false,
		"::ffff:10.0.0.1": false, "fd00::1": false, "0.0.0.0": false, "224.0.0.1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != ok {
			t.Errorf("%s: %v", address, got)
		}
	}
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

// TestNetworkLater holds that a server whose name could not be looked up is looked up again.
func TestNetworkLater(t *testing.T) {
	a := New(Server{URL: "https://no-such-name.invalid/mcp"}, Options{})
	if first := a.http(); first == a.http() {
		t.Error("what was not known is kept")
	}
	a = New(Server{URL: "https://127.0.0.1/mcp"}, Options{})
	if first := a.http(); first != a.http() {
		t.Error("what is known is not kept")
	}
}

// TestUpstream holds what the agent reads of a server that wants a sign-in, that it is there
// when somebody has signed in, and that a right which is missing ends no session.
func TestUpstream(t *testing.T) {
	for _, kind := range []string{"http", "sse"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "hi"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hi"}}}, nil, nil
			})
			get := func(*http.Request) *mcp.Server { return server }
			var handler http.Handler = mcp.NewStreamableHTTPHandler(get, nil)
			if kind == "sse" {
				handler = mcp.NewSSEHandler(get, nil)
			}
			protected := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				w.mu.Lock()
				good, scope := w.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")], w.scope
				w.mu.Unlock()
				switch {
				case r.URL.Path == resourceMetadata:
					reply(rw, 200, oauthex.ProtectedResourceMetadata{Resource: "http://" + r.Host + "/mcp", AuthorizationServers: []string{w.issuer.URL}})
				case !good:
					rw.Header().Set("WWW-Authenticate", `Bearer resource_metadata="http://`+r.Host+resourceMetadata+`"`)
					rw.WriteHeader(http.StatusUnauthorized)
				case scope != "" && r.Method == http.MethodPost:
					rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+scope+`"`)
					rw.WriteHeader(http.StatusForbidden)
				default:
					handler.ServeHTTP(rw, r)
				}
			}))
			defer protected.Close()
			at := func(s *Server) { s.URL = protected.URL + "/mcp" }
			a := w.account(at)
			ready := make(chan struct{}, 10)
			u := upstream.New(upstream.Options{Name: "x", Changed: func() { ready <- struct{}{} }, Dial: upstream.SignedIn(protected.URL+"/mcp", kind, nil, a.Authorize), MinBackoff: 20 * time.Millisecond})
			defer protected.CloseClientConnections()
			defer u.Close()
			call := func() (string, string) {
				raw, err := u.Call(t.Context(), upstream.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"hi","arguments":{}}`)})
				var down *upstream.UnavailableError
				if errors.As(err, &down) {
					return down.Error(), down.Hint()
				}
				return string(raw), fmt.Sprint(err)
			}
			text, hint := call()
			const instruction = `server "x" needs you to sign in: rlmproxy auth login x`
			if text != `server "x" requires a sign-in: nobody is signed in` || hint != "tell the person: "+instruction {
				t.Errorf("%s\nhint: %s", text, hint)
			}
			if _, err := w.account(at).Login(t.Context(), Login{Show: browser, Wait: 5 * time.Second}); err != nil {
				t.Fatal(err)
			}
			a.mu.Lock()
			a.failedAt = time.Time{} // as if time had passed
			a.mu.Unlock()
			<-ready
			if text, _ := call(); !strings.Contains(text, `"hi"`) {
				t.Errorf("call: %s", text)
			}
			w.end(false)
			if text, _ := call(); !strings.Contains(text, `"hi"`) {
				t.Errorf("call with another token: %s", text)
			}
			w.mu.Lock()
			w.scope = "write"
			w.mu.Unlock()
			if text, hint := call(); !strings.Contains(text, "lacks a scope") || !strings.Contains(hint, "--scope write") {
				t.Errorf("%s\nhint: %s", text, hint)
			}
			if state, _ := u.State(); state != upstream.Ready {
				t.Errorf("state %v", state)
			}
		})
	}
}

// TestCancelled holds that a caller who goes away while another renews does not wait.
func TestCancelled(t *testing.T) {
	w := newWorld(t)
	a := w.signedIn()
	older(t, 2*time.Hour, a)
	a.turn <- struct{}{} // somebody renews
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.token(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
