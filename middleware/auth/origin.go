package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// checkHost refuses a name that is not ours. A page whose own name was made
// to resolve to this address (DNS rebinding) sends that name.
func (g *Guard) checkHost(r *http.Request) *refusal {
	host := strings.ToLower(r.Host)
	name := hostname(host)
	switch {
	case name == "":
	case g.hosts[host] || g.hosts[name]:
		return nil
	case cameByLoopback(r.Context()):
		if isLoopback(name) {
			return nil
		}
	case len(g.hosts) == 0:
		return nil
	}
	return &refusal{
		status: http.StatusForbidden, code: "forbidden_host", reason: "host",
		text: "the Host of the request is not a name of this server; httpAllowedHosts adds names",
		seen: slog.String("host", cut(r.Host)),
	}
}

// hostname is host without port, brackets and a final dot.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.TrimSuffix(host, ".")
}

// checkOrigin refuses what a page of another origin caused. A request without
// Origin is not of a page's script; what else of another site's a browser
// sends without, it marks in Sec-Fetch-Site.
func (g *Guard) checkOrigin(r *http.Request) *refusal {
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		switch site := r.Header.Get("Sec-Fetch-Site"); site {
		case "", "none", "same-origin":
			return nil
		}
		return forbiddenOrigin("")
	}
	origin := strings.ToLower(values[0])
	if len(values) == 1 && (g.origins[origin] || sameHost(origin, strings.ToLower(r.Host))) {
		return nil
	}
	return forbiddenOrigin(values[0])
}

func forbiddenOrigin(origin string) *refusal {
	return &refusal{
		status: http.StatusForbidden, code: "forbidden_origin", reason: "origin",
		text: "pages of this origin may not use this server; httpAllowedOrigins lists the origins that may",
		seen: slog.String("origin", cut(origin)),
	}
}

// defaultPorts is what browsers leave off.
var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

// sameHost reports whether origin is http or https at host, which has a port
// unless it is the scheme's.
func sameHost(origin, host string) bool {
	scheme, rest, _ := strings.Cut(origin, "://")
	port := defaultPorts[scheme]
	return port != "" && rest != "" && strings.TrimSuffix(rest, port) == strings.TrimSuffix(host, port)
}

// cut bounds what a log line takes of a request.
func cut(s string) string {
	const most = 100 // bytes
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// allowOrigin lets the page behind an admitted Origin read the reply, and
// answers its preflight. A preflight has no token: browsers send none.
func allowOrigin(w http.ResponseWriter, r *http.Request) (preflight bool) {
	origin := r.Header.Get("Origin")
	h := w.Header()
	h.Add("Vary", "Origin")
	if origin == "" {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	// The star covers all but Authorization (Fetch, CORS protocol). MCP's own
	// headers depend on its revision and on the tool that is called.
	h.Set("Access-Control-Allow-Headers", "Authorization, *")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// parseHost checks one of AllowedHosts.
func parseHost(text string) (string, error) {
	host := strings.ToLower(strings.TrimSuffix(text, "."))
	name := hostname(host)
	_, err := netip.ParseAddr(name)
	if name == "" || strings.ContainsAny(host, "/*@?#% ,\t\"\\") || strings.ContainsAny(name, "[]") || strings.Contains(name, ":") && err != nil {
		return "", fmt.Errorf("httpAllowedHosts: %q: expected a name or address, with or without a port, such as mcp.example.com", cut(text))
	}
	if host == "["+name+"]" {
		host = name
	}
	return host, nil
}

// parseOrigin checks one of AllowedOrigins. Pages of files and sandboxed
// frames all have the origin null, so it cannot be allowed.
func parseOrigin(text string) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err == nil && (u.Scheme == "" || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Host, "*")) {
		err = errors.New("not an origin")
	}
	if err != nil {
		return "", fmt.Errorf("httpAllowedOrigins: %q: expected a scheme and a host, such as https://inspector.example.com or http://localhost:6274", cut(text))
	}
	return strings.ToLower(u.Scheme + "://" + withoutDefaultPort(u)), nil
}

// withoutDefaultPort is the host of u as browsers write it.
func withoutDefaultPort(u *url.URL) string {
	return strings.TrimSuffix(u.Host, defaultPorts[strings.ToLower(u.Scheme)])
}
