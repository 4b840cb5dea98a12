package auth

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	keysPath  = "/tenant/keys"
	oidcPath  = "/tenant/.well-known/openid-configuration"
	oauthPath = "/.well-known/oauth-authorization-server/tenant"
)

// A gate is a guard before an issuer, in a bubble of synctest.
type gate struct {
	t   *testing.T
	g   *Guard
	log *bytes.Buffer
}

// inBubble runs test with a gate whose time is synctest's.
func inBubble(t *testing.T, s *issuer, opts JWT, test func(*testing.T, gate)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opts.Issuer, opts.Transport = issuerURL, s
		g, log := newGuard(t, Options{JWT: &opts, Resource: resource})
		test(t, gate{t, g, log})
	})
}

// status is that of a request with a token that by signs now.
func (b gate) status(by signer) int {
	b.t.Helper()
	w, _ := ask(b.g, request("Authorization: Bearer "+sign(b.t, by, claims(nil), nil)))
	return w.Code
}

func (b gate) want(by signer, status int, when string) {
	b.t.Helper()
	if got := b.status(by); got != status {
		b.t.Errorf("%s: status %d, want %d\n%s", when, got, status, b.log)
	}
}

var (
	keyA = sync.OnceValue(func() signer { return signer{"a", jose.ES256, ec256()} })
	keyB = sync.OnceValue(func() signer { return signer{"b", jose.ES384, ec384()} })
)

// TestRotation: a new key works within a minute, a withdrawn one for ten
// minutes at most.
func TestRotation(t *testing.T) {
	s := newIssuer(keyA())
	inBubble(t, s, JWT{}, func(t *testing.T, b gate) {
		b.want(keyA(), 200, "at first")
		s.rotate(keyA(), keyB())
		b.want(keyB(), 401, "just after a refresh")
		time.Sleep(refreshGap)
		b.want(keyB(), 200, "a minute later")
		s.rotate(keyB())
		b.want(keyA(), 200, "withdrawn, still kept")
		time.Sleep(keysFresh)
		b.want(keyA(), 401, "withdrawn, keys asked for again")
		b.want(keyB(), 200, "the new key")
		if n := s.count(keysPath); n != 3 {
			t.Errorf("keys were asked for %d times, want 3", n)
		}
	})
}

// TestFlood: whoever makes up names of keys does not make us ask the issuer
// more than once a minute, nor keeps others out.
func TestFlood(t *testing.T) {
	s := newIssuer(keyA())
	inBubble(t, s, JWT{}, func(t *testing.T, b gate) {
		b.want(keyA(), 200, "before")
		for minute := range 5 {
			time.Sleep(refreshGap)
			var all sync.WaitGroup
			for i := range 100 {
				all.Go(func() {
					if got := b.status(signer{fmt.Sprint("made-up-", minute, i), jose.ES256, ec256()}); got != 401 {
						t.Errorf("status %d for a made-up key", got)
					}
				})
				all.Go(func() {
					if got := b.status(keyA()); got != 200 {
						t.Errorf("status %d for a known key", got)
					}
				})
			}
			all.Wait()
		}
		if n := s.count(keysPath); n != 6 {
			t.Errorf("keys were asked for %d times in 5 minutes, want 6", n)
		}
	})
}

