package auth

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// metadataPath is where RFC 9728 has a client look, followed by the path of
// the resource.
const metadataPath = "/.well-known/oauth-protected-resource"

// metadata tells a client without a token where to get one.
type metadata struct {
	url     string // of the document, for WWW-Authenticate
	path    string // of url
	handler http.Handler
}

// newMetadata describes resource, which resourceHost has checked.
func newMetadata(resource, issuer string) *metadata {
	u, _ := url.Parse(resource)
	m := &metadata{handler: sdkauth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource:               resource,
		ResourceName:           "rlmproxy",
		AuthorizationServers:   []string{issuer},
		BearerMethodsSupported: []string{"header"},
	})}
	at := url.URL{Scheme: u.Scheme, Host: u.Host, Path: metadataPath + strings.TrimSuffix(u.Path, "/")}
	m.url, m.path = at.String(), at.Path
	return m
}

func isMetadata(path string) bool {
	return path == metadataPath || strings.HasPrefix(path, metadataPath+"/")
}

// serveMetadata needs no token and answers pages of any origin. Without JWT
// there is nothing to tell, and a client takes 404 for that.
func (g *Guard) serveMetadata(w http.ResponseWriter, r *http.Request) {
	if g.metadata == nil || r.URL.Path != metadataPath && r.URL.Path != g.metadata.path {
		http.NotFound(w, r)
		return
	}
	g.metadata.handler.ServeHTTP(w, r)
}

// resourceHost checks the URL of the resource and returns its host, with the
// port if it has one.
func resourceHost(resource string) (string, error) {
	u, err := url.Parse(resource)
	if err == nil {
		ip, _ := netip.ParseAddr(u.Hostname())
		switch {
		case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
			err = errors.New("expected a URL such as https://mcp.example.com/mcp")
		case u.User != nil, u.RawQuery != "", u.Fragment != "", strings.ContainsAny(resource, "\"\\"):
			err = errors.New("it may have only a scheme, a host and a path")
		case ip.IsUnspecified():
			err = errors.New("no client can connect to " + u.Hostname())
		}
	} else {
		err = errors.New("not a URL")
	}
	if err != nil {
		return "", fmt.Errorf("httpPublicURL: %w", err)
	}
	return parseHost(withoutDefaultPort(u))
}
