package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"rlmproxy/middleware/rights"
)

// JWT says which JSON web tokens are admitted.
type JWT struct {
	// Issuer is what the iss claim must be, to the letter: an https URL, or an
	// http one on a loopback address.
	Issuer string
	// Audience is what aud must be or contain. Empty means the resource's URL,
	// which MCP has clients ask for (RFC 8707).
	Audience string
	// JWKSURL is where the issuer's keys are. Empty means where its metadata
	// says (RFC 8414, OpenID Connect Discovery).
	JWKSURL string
	// AgentClaim is the claim that names the agent. Empty means "sub". Two
	// users for whom the issuer writes the same value share results.
	AgentClaim string
	// Transport connects to the issuer. Nil means as http.DefaultTransport.
	Transport http.RoundTripper
}

// leeway is how far the issuer's clock may be from ours.
const leeway = 30 * time.Second

// algorithms are those with a public key. A shared secret (HS256) would let
// whoever verifies sign as well, and none signs nothing.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// minRSABits is the least of RFC 7518, section 3.3.
const minRSABits = 2048

// A verifier checks the tokens of one issuer.
type verifier struct {
	issuer, audience, claim string
	keys                    *keySet
}

// newVerifier checks opts. Tokens are for resource, unless opts names an audience.
func newVerifier(opts JWT, resource string, log *slog.Logger) (*verifier, error) {
	if err := checkIssuerURL(opts.Issuer); err != nil {
		return nil, fmt.Errorf("httpJWTIssuer: %w", err)
	}
	if opts.JWKSURL != "" {
		if err := checkIssuerURL(opts.JWKSURL); err != nil {
			return nil, fmt.Errorf("httpJWTKeysURL: %w", err)
		}
	}
	v := &verifier{issuer: opts.Issuer, audience: opts.Audience, claim: opts.AgentClaim}
	if v.audience == "" {
		v.audience = resource
	}
	if v.claim == "" {
		v.claim = "sub"
	}
	v.keys = newKeySet(opts, log)
	return v, nil
}

// checkIssuerURL demands what keeps keys from being replaced on the way.
func checkIssuerURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return errors.New("expected a URL such as https://login.example.com")
	case u.User != nil || u.Fragment != "" || strings.ContainsFunc(text, unicode.IsSpace):
		return errors.New("it must not have a user, a fragment or a space")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return errors.New("it is not https; http is for loopback addresses only")
}

// verify returns the agent of token, as [Subject] describes it, and until when it
// is admitted. Nothing in the token is believed before its signature was checked.
func (v *verifier) verify(ctx context.Context, token string, now time.Time) (who subject, no *refusal) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		if _, ok := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](err); ok {
			return who, invalidToken("algorithm")
		}
		return who, invalidToken("foreign token")
	}
	header := parsed.Headers[0]
	if !isAccessToken(header) {
		return who, invalidToken("type of token")
	}
	keys, err := v.keys.forHeader(ctx, header)
	if err != nil {
		return who, noKeys()
	}
	if len(keys) == 0 {
		return who, invalidToken("unknown key")
	}
	var (
		claims jwt.Claims
		others map[string]any
	)
	for _, key := range keys {
		if err = parsed.Claims(key, &claims, &others); !errors.Is(err, jose.ErrCryptoFailure) {
			break
		}
	}
	switch {
	case errors.Is(err, jose.ErrCryptoFailure):
		return who, invalidToken("signature")
	case err != nil:
		return who, invalidToken("malformed token")
	case claims.Expiry == nil:
		return who, invalidToken("no expiry")
	}
	err = claims.ValidateWithLeeway(jwt.Expected{Issuer: v.issuer, AnyAudience: jwt.Audience{v.audience}, Time: now}, leeway)
	switch {
	case err == nil:
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return who, invalidToken("issuer")
	case errors.Is(err, jwt.ErrInvalidAudience):
		return who, invalidToken("audience")
	case errors.Is(err, jwt.ErrExpired):
		return who, expired()
	default: // nbf or iat lies ahead
		return who, invalidToken("not valid yet")
	}
	name, _ := others[v.claim].(string)
	if !isClaim(name) {
		return who, invalidToken("agent claim")
	}
	return subject{
		agent: "jwt:" + v.issuer + " " + name, until: claims.Expiry.Time().Add(leeway),
		rights: rights.Who{Agent: rights.JWTPrefix + name, JWT: true, Scopes: scopes(others)},
	}, nil
}

// maxScopes is far above what issuers write.
const maxScopes = 1000

// scopes are those of a token: "scope" has them with blanks between (RFC 9068, section
// 2.2.3), and some issuers write "scp", so or as an array.
func scopes(claims map[string]any) (all []string) {
	for _, key := range []string{"scope", "scp"} {
		switch value := claims[key].(type) {
		case string:
			all = append(all, strings.Fields(value)...)
		case []any:
			for _, one := range value {
				if text, ok := one.(string); ok {
					all = append(all, text)
				}
			}
		}
	}
	return all[:min(len(all), maxScopes)]
}

// isAccessToken reports whether the typ of a token, if it has one, is that of
// an access token (RFC 9068) or says nothing. An issuer signs other things
// with the same keys: logout tokens, security events.
func isAccessToken(h jose.Header) bool {
	value, ok := h.ExtraHeaders[jose.HeaderType]
	typ, isText := value.(string)
	typ = strings.TrimPrefix(strings.ToLower(typ), "application/")
	return !ok || isText && (typ == "jwt" || typ == "at+jwt")
}

// isClaim reports whether s can name an agent: up to 255 bytes, the length of
// a sub in OpenID Connect, that print. U+FFFD stands where the decoder found
// what is no character; two such names could be one.
func isClaim(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return s != "" && len(s) <= 255
}

// fits reports whether key verifies signatures of alg.
func fits(key jose.JSONWebKey, alg string) bool {
	if key.Use != "" && key.Use != "sig" || key.Algorithm != "" && key.Algorithm != alg {
		return false
	}
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		return (alg[:2] == "RS" || alg[:2] == "PS") && public.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey:
		return alg[:2] == "ES"
	case ed25519.PublicKey:
		return alg == string(jose.EdDSA)
	}
	return false
}
