package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// authKeys are the keys of auth. Other hosts have spellings of their own, and keys that mean
// nothing here.
var (
	authKeys  = []string{"clientId", "clientSecret", "clientMetadataURL", "issuer", "scopes", "redirectPort", "grant"}
	authOther = map[string]string{"CLIENT_ID": "clientId", "CLIENT_SECRET": "clientSecret", "callbackPort": "redirectPort"}
	authNot   = []string{"enabled", "authorizationUrl", "tokenUrl", "registrationUrl", "redirectUri", "audiences", "authServerMetadataUrl"}
	grants    = []string{"authorization_code", "client_credentials"}
)

// HasAuthorization reports whether the headers say who we are: then nobody signs in.
func (s *Server) HasAuthorization() bool {
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// auth reads how a server is signed in to. Other hosts write other things there, which are
// warned of; what is nearly ours is a mistake.
func (r *reader) auth(entry node) (a Auth) {
	if entry.kind() != '{' {
		r.warn(entry, "ignored: "+entry.found()+" does not describe a client", `write "auth": {"clientId": …}, or leave it out: the server itself says how to sign in`)
		return a
	}
	members, _ := r.object(entry)
	for _, n := range members {
		key := n.key
		if ours, ok := authOther[key]; ok {
			key = ours
		}
		switch key {
		case "clientId":
			a.ClientID = r.text(n)
		case "clientSecret":
			a.ClientSecret = r.text(n)
		case "clientMetadataURL":
			a.ClientMetadataURL = r.text(n)
			if u, err := url.Parse(a.ClientMetadataURL); n.kind() == '"' && (err != nil || u.Scheme != "https" || u.Host == "" || len(u.Path) < 2) {
				r.wrong(n, "a URL such as https://example.com/rlmproxy.json", "")
			}
		case "issuer":
			a.Issuer = r.text(n)
			r.checkURL(n, a.Issuer)
		case "scopes":
			a.Scopes = r.texts(n)
		case "redirectPort":
			a.RedirectPort = r.whole(n, 1, 65535)
		case "grant":
			a.ClientCredentials = r.word(n, grants) == "client_credentials"
		default:
			if near := nearest(n.key, slices.Concat(authKeys, authNot)); slices.Contains(authKeys, near) {
				r.mistake(n.atKey(), "unknown key", meant(near))
			} else {
				r.warn(n.atKey(), "unknown key, ignored", "")
			}
		}
	}
	switch {
	case a.ClientCredentials && (a.ClientID == "" || a.ClientSecret == ""):
		r.mistake(entry.atKey(), fmt.Sprintf("grant %q needs clientId and clientSecret", "client_credentials"), "")
	case a.ClientSecret != "" && a.ClientID == "":
		r.mistake(entry.atKey(), "clientSecret without clientId", "")
	}
	return a
}