// TestIssuerDown: kept keys serve for a day; without any, the answer says
// that it is our failure, and the issuer is asked every ten seconds.
func TestIssuerDown(t *testing.T) {
	s := newIssuer(keyA())
	up := s.pages[keysPath]
	down := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusBadGateway) }
	s.set(keysPath, down)
	inBubble(t, s, JWT{JWKSURL: "https://login.example.com" + keysPath + "?code=hunter2"}, func(t *testing.T, b gate) {
		for range 3 {
			w, _ := ask(b.g, request("Authorization: Bearer "+sign(t, keyA(), claims(nil), nil)))
			if w.Code != 503 || w.Header().Get("Retry-After") != "10" || w.Header().Get("WWW-Authenticate") != "" {
				t.Errorf("status %d, headers %v", w.Code, w.Header())
			}
		}
		if n := s.count(keysPath); n != 1 {
			t.Errorf("keys were asked for %d times, want 1", n)
		}
		if n := lines(b.log, "https://login.example.com/tenant/keys: status 502"); n != 1 || strings.Contains(b.log.String(), "hunter2") {
			t.Errorf("%d warnings\n%s", n, b.log)
		}
		s.set(keysPath, up)
		time.Sleep(retryAfter)
		b.want(keyA(), 200, "up")
		s.set(keysPath, down)
		time.Sleep(keysStale - time.Minute)
		b.want(keyA(), 200, "down for a day")
		time.Sleep(2 * time.Minute)
		b.want(keyA(), 503, "down for longer")
		s.set(keysPath, up)
		time.Sleep(refreshGap)
		b.want(keyA(), 200, "up again")
	})
}

// TestIssuerHangs: a refresh ends after ten seconds, and while it runs a kept
// key serves at once, an old one too.
func TestIssuerHangs(t *testing.T) {
	for _, age := range []time.Duration{refreshGap, keysFresh} {
		s := newIssuer(keyA())
		inBubble(t, s, JWT{}, func(t *testing.T, b gate) {
			b.want(keyA(), 200, "at first")
			s.set(keysPath, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
			time.Sleep(age)
			begun := time.Now()
			var all sync.WaitGroup
			all.Go(func() { b.want(signer{"new", jose.ES256, ec256()}, 401, "unknown") })
			synctest.Wait()
			b.want(keyA(), 200, "known")
			if took := time.Since(begun); took != 0 {
				t.Errorf("a known key waited for %v", took)
			}
			all.Wait()
			if took := time.Since(begun); took != fetchTimeout {
				t.Errorf("an unknown key waited for %v, want %v", took, fetchTimeout)
			}
		})
	}
}

// TestKeysMove: metadata is read anew with the keys, which may have moved.
func TestKeysMove(t *testing.T) {
	s := newIssuer(keyA())
	inBubble(t, s, JWT{}, func(t *testing.T, b gate) {
		b.want(keyA(), 200, "at first")
		s.set("/new", s.pages[keysPath])
		s.set(keysPath, http.NotFound)
		s.set(oidcPath, page(`{"issuer": "`+issuerURL+`", "jwks_uri": "https://login.example.com/new"}`))
		s.rotate(keyB())
		time.Sleep(keysFresh)
		b.want(keyB(), 200, "found at the new place")
		b.want(keyA(), 401, "withdrawn")
	})
}

// TestHangUp: clients that leave do not use up the refresh.
func TestHangUp(t *testing.T) {
	s := newIssuer(keyA())
	up := s.pages[keysPath]
	s.set(keysPath, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Second)
		up(w, r)
	})
	inBubble(t, s, JWT{}, func(t *testing.T, b gate) {
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		token := sign(t, keyA(), claims(nil), nil)
		for range 2 {
			all.Go(func() { ask(b.g, request("Authorization: Bearer "+token).WithContext(ctx)) })
		}
		synctest.Wait()
		cancel()
		all.Wait()
		b.want(keyA(), 200, "after others left")
		if n := s.count(keysPath); n != 1 {
			t.Errorf("keys were asked for %d times, want 1", n)
		}
	})
}

