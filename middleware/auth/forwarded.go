package auth

import (
	"log/slog"
	"net/http"
	"strings"
)

// forwardedBy are headers, besides X-Forwarded-*, that reverse proxies and tunnels add.
var forwardedBy = []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Original-Forwarded-For", "True-Client-Ip", "Cf-Connecting-Ip"}

// checkForwarded refuses what a reverse proxy has forwarded to a server without tokens.
// That listens on a loopback address, so that only programs of this machine reach it;
// by a reverse proxy there anybody does.
func checkForwarded(r *http.Request) *refusal {
	header := ""
	for _, name := range forwardedBy {
		if r.Header[name] != nil {
			header = name
		}
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded-") {
			header = name
		}
	}
	if header == "" {
		return nil
	}
	return &refusal{
		status: http.StatusForbidden, code: "forwarded", reason: "forwarded",
		text: "this server asks for no token, so it refuses requests from a reverse proxy: whoever reaches that proxy could call every tool; " +
			"set RLMPROXY_HTTP_TOKENS, httpTokensFile or httpJWTIssuer",
		seen: slog.String("header", header),
	}
}
