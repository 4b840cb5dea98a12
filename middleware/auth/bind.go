package auth

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// CheckBind reports whether a server may listen on addr, a host and a port as
// net.Listen takes them. Without authentication that is a loopback address
// only; an empty host is every address of the machine.
func CheckBind(addr string, authenticated bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is not an address such as 127.0.0.1:8080", addr)
	}
	if authenticated || isLoopback(host) {
		return nil
	}
	return fmt.Errorf("%s is not a loopback address: whoever reaches it could call the tools of every server and read their results; "+
		"listen on %s, or require a token: set RLMPROXY_HTTP_TOKENS, httpTokensFile or httpJWTIssuer", addr, net.JoinHostPort("127.0.0.1", port))
}

// isLoopback reports whether host, a name or an address without port, is this
// machine only.
func isLoopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// cameByLoopback reports whether the connection of a request came in on a
// loopback address. One that does not say, such as a Unix socket, counts: the
// stricter rule holds for it.
func cameByLoopback(ctx context.Context) bool {
	addr, ok := ctx.Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return !ok || addr == nil || addr.IP.IsLoopback()
}
