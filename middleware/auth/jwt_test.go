package auth

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"rlmproxy/middleware/rights"
)

const (
	refused = "the bearer token is not valid here"
	outworn = "the bearer token has expired"
)

// unsigned is header.claims.signature, each as given.
func unsigned(header, claims string, signature []byte) string {
	enc := base64.RawURLEncoding
	return enc.EncodeToString([]byte(header)) + "." + enc.EncodeToString([]byte(claims)) + "." + enc.EncodeToString(signature)
}

// hs256 signs with a shared secret; an issuer's public key has been one.
func hs256(header string, claims map[string]any, key []byte) string {
	body, _ := json.Marshal(claims)
	input := strings.TrimSuffix(unsigned(header, string(body), nil), ".")
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(input))
	return input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func TestJWT(t *testing.T) {
	k := signer{"k1", jose.RS256, rsaKey()}
	forged := signer{"k1", jose.RS256, otherRSA()}
	small := signer{"small", jose.RS256, smallRSA()}
	s := newIssuer(k, small, signer{"p256", jose.ES256, ec256()}, signer{"p384", jose.ES384, ec384()}, signer{"p521", jose.ES512, ec521()}, signer{"ed", jose.EdDSA, edKey()})
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	with := func(edits map[string]any) string { return sign(t, k, claims(edits), nil) }
	typ := func(v any) string { return sign(t, k, claims(nil), map[jose.HeaderKey]any{"typ": v}) }
	good := with(nil)
	parts := strings.Split(good, ".")
	body, _ := json.Marshal(claims(nil))
	der, _ := x509.MarshalPKIXPublicKey(rsaKey().Public())
	embedded := jose.JSONWebKey{Key: otherRSA().Public(), KeyID: "k1"}
	type edits = map[string]any

	tests := []struct {
		name, token string
		reason      string // "" when admitted
	}{
		{"good", good, ""},
		{"audience in a list", with(edits{"aud": []string{"x", resource}}), ""},
		{"expired within the leeway", with(edits{"exp": in(-20 * time.Second)}), ""},
		{"not before within the leeway", with(edits{"nbf": in(20 * time.Second)}), ""},
		{"fraction of a second", with(edits{"exp": float64(in(time.Minute)) + 0.5}), ""},
		{"access token", typ("at+jwt"), ""},
		{"access token in full", typ("application/AT+JWT"), ""},
		{"JWT", typ("JWT"), ""},
		{"no kid", sign(t, signer{"", jose.RS256, rsaKey()}, claims(nil), nil), ""},
		{"RS384", sign(t, signer{"k1", jose.RS384, rsaKey()}, claims(nil), nil), ""},
		{"RS512", sign(t, signer{"k1", jose.RS512, rsaKey()}, claims(nil), nil), ""},
		{"PS256", sign(t, signer{"k1", jose.PS256, rsaKey()}, claims(nil), nil), ""},
		{"PS384", sign(t, signer{"k1", jose.PS384, rsaKey()}, claims(nil), nil), ""},
		{"PS512", sign(t, signer{"k1", jose.PS512, rsaKey()}, claims(nil), nil), ""},
		{"ES256", sign(t, signer{"p256", jose.ES256, ec256()}, claims(nil), nil), ""},
		{"ES384", sign(t, signer{"p384", jose.ES384, ec384()}, claims(nil), nil), ""},
		{"ES512", sign(t, signer{"p521", jose.ES512, ec521()}, claims(nil), nil), ""},
		{"EdDSA", sign(t, signer{"ed", jose.EdDSA, edKey()}, claims(nil), nil), ""},

		{"expired", with(edits{"exp": in(-time.Minute)}), "expired token"},
		{"no expiry", with(edits{"exp": nil}), "no expiry"},
		{"expiry of null", unsign(t, k, `{"iss":"`+issuerURL+`","aud":"`+resource+`","sub":"ann","exp":null}`), "no expiry"},
		{"expiry in words", with(edits{"exp": "tomorrow"}), "malformed token"},
		{"expiry beyond time", with(edits{"exp": 1e300}), "malformed token"},
		{"not yet", with(edits{"nbf": in(time.Minute)}), "not valid yet"},
		{"issued later", with(edits{"iat": in(time.Minute)}), "not valid yet"},
		{"another audience", with(edits{"aud": "https://other.example.com/mcp"}), "audience"},
		{"another audience, expired", with(edits{"aud": "https://other.example.com/mcp", "exp": in(-time.Hour)}), "audience"},
		{"other audiences", with(edits{"aud": []string{"a", "b"}}), "audience"},
		{"no audience", with(edits{"aud": nil}), "audience"},
		{"audience longer", with(edits{"aud": resource + "/"}), "audience"},
		{"audience of an object", with(edits{"aud": edits{"a": resource}}), "malformed token"},
		{"another issuer", with(edits{"iss": "https://evil.example.com"}), "issuer"},
		{"issuer with a slash", with(edits{"iss": issuerURL + "/"}), "issuer"},
		{"no issuer", with(edits{"iss": nil}), "issuer"},
		{"no subject", with(edits{"sub": nil}), "agent claim"},
		{"empty subject", with(edits{"sub": ""}), "agent claim"},
		{"subject of a number", with(edits{"sub": 7}), "malformed token"},
		{"subject with a line", with(edits{"sub": "ann\nbob"}), "agent claim"},
		{"subject not UTF-8", unsign(t, k, fmt.Sprintf(`{"iss":%q,"aud":%q,"exp":%d,"sub":"\ud800"}`, issuerURL, resource, in(time.Minute))), "agent claim"},
		{"long subject", with(edits{"sub": strings.Repeat("a", 256)}), "agent claim"},
		{"claims twice", unsign(t, k, fmt.Sprintf(`{"iss":%q,"aud":%q,"exp":%d,"sub":"ann","sub":"bob"}`, issuerURL, resource, in(time.Minute))), "malformed token"},
		{"claims of a list", unsign(t, k, `[1]`), "malformed token"},
		{"claims of null", unsign(t, k, `null`), "no expiry"},
		{"no claims", unsign(t, k, ``), "malformed token"},

		{"alg none", unsigned(`{"alg":"none"}`, string(body), nil), "algorithm"},
		{"alg none with kid", unsigned(`{"alg":"none","kid":"k1","typ":"JWT"}`, string(body), nil), "algorithm"},
		{"alg None", unsigned(`{"alg":"None"}`, string(body), nil), "algorithm"},
		{"alg none, signed", unsigned(`{"alg":"none","kid":"k1"}`, string(body), []byte("x")), "algorithm"},
		{"no alg", unsigned(`{"kid":"k1"}`, string(body), nil), "algorithm"},
		{"HS256 with the public key", hs256(`{"alg":"HS256","kid":"k1"}`, claims(nil), der), "algorithm"},
		{"HS256 with the modulus", hs256(`{"alg":"HS256","kid":"k1"}`, claims(nil), rsaKey().Public().(*rsa.PublicKey).N.Bytes()), "algorithm"},
		{"forged", sign(t, forged, claims(nil), nil), "signature"},
		{"forged without kid", sign(t, signer{"", jose.RS256, otherRSA()}, claims(nil), nil), "signature"},
		{"forged, key in the header", sign(t, signer{"k1", jose.RS256, otherRSA()}, claims(nil), map[jose.HeaderKey]any{"jwk": embedded}), "signature"},
		{"forged, key elsewhere", sign(t, forged, claims(nil), map[jose.HeaderKey]any{"jku": "https://evil.example.com/keys"}), "signature"},
		{"forged and expired", sign(t, forged, claims(edits{"exp": in(-time.Hour)}), nil), "signature"},
		{"small key", sign(t, small, claims(nil), nil), "unknown key"},
		{"key of another algorithm", sign(t, signer{"p256", jose.RS256, rsaKey()}, claims(nil), nil), "unknown key"},
		{"unknown kid", sign(t, signer{"k9", jose.RS256, rsaKey()}, claims(nil), nil), "unknown key"},
		{"other claims under the signature", parts[0] + "." + base64.RawURLEncoding.EncodeToString(body[:len(body)-1]) + "." + parts[2], "signature"},
		{"signature cut", good[:len(good)-2], "signature"},
		{"no signature", parts[0] + "." + parts[1] + ".", "signature"},
		{"critical header", unsignHeader(t, k, `{"alg":"RS256","kid":"k1","crit":["x"],"x":1}`, string(body)), "malformed token"},
		{"logout token", typ("logout+jwt"), "type of token"},
		{"type of a number", typ(7), "type of token"},
		{"two parts", parts[0] + "." + parts[1], "foreign token"},
		{"four parts", good + ".x", "foreign token"},
		{"encrypted", good + ".x.y", "foreign token"},
		{"not base64", "a.b.c", "foreign token"},
		{"opaque", "0123456789abcdef0123", "foreign token"},
		{"dots", "..", "algorithm"},
		{"long", good + strings.Repeat("a", 8192), "malformed token"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, log := newGuard(t, Options{JWT: &JWT{Issuer: issuerURL, Transport: s}, Resource: resource})
			w, agent := ask(g, request("Authorization: Bearer "+tt.token))
			status, want := 200, "jwt:"+issuerURL+" ann"
			if tt.reason != "" {
				status, want = 401, "-"
			}
			if w.Code != status || agent != want {
				t.Fatalf("status %d, agent %q; want %d, %q\n%s", w.Code, agent, status, want, log)
			}
			shown := log.String() + w.Body.String() + fmt.Sprint(w.Header())
			for part := range strings.SplitSeq(tt.token, ".") {
				if len(part) > 8 && strings.Contains(shown, part) || len(part) > 60 && hasPart(shown, part[len(part)-40:]) {
					t.Errorf("a part of the token is shown:\n%s", shown)
				}
			}
			for _, claim := range []string{"ann", "other.example.com", "evil.example.com"} {
				if strings.Contains(shown, claim) {
					t.Errorf("a claim is shown:\n%s", shown)
				}
			}
			if tt.reason == "" {
				return
			}
			checkRefusal(t, w, log, tt.reason)
			text := refused
			if tt.reason == "expired token" {
				text = outworn
			}
			if !strings.Contains(w.Body.String(), text) {
				t.Errorf("body %s, want %q", w.Body, text)
			}
		})
	}
}

