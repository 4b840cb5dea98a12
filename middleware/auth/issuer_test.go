package auth

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	issuerURL = "https://login.example.com/tenant"
	resource  = "http://127.0.0.1:8080/mcp"
)

// An issuer answers requests for its keys and metadata, in memory, and counts
// them.
type issuer struct {
	mu    sync.Mutex
	pages map[string]func(http.ResponseWriter, *http.Request) // by path; others are 404
	asked map[string]int                                      // by path
	signs []signer                                            // what the key set holds
}

// A signer is a key with a name.
type signer struct {
	kid string
	alg jose.SignatureAlgorithm
	key crypto.Signer
}

// newIssuer has its keys at /tenant/keys and OpenID Connect's metadata.
func newIssuer(signs ...signer) *issuer {
	s := &issuer{asked: map[string]int{}, signs: signs}
	s.pages = map[string]func(http.ResponseWriter, *http.Request){
		"/tenant/keys": func(w http.ResponseWriter, _ *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			var set jose.JSONWebKeySet
			for _, k := range s.signs {
				set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.key.Public(), KeyID: k.kid, Use: "sig"})
			}
			_ = json.NewEncoder(w).Encode(set)
		},
		"/tenant/.well-known/openid-configuration": page(`{"issuer": "` + issuerURL + `", "jwks_uri": "https://login.example.com/tenant/keys"}`),
	}
	return s
}

func page(body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}

// rotate replaces the key set.
func (s *issuer) rotate(signs ...signer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signs = signs
}

func (s *issuer) set(path string, answer func(http.ResponseWriter, *http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = answer
}

// count is how often path was asked for.
func (s *issuer) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

func (s *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	answer := s.pages[r.URL.Path]
	s.mu.Unlock()
	if answer == nil {
		http.NotFound(w, r)
		return
	}
	answer(w, r)
}

// RoundTrip answers without a network, so that time can be synctest's.
func (s *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	done := make(chan *http.Response, 1)
	go func() {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		done <- w.Result()
	}()
	select {
	case resp := <-done:
		return resp, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

var _ http.RoundTripper = (*issuer)(nil)

// Keys are made once: RSA keys take long.
var (
	rsaKey, otherRSA, smallRSA, ec256, ec384, ec521, edKey = sync.OnceValue(newRSA(2048)), sync.OnceValue(newRSA(2048)), sync.OnceValue(newRSA(1024)),
		sync.OnceValue(newEC(elliptic.P256())), sync.OnceValue(newEC(elliptic.P384())), sync.OnceValue(newEC(elliptic.P521())),
		sync.OnceValue(func() crypto.Signer { return must(ed25519.GenerateKey(rand.Reader)) })
)

func newRSA(bits int) func() crypto.Signer {
	return func() crypto.Signer {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			panic(err)
		}
		return key
	}
}

func newEC(curve elliptic.Curve) func() crypto.Signer {
	return func() crypto.Signer {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			panic(err)
		}
		return key
	}
}

func must(_ ed25519.PublicKey, key ed25519.PrivateKey, err error) crypto.Signer {
	if err != nil {
		panic(err)
	}
	return key
}

// claims are those of a token that is valid for five minutes, changed by
// edits; a nil value removes one.
func claims(edits map[string]any) map[string]any {
	now := time.Now()
	all := map[string]any{
		"iss": issuerURL, "aud": resource, "sub": "ann", "email": "ann@example.com",
		"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
	}
	maps.Copy(all, edits)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

// sign makes a token. A header value replaces the one that belongs there.
func sign(t testing.TB, by signer, claims any, header map[jose.HeaderKey]any) string {
	t.Helper()
	opts := &jose.SignerOptions{ExtraHeaders: header}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: by.alg, Key: jose.JSONWebKey{Key: by.key, KeyID: by.kid}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// lines counts the lines of a log that hold text.
func lines(log *bytes.Buffer, text string) int {
	n := 0
	for line := range bytes.Lines(log.Bytes()) {
		if bytes.Contains(line, []byte(text)) {
			n++
		}
	}
	return n
}
