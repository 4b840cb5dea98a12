package web

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"rlmproxy/cache"
	"rlmproxy/middleware"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/upstream"
)

const (
	testIssuer   = "https://login.example.com"
	testResource = "http://example.com/mcp"
)

// An issuer is one whose keys come without a network, so that time is synctest's.
type issuer ed25519.PrivateKey

func (key issuer) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: ed25519.PrivateKey(key).Public(), KeyID: "k"}}}
	err := json.NewEncoder(w).Encode(set)
	return w.Result(), err
}

// token is one that expires then.
func (key issuer) token(t *testing.T, expiry time.Time) string {
	by, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: ed25519.PrivateKey(key), KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(by).Claims(map[string]any{"iss": testIssuer, "aud": testResource, "sub": "ann", "exp": expiry.Unix()}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestExpiry: what a client listens on ends when its token would be refused; a
// call that was begun before goes on to its answer. Such streams used to last.
func TestExpiry(t *testing.T) {
	key := issuer(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	listen := `{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`
	for _, tt := range []struct {
		name, method, body string
		header             []string
		lasts              time.Duration // after the expiry
		want               string
	}{
		{"GET", "GET", "", nil, 30 * time.Second, ": \n\n"},
		{"listen", "POST", alone(listen, ""), []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"}, 30 * time.Second, "acknowledged"},
		{"call", "POST", callT(3, "{}"), nil, 4 * time.Minute, "done"},
		{"call alone", "POST", alone(callT(3, "{}"), ""), aloneHeader, 4 * time.Minute, "done"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, err := cache.New(cache.Options{Key: []byte("0123456789abcdef")})
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				f := withT(func(context.Context, upstream.Request) (json.RawMessage, error) {
					time.Sleep(5 * time.Minute)
					return text("done"), nil
				})
				server, err := middleware.New(middleware.Options{Store: store, Upstreams: []middleware.Upstream{{Name: "s", Conn: f}}, CallTimeout: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				guard, err := auth.New(auth.Options{
					Resource: testResource,
					JWT:      &auth.JWT{Issuer: testIssuer, JWKSURL: testIssuer + "/keys", Transport: key},
				})
				if err != nil {
					t.Fatal(err)
				}
				h := New(Options{Attach: attach(server), Guard: guard})
				defer h.Close()
				expiry := time.Now().Add(time.Minute)
				do := func(method, body string, header ...string) *httptest.ResponseRecorder {
					r := httptest.NewRequestWithContext(t.Context(), method, testResource, strings.NewReader(body))
					r.Header.Set("Authorization", "Bearer "+key.token(t, expiry))
					r.Header.Set("Content-Type", "application/json")
					r.Header.Set("Accept", "application/json, text/event-stream")
					for i := 0; i < len(header); i += 2 {
						r.Header.Set(header[i], header[i+1])
					}
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					return w
				}
				if tt.header == nil {
					tt.header = []string{"Mcp-Session-Id", do("POST", begin).Header().Get("Mcp-Session-Id")}
				}
				w := do(tt.method, tt.body, tt.header...)
				if w.Code != 200 || !strings.Contains(w.Body.String(), tt.want) {
					t.Errorf("%d %s, want %s", w.Code, w.Body, tt.want)
				}
				if late := time.Since(expiry); late < tt.lasts || late > tt.lasts+time.Second {
					t.Errorf("it ended %v after the token expired, want %v", late, tt.lasts)
				}
			})
		})
	}
}
