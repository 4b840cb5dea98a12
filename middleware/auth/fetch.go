package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

const (
	// maxDocumentBytes bounds what an issuer may send. Key sets of large
	// providers have some 20 KiB.
	maxDocumentBytes = 1 << 20
	// maxKeys bounds what a token without kid is tried against.
	maxKeys = 64
)

// fetchKeys gets the issuer's keys from at, or from where its metadata says
// when at is "".
func fetchKeys(ctx context.Context, client *http.Client, issuer, at string) ([]jose.JSONWebKey, error) {
	if at == "" {
		var err error
		if at, err = discover(ctx, client, issuer); err != nil {
			return nil, err
		}
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := getJSON(ctx, client, at, &set); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		// What we do not know is left out (RFC 7517, section 5). A private or
		// symmetric key fits no algorithm here.
		if err := key.UnmarshalJSON(raw); err == nil && key.Valid() && key.IsPublic() {
			keys = append(keys, key)
		}
	}
	switch {
	case len(keys) == 0:
		return nil, errors.New("the issuer's key set has no public key")
	case len(keys) > maxKeys:
		return nil, fmt.Errorf("the issuer's key set has %d keys; %d are allowed", len(keys), maxKeys)
	}
	return keys, nil
}

// discover asks the issuer for its metadata, in the order that MCP gives.
func discover(ctx context.Context, client *http.Client, issuer string) (jwksURL string, err error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return "", errors.New("the issuer is not a URL") // New has checked it
	}
	path := strings.TrimSuffix(u.Path, "/")
	places := []string{"/.well-known/oauth-authorization-server" + path, "/.well-known/openid-configuration" + path}
	if path != "" {
		places = append(places, path+"/.well-known/openid-configuration")
	}
	var all []error
	for _, place := range places {
		at := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: place}).String()
		var meta struct {
			Issuer  string `json:"issuer"`
			JWKSURI string `json:"jwks_uri"`
		}
		err := getJSON(ctx, client, at, &meta)
		switch {
		case err != nil:
		case meta.Issuer != issuer:
			// Whoever can write there could name keys of its own.
			err = fmt.Errorf("%s: its issuer is not exactly %s", at, issuer)
		case meta.JWKSURI == "":
			err = fmt.Errorf("%s: it has no jwks_uri", at)
		default:
			if err = checkIssuerURL(meta.JWKSURI); err == nil {
				return meta.JWKSURI, nil
			}
			err = fmt.Errorf("%s: jwks_uri: %w", at, err)
		}
		all = append(all, err)
	}
	return "", errors.Join(all...)
}

// getJSON decodes the document at a URL.
func getJSON(ctx context.Context, client *http.Client, at string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return errors.New("not a URL") // it was checked
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	at = req.URL.Scheme + "://" + req.URL.Host + req.URL.Path // a query may hold a key
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%s: %w", at, urlErr.Err)
	} else if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d", at, resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocumentBytes+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", at, err)
	case len(data) > maxDocumentBytes:
		return fmt.Errorf("%s: more than %d KiB", at, maxDocumentBytes>>10)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: not the JSON that was expected", at)
	}
	return nil
}