// unsign signs claims that need not be JSON.
func unsign(t *testing.T, by signer, claims string) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: by.alg, Key: jose.JSONWebKey{Key: by.key, KeyID: by.kid}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.Sign([]byte(claims))
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// unsignHeader signs under a header that the library would not write.
func unsignHeader(t *testing.T, by signer, header, claims string) string {
	t.Helper()
	input := strings.TrimSuffix(unsigned(header, claims, nil), ".")
	sum := sha256.Sum256([]byte(input))
	signature, err := by.key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// TestAgentsNeverMeet: a static token and a JWT that name the same agent are
// two agents, whatever the names.
func TestAgentsNeverMeet(t *testing.T) {
	k := signer{"k1", jose.RS256, rsaKey()}
	s := newIssuer(k)
	g, log := newGuard(t, Options{
		Tokens: []Token{{"ann", secret}}, Resource: resource,
		JWT: &JWT{Issuer: issuerURL, Transport: s, Audience: "api://rlm", AgentClaim: "email", JWKSURL: "https://login.example.com/tenant/keys"},
	})
	_, static := ask(g, request("Authorization: Bearer "+secret))
	for _, name := range []string{"ann", "token:ann"} {
		_, agent := ask(g, request("Authorization: Bearer "+sign(t, k, claims(map[string]any{"aud": "api://rlm", "email": name}), nil)))
		if static != "token:ann" || agent != "jwt:"+issuerURL+" "+name {
			t.Errorf("agents %q and %q\n%s", static, agent, log)
		}
	}
	// Nor do they in the operator's rules, and only the JWT has scopes.
	var who []rights.Who
	h := g.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		one, _ := rights.From(r.Context())
		who = append(who, one)
	}))
	for _, token := range []string{secret, sign(t, k, claims(map[string]any{"aud": "api://rlm", "email": "ann", "scope": "a b"}), nil)} {
		h.ServeHTTP(httptest.NewRecorder(), cameBy(request("Authorization: Bearer "+token), "127.0.0.1"))
	}
	if want := []rights.Who{{Agent: "ann"}, {Agent: "jwt:ann", JWT: true, Scopes: []string{"a", "b"}}}; !reflect.DeepEqual(who, want) {
		t.Errorf("%v, want %v", who, want)
	}
	// The audience is the operator's; the resource is none then.
	if w, _ := ask(g, request("Authorization: Bearer "+sign(t, k, claims(nil), nil))); w.Code != 401 {
		t.Errorf("status %d for another audience", w.Code)
	}
	if s.count("/tenant/.well-known/openid-configuration") != 0 {
		t.Error("metadata was read although the place of the keys is given")
	}
}

