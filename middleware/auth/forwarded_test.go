package auth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestForwarded: a reverse proxy on this machine, or a tunnel, published a server that
// asks for no token.
func TestForwarded(t *testing.T) {
	for _, c := range []struct {
		header string
		token  bool // is asked for, and shown
		status int
	}{
		{"X-Forwarded-For", false, 403},
		{"x-forwarded-proto", false, 403},
		{"X-Forwarded-Anything", false, 403},
		{"Forwarded", false, 403},
		{"Via", false, 403},
		{"X-Real-IP", false, 403},
		{"CF-Connecting-IP", false, 403},
		{"X-Forward", false, 200},
		{"X-Request-Id", false, 200},
		{"X-Forwarded-For", true, 200},
		{"Via", true, 200},
	} {
		opts := Options{}
		if c.token {
			opts.Tokens = []Token{{Agent: "a", Secret: "0123456789abcdef"}}
		}
		g, err := New(opts)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", nil)
		r.Header.Set(c.header, "192.0.2.1")
		if c.token {
			r.Header.Set("Authorization", "Bearer 0123456789abcdef")
		}
		w := httptest.NewRecorder()
		g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != c.status || w.Code == 403 && !strings.Contains(w.Body.String(), "RLMPROXY_HTTP_TOKENS") {
			t.Errorf("%s, token %v: %d %s", c.header, c.token, w.Code, w.Body)
		}
	}
}