// TestDiscovery tries the places of metadata, and what may stand there.
func TestDiscovery(t *testing.T) {
	const keys = "https://login.example.com/tenant/keys"
	meta := func(issuer, at string) string { return fmt.Sprintf(`{"issuer": %q, "jwks_uri": %q}`, issuer, at) }
	tests := []struct {
		name, path, body string
		status           int
		log              string
	}{
		{"OAuth", oauthPath, meta(issuerURL, keys), 200, ""},
		{"OpenID", oidcPath, meta(issuerURL, keys), 200, ""},
		{"OpenID, path last", "/.well-known/openid-configuration/tenant", meta(issuerURL, keys), 200, ""},
		{"nowhere", "/x", "", 503, "status 404"},
		{"another issuer's", oauthPath, meta("https://evil.example.com", keys), 503, "its issuer is not exactly " + issuerURL},
		{"no issuer", oauthPath, `{"jwks_uri": "` + keys + `"}`, 503, "its issuer is not exactly"},
		{"no keys", oauthPath, meta(issuerURL, ""), 503, "it has no jwks_uri"},
		{"keys over http", oauthPath, meta(issuerURL, "http://login.example.com/tenant/keys"), 503, "jwks_uri: it is not https"},
		{"keys in a file", oauthPath, meta(issuerURL, "file:///etc/passwd"), 503, "jwks_uri: expected a URL"},
		{"not JSON", oauthPath, "<html>hunter2", 503, "not the JSON that was expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newIssuer(keyA())
			delete(s.pages, oidcPath)
			s.set(tt.path, page(tt.body))
			inBubble(t, s, JWT{}, func(t *testing.T, b gate) {
				b.want(keyA(), tt.status, tt.name)
				if !strings.Contains(b.log.String(), tt.log) || strings.Contains(b.log.String(), "hunter2") {
					t.Errorf("log %s, want %q", b.log, tt.log)
				}
			})
		})
	}
}

// TestKeySets: what a key set may look like, and what is made of it.
func TestKeySets(t *testing.T) {
	s := newIssuer(keyA())
	public, err := jose.JSONWebKey{Key: ec256().Public(), KeyID: "a"}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	private, err := jose.JSONWebKey{Key: ec256(), KeyID: "a"}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	good := string(public)
	edit := func(member string) string { return strings.TrimSuffix(good, "}") + "," + member + "}" }
	tests := []struct {
		name, body string
		status     int
		log        string
	}{
		{"one", `{"keys": [` + good + `]}`, 200, ""},
		{"among unknown ones", `{"keys": [{"kty":"AKP"}, {"kty":"new"}, 7, {"kty":"RSA","n":"AQ"}, ` + good + `]}`, 200, ""},
		{"for signatures", `{"keys": [` + edit(`"use":"sig"`) + `]}`, 200, ""},
		{"for encryption", `{"keys": [` + edit(`"use":"enc"`) + `]}`, 401, ""},
		{"of its algorithm", `{"keys": [` + edit(`"alg":"ES256"`) + `]}`, 200, ""},
		{"of another algorithm", `{"keys": [` + edit(`"alg":"ES384"`) + `]}`, 401, ""},
		{"private", `{"keys": [` + string(private) + `]}`, 503, "no public key"},
		{"symmetric", `{"keys": [{"kty":"oct","kid":"a","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"}]}`, 503, "no public key"},
		{"point off the curve", `{"keys": [{"kty":"EC","crv":"P-256","kid":"a","x":"AQ","y":"AQ"}]}`, 503, "no public key"},
		{"empty", `{"keys": []}`, 503, "no public key"},
		{"not JSON", `hunter2`, 503, "not the JSON that was expected"},
		{"too many", `{"keys": [` + strings.Repeat(good+",", maxKeys) + good + `]}`, 503, "65 keys; 64 are allowed"},
		{"too large", `{"keys": [` + good + `]}` + strings.Repeat(" ", maxDocumentBytes), 503, "more than 1024 KiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.set(keysPath, page(tt.body))
			inBubble(t, s, JWT{}, func(t *testing.T, b gate) {
				b.want(keyA(), tt.status, tt.name)
				if !strings.Contains(b.log.String(), tt.log) || strings.Contains(b.log.String(), "hunter2") {
					t.Errorf("log %s, want %q", b.log, tt.log)
				}
			})
		})
	}
	t.Run("elsewhere", func(t *testing.T) {
		s.set(keysPath, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1/keys", http.StatusFound)
		})
		inBubble(t, s, JWT{}, func(t *testing.T, b gate) {
			b.want(keyA(), 503, "redirected")
			if !strings.Contains(b.log.String(), "status 302") {
				t.Errorf("log %s", b.log)
			}
		})
	})
}
