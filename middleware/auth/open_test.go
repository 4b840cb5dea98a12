package auth

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestOpenByAddress: what asks whether the server runs, a kubelet or a load
// balancer, knows it by its address, and in HTTP/1.0 by nothing. It was refused as
// soon as the server had a name. A page that was rebound sends a name.
func TestOpenByAddress(t *testing.T) {
	g, err := New(Options{AllowedHosts: []string{"mcp.example.com"}, Tokens: []Token{{"alice", "0123456789abcdef"}}})
	if err != nil {
		t.Fatal(err)
	}
	ok := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {})
	for _, tt := range []struct {
		host         string
		open, closed int // status of Open, and of Wrap
	}{
		{"10.1.2.3:8080", 200, 403}, {"[fd00::1]:8080", 200, 403}, {"10.1.2.3", 200, 403}, {"", 200, 403},
		{"mcp.example.com", 200, 401}, {"evil.example.com", 403, 403}, {"10.1.2.3.evil.example.com", 403, 403}, {"localhost", 403, 403},
	} {
		for i, h := range []http.Handler{g.Open(ok), g.Wrap(ok)} {
			r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
			r.Host = tt.host
			far := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8080}
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, far))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if want := []int{tt.open, tt.closed}[i]; w.Code != want {
				t.Errorf("%q, handler %d: %d, want %d", tt.host, i, w.Code, want)
			}
		}
	}
}