// TestOverNetwork is one admission with a real server on a loopback address.
func TestOverNetwork(t *testing.T) {
	k := signer{"k1", jose.ES256, ec256()}
	s := newIssuer(k)
	server := httptest.NewServer(s)
	defer server.Close()
	s.set("/.well-known/oauth-authorization-server", page(`{"issuer": "`+server.URL+`", "jwks_uri": "`+server.URL+`/tenant/keys"}`))
	g, log := newGuard(t, Options{JWT: &JWT{Issuer: server.URL}, Resource: resource})
	token := sign(t, k, claims(map[string]any{"iss": server.URL}), nil)
	if w, agent := ask(g, request("Authorization: Bearer "+token)); w.Code != 200 || agent != "jwt:"+server.URL+" ann" {
		t.Errorf("status %d, agent %q\n%s", w.Code, agent, log)
	}
}

func FuzzJWT(f *testing.F) {
	k := signer{"k1", jose.ES256, ec256()}
	s := newIssuer(k)
	g, err := New(Options{JWT: &JWT{Issuer: issuerURL, Transport: s}, Resource: resource})
	if err != nil {
		f.Fatal(err)
	}
	good := sign(f, k, map[string]any{"iss": issuerURL, "aud": resource, "sub": "ann", "exp": 1 << 40}, nil)
	f.Add(good)
	f.Add(good[:len(good)-3])
	f.Add(unsigned(`{"alg":"none"}`, `{"sub":"ann"}`, nil))
	f.Add("e30.e30.")
	f.Fuzz(func(t *testing.T, token string) {
		w, agent := ask(g, request("Authorization: Bearer "+token))
		if (w.Code == 200) != (agent != "-") || w.Code != 200 && w.Code != 401 {
			t.Fatalf("status %d, agent %q", w.Code, agent)
		}
		// Unused bits of base64 may differ; who is admitted may not.
		if w.Code == 200 && agent != "jwt:"+issuerURL+" ann" {
			t.Errorf("admitted %q as %q", token, agent)
		}
	})
}
