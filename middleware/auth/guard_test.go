package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const secret = "5f1d0e6b9a7c4382b1e0" // of the agent alice

// newGuard is New with a log to look at. After the test, the log must hold no
// part of a token.
func newGuard(t *testing.T, opts Options) (*Guard, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	opts.Logger = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return g, log
}

// ask sends r, from a loopback connection unless r has its own, and returns
// the reply and the agent that the handler saw; "-" when none was reached.
func ask(g *Guard, r *http.Request) (*httptest.ResponseRecorder, string) {
	agent := "-"
	h := g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent, _ = Subject(r.Context())
		if r.Header.Get("Authorization") != "" {
			agent = "a handler saw the token"
		}
	}))
	if r.Context().Value(http.LocalAddrContextKey) == nil {
		r = cameBy(r, "127.0.0.1")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, agent
}

func cameBy(r *http.Request, ip string) *http.Request {
	addr := &net.TCPAddr{IP: net.ParseIP(ip), Port: 8080}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, addr))
}

// request is a POST with headers "Name: value"; Host counts as one.
func request(headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/mcp", strings.NewReader("{}"))
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	return r
}

// hasPart reports whether text holds 8 characters in a row of a token: less
// could be chance.
func hasPart(text, token string) bool {
	for i := 0; i+8 <= len(token); i++ {
		if strings.Contains(text, token[i:i+8]) {
			return true
		}
	}
	return false
}

func TestStaticTokens(t *testing.T) {
	const bobs = "another-token-of-bob"
	foreign := "zzzz9999yyyy8888xxxx"
	tests := []struct {
		name    string
		headers []string
		status  int
		agent   string
		reason  string
	}{
		{"right", []string{"Authorization: Bearer " + secret}, 200, "token:alice", ""},
		{"second", []string{"Authorization: Bearer " + bobs}, 200, "token:bob", ""},
		{"scheme in other case", []string{"Authorization: bEARER  " + secret}, 200, "token:alice", ""},
		{"missing", nil, 401, "-", "no token"},
		{"foreign", []string{"Authorization: Bearer " + foreign}, 401, "-", "foreign token"},
		{"prefix", []string{"Authorization: Bearer " + secret[:19]}, 401, "-", "foreign token"},
		{"longer", []string{"Authorization: Bearer " + secret + "0"}, 401, "-", "foreign token"},
		{"other case", []string{"Authorization: Bearer " + strings.ToUpper(secret)}, 401, "-", "foreign token"},
		{"twice", []string{"Authorization: Bearer " + secret, "Authorization: Bearer " + secret}, 401, "-", "malformed token"},
		{"basic", []string{"Authorization: Basic " + secret}, 401, "-", "not a bearer token"},
		{"no scheme", []string{"Authorization: " + secret}, 401, "-", "not a bearer token"},
		{"empty", []string{"Authorization: Bearer "}, 401, "-", "malformed token"},
		{"scheme only", []string{"Authorization: Bearer"}, 401, "-", "malformed token"},
		{"two words", []string{"Authorization: Bearer " + secret + " x"}, 401, "-", "malformed token"},
		{"list", []string{"Authorization: Bearer " + secret + ",Bearer"}, 401, "-", "malformed token"},
		{"too long", []string{"Authorization: Bearer " + strings.Repeat(secret, 500)}, 401, "-", "malformed token"},
		{"in the query", []string{"X-Token: " + secret}, 401, "-", "no token"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, log := newGuard(t, Options{Tokens: []Token{{"alice", secret}, {"bob", bobs}}})
			r := request(tt.headers...)
			r.URL.RawQuery = "access_token=" + secret
			w, agent := ask(g, r)
			if w.Code != tt.status || agent != tt.agent {
				t.Fatalf("status %d, agent %q; want %d, %q", w.Code, agent, tt.status, tt.agent)
			}
			checkRefusal(t, w, log, tt.reason)
			for _, token := range []string{secret, bobs, foreign} {
				if hasPart(log.String()+w.Body.String(), token) {
					t.Errorf("a token is shown:\n%s%s", log, w.Body)
				}
			}
		})
	}
}

// checkRefusal holds a refusal to what all have in common. Without a reason
// there must be none.
func checkRefusal(t *testing.T, w *httptest.ResponseRecorder, log *bytes.Buffer, reason string) {
	t.Helper()
	if reason == "" {
		if log.Len() > 0 || w.Code/100 != 2 {
			t.Errorf("status %d, log %s", w.Code, log)
		}
		return
	}
	var line struct{ Level, Msg, Reason, Remote string }
	last := bytes.TrimSpace(log.Bytes())
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	if err := json.Unmarshal(last, &line); err != nil || line.Level != "INFO" || line.Reason != reason || line.Remote == "" {
		t.Errorf("log %q, want the reason %q and the remote address", log, reason)
	}
	var body struct {
		Error string `json:"error"`
		Text  string `json:"error_description"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Error == "" || body.Text == "" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("body %q (%v)", w.Body, err)
	}
	challenge := w.Header().Get("WWW-Authenticate")
	if (w.Code == 401) != strings.HasPrefix(challenge, "Bearer ") {
		t.Errorf("status %d with the challenge %q", w.Code, challenge)
	}
	if sent := w.Code == 401 && reason != "no token"; sent != strings.Contains(challenge, `error="invalid_token"`) {
		t.Errorf("%s: challenge %q", reason, challenge)
	}
}

func TestHostAndOrigin(t *testing.T) {
	open := Options{}
	named := Options{AllowedHosts: []string{"proxy.example.com", "ten.example.com:8080", "::2"}, AllowedOrigins: []string{"https://App.example.com/", "vscode-webview://abc", "https://port.example.com:443"}}
	token := Options{Tokens: []Token{{"alice", secret}}}
	tests := []struct {
		name    string
		opts    Options
		by      string // local address of the connection
		headers []string
		status  int
	}{
		{"address", open, "127.0.0.1", nil, 200},
		{"localhost", open, "127.0.0.1", []string{"Host: LocalHost:8080"}, 200},
		{"another port", open, "127.0.0.1", []string{"Host: localhost:1"}, 200},
		{"final dot", open, "127.0.0.1", []string{"Host: localhost.:8080"}, 200},
		{"IPv6", open, "::1", []string{"Host: [::1]:8080"}, 200},
		{"IPv6 without port", open, "::1", []string{"Host: [::1]"}, 200},
		{"rebound name", open, "127.0.0.1", []string{"Host: evil.example.com:8080"}, 403},
		{"name with our address in it", open, "127.0.0.1", []string{"Host: 127.0.0.1.evil.example.com"}, 403},
		{"localhost below a name", open, "127.0.0.1", []string{"Host: localhost.evil.example.com"}, 403},
		{"no host", open, "127.0.0.1", []string{"Host: "}, 403},
		{"every address", open, "127.0.0.1", []string{"Host: 0.0.0.0:8080"}, 403},
		{"allowed name", named, "127.0.0.1", []string{"Host: proxy.example.com:1"}, 200},
		{"allowed name and port", named, "127.0.0.1", []string{"Host: ten.example.com:8080"}, 200},
		{"allowed name, not port", named, "127.0.0.1", []string{"Host: ten.example.com"}, 403},
		{"allowed address", named, "127.0.0.1", []string{"Host: [::2]:8080"}, 200},
		{"below an allowed name", named, "127.0.0.1", []string{"Host: x.proxy.example.com"}, 403},
		{"far, any", open, "192.0.2.1", []string{"Host: what.example.com"}, 200},
		{"far, none", open, "192.0.2.1", []string{"Host: "}, 403},
		{"far, named", named, "192.0.2.1", []string{"Host: proxy.example.com"}, 200},
		{"far, not named", named, "192.0.2.1", []string{"Host: 192.0.2.1:8080"}, 403},
		{"far, loopback name", named, "192.0.2.1", []string{"Host: localhost"}, 403},

		{"same origin", open, "127.0.0.1", []string{"Origin: http://127.0.0.1:8080"}, 200},
		{"same origin, default port", open, "127.0.0.1", []string{"Host: localhost", "Origin: http://localhost:80"}, 200},
		{"other origin", open, "127.0.0.1", []string{"Origin: https://evil.example.com"}, 403},
		{"other port", open, "127.0.0.1", []string{"Origin: http://127.0.0.1:6274"}, 403},
		{"other port than the default", open, "127.0.0.1", []string{"Host: localhost", "Origin: http://localhost:6274"}, 403},
		{"other loopback name", open, "127.0.0.1", []string{"Origin: http://localhost:8080"}, 403},
		{"null", open, "127.0.0.1", []string{"Origin: null"}, 403},
		{"empty", open, "127.0.0.1", []string{"Origin: "}, 403},
		{"other scheme", open, "127.0.0.1", []string{"Origin: ftp://127.0.0.1:8080"}, 403},
		{"two", open, "127.0.0.1", []string{"Origin: http://127.0.0.1:8080", "Origin: https://evil.example.com"}, 403},
		{"image of another site", open, "127.0.0.1", []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"page that a person opened", open, "127.0.0.1", []string{"Sec-Fetch-Site: none"}, 200},
		{"httpAllowedOrigins: ", named, "127.0.0.1", []string{"Origin: https://app.example.com", "Sec-Fetch-Site: cross-site"}, 200},
		{"allowed origin, default port", named, "127.0.0.1", []string{"Origin: https://port.example.com"}, 200},
		{"allowed origin, other scheme", named, "127.0.0.1", []string{"Origin: http://app.example.com"}, 403},
		{"allowed origin, more", named, "127.0.0.1", []string{"Origin: https://app.example.com.evil.example"}, 403},
		{"extension", named, "127.0.0.1", []string{"Origin: vscode-webview://abc"}, 200},

		{"origin before token", token, "127.0.0.1", []string{"Origin: https://evil.example.com", "Authorization: Bearer " + secret}, 403},
		{"host before token", token, "127.0.0.1", []string{"Host: evil.example.com", "Authorization: Bearer " + secret}, 403},
		{"same origin needs a token", token, "127.0.0.1", []string{"Origin: http://127.0.0.1:8080"}, 401},
		{"far, rebound name needs a token", token, "192.0.2.1", []string{"Host: evil.example.com", "Origin: http://evil.example.com"}, 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, log := newGuard(t, tt.opts)
			w, agent := ask(g, cameBy(request(tt.headers...), tt.by))
			if w.Code != tt.status || (agent == "-") != (tt.status != 200) {
				t.Fatalf("status %d (%s), agent %q; want %d", w.Code, w.Body, agent, tt.status)
			}
			if hasPart(log.String()+w.Body.String(), secret) {
				t.Errorf("the token is shown:\n%s%s", log, w.Body)
			}
			if w.Code == 403 {
				reason := "host"
				if strings.Contains(w.Body.String(), "forbidden_origin") {
					reason = "origin"
				}
				checkRefusal(t, w, log, reason)
			}
		})
	}
}

// TestNoLocalAddress: a connection that does not say where it came in is held
// to the rule of a loopback address.
func TestNoLocalAddress(t *testing.T) {
	g, _ := newGuard(t, Options{})
	w := httptest.NewRecorder()
	g.Wrap(http.NotFoundHandler()).ServeHTTP(w, request("Host: evil.example.com"))
	if w.Code != 403 {
		t.Errorf("status %d", w.Code)
	}
}

func TestPreflight(t *testing.T) {
	opts := Options{Tokens: []Token{{"alice", secret}}, AllowedOrigins: []string{"https://app.example.com"}}
	tests := []struct {
		origin string
		status int
	}{
		{"https://app.example.com", 204}, {"http://127.0.0.1:8080", 204}, {"https://evil.example.com", 403}, {"null", 403},
	}
	for _, tt := range tests {
		g, _ := newGuard(t, opts)
		r := request("Origin: "+tt.origin, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,mcp-session-id")
		r.Method = http.MethodOptions
		w, agent := ask(g, r)
		allowed := w.Header().Get("Access-Control-Allow-Origin")
		if w.Code != tt.status || agent != "-" || (allowed == tt.origin) != (tt.status == 204) {
			t.Errorf("%s: status %d, allowed origin %q; want %d", tt.origin, w.Code, allowed, tt.status)
		}
		if tt.status == 204 && (!strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Authorization") || !strings.Contains(w.Header().Get("Access-Control-Allow-Methods"), "DELETE")) {
			t.Errorf("%s: headers %v", tt.origin, w.Header())
		}
	}

	// What is no preflight needs a token, and the page can read the refusal.
	g, _ := newGuard(t, opts)
	r := request("Origin: https://app.example.com")
	r.Method = http.MethodOptions
	if w, _ := ask(g, r); w.Code != 401 || w.Header().Get("Access-Control-Allow-Origin") != "https://app.example.com" || w.Header().Get("Vary") != "Origin" {
		t.Errorf("status %d, headers %v", w.Code, w.Header())
	}
}

func TestMetadata(t *testing.T) {
	opts := Options{JWT: &JWT{Issuer: "https://login.example.com/tenant"}, Resource: "https://mcp.example.com/mcp"}
	g, _ := newGuard(t, opts)
	tests := []struct {
		path   string
		status int
	}{
		{"/.well-known/oauth-protected-resource", 200}, {"/.well-known/oauth-protected-resource/mcp", 200},
		{"/.well-known/oauth-protected-resource/other", 404}, {"/.well-known/oauth-protected-resourceful", 401}, {"/mcp", 401},
	}
	for _, tt := range tests {
		r := request("Host: mcp.example.com", "Origin: https://mcp.example.com")
		r.Method, r.URL.Path = http.MethodGet, tt.path
		w, agent := ask(g, r)
		if w.Code != tt.status || agent != "-" {
			t.Errorf("%s: status %d, want %d", tt.path, w.Code, tt.status)
		}
		if tt.status != 200 {
			continue
		}
		var got map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"resource": "https://mcp.example.com/mcp", "resource_name": "rlmproxy",
			"authorization_servers": []any{"https://login.example.com/tenant"}, "bearer_methods_supported": []any{"header"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
	}
	// Any page may read it, no rebound name may.
	r := request("Host: mcp.example.com", "Origin: https://anyone.example.com")
	r.Method, r.URL.Path = http.MethodGet, "/.well-known/oauth-protected-resource"
	if w, _ := ask(g, r); w.Code != 200 || w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("another origin: status %d, headers %v", w.Code, w.Header())
	}
	r.Host = "evil.example.com"
	if w, _ := ask(g, r); w.Code != 403 {
		t.Errorf("another host: status %d", w.Code)
	}
	if w, _ := ask(g, request("Host: mcp.example.com")); w.Header().Get("WWW-Authenticate") != `Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"` {
		t.Errorf("challenge %q", w.Header().Get("WWW-Authenticate"))
	}

	g, _ = newGuard(t, Options{Tokens: []Token{{"alice", secret}}})
	r = request()
	r.Method, r.URL.Path = http.MethodGet, "/.well-known/oauth-protected-resource/mcp"
	if w, _ := ask(g, r); w.Code != 404 {
		t.Errorf("without JWT: status %d", w.Code)
	}
}

func TestCheckBind(t *testing.T) {
	tests := []struct {
		addr          string
		authenticated bool
		ok            bool
	}{
		{"127.0.0.1:8080", false, true}, {"127.9.9.9:0", false, true}, {"localhost:8080", false, true}, {"LOCALHOST:8080", false, true},
		{"[::1]:8080", false, true}, {"[::ffff:127.0.0.1]:8080", false, true},
		{":8080", false, false}, {"0.0.0.0:8080", false, false}, {"[::]:8080", false, false}, {"192.168.1.4:8080", false, false},
		{"example.com:8080", false, false}, {"localhost.example.com:8080", false, false}, {"127.0.0.1.example.com:80", false, false},
		{"[::ffff:10.0.0.1]:8080", false, false},
		{":8080", true, true}, {"0.0.0.0:8080", true, true}, {"example.com:8080", true, true},
		{"8080", true, false}, {"127.0.0.1", true, false}, {"::1:8080", true, false},
	}
	for _, tt := range tests {
		if err := CheckBind(tt.addr, tt.authenticated); (err == nil) != tt.ok {
			t.Errorf("%s, authenticated %v: %v", tt.addr, tt.authenticated, err)
		}
	}
	const want = "0.0.0.0:8080 is not a loopback address: whoever reaches it could call the tools of every server and read their results; " +
		"listen on 127.0.0.1:8080, or require a token: set RLMPROXY_HTTP_TOKENS, httpTokensFile or httpJWTIssuer"
	if err := CheckBind("0.0.0.0:8080", false); err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

func TestOptionMistakes(t *testing.T) {
	valid := JWT{Issuer: "https://login.example.com"}
	jwt := func(edit func(*JWT)) Options {
		j := valid
		edit(&j)
		return Options{JWT: &j, Resource: "https://mcp.example.com/mcp"}
	}
	tests := []struct {
		opts Options
		want string // in the error
	}{
		{jwt(func(j *JWT) {}), ""},
		{jwt(func(j *JWT) { j.Issuer = "http://127.0.0.1:9" }), ""},
		{jwt(func(j *JWT) { j.Issuer = "" }), "httpJWTIssuer: expected a URL"},
		{jwt(func(j *JWT) { j.Issuer = "http://login.example.com" }), "httpJWTIssuer: it is not https"},
		{jwt(func(j *JWT) { j.Issuer = "https://me:hunter2@login.example.com" }), "httpJWTIssuer: it must not have a user"},
		{jwt(func(j *JWT) { j.Issuer = "https://login.example.com/a b" }), "httpJWTIssuer: it must not have a user"},
		{jwt(func(j *JWT) { j.JWKSURL = "http://login.example.com/keys" }), "httpJWTKeysURL: it is not https"},
		{jwt(func(j *JWT) { j.JWKSURL = "file:///keys" }), "httpJWTKeysURL: expected a URL"},
		{Options{JWT: &valid}, "httpPublicURL is not set"},
		{Options{JWT: &valid, Resource: "mcp.example.com"}, "expected a URL such as"},
		{Options{JWT: &valid, Resource: "http://0.0.0.0:8080/mcp"}, "no client can connect to 0.0.0.0"},
		{Options{JWT: &valid, Resource: "https://mcp.example.com/mcp?key=hunter2"}, "only a scheme, a host and a path"},
		{Options{AllowedHosts: []string{"https://mcp.example.com"}}, "httpAllowedHosts: "},
		{Options{AllowedHosts: []string{"*.example.com"}}, "httpAllowedHosts: "},
		{Options{AllowedHosts: []string{""}}, "httpAllowedHosts: "},
		{Options{AllowedHosts: []string{"a:b:c"}}, "httpAllowedHosts: "},
		{Options{AllowedHosts: []string{"[::1]:80", "::1", "[::1]", "a.", "a:1"}}, ""},
		{Options{AllowedOrigins: []string{"*"}}, "httpAllowedOrigins: "},
		{Options{AllowedOrigins: []string{"null"}}, "httpAllowedOrigins: "},
		{Options{AllowedOrigins: []string{"app.example.com"}}, "httpAllowedOrigins: "},
		{Options{AllowedOrigins: []string{"https://*.example.com"}}, "httpAllowedOrigins: "},
		{Options{AllowedOrigins: []string{"https://app.example.com/path"}}, "httpAllowedOrigins: "},
		{Options{Tokens: []Token{{"alice", "hunter2"}}}, "token 1: the token has fewer than 16 characters"},
		{Options{Tokens: []Token{{"alice", secret}, {"bob", secret}}}, "token 2: it is the same as token 1, which belongs to another agent"},
		{Options{Tokens: []Token{{"", secret}}}, "token 1: the agent's name"},
	}
	for _, tt := range tests {
		_, err := New(tt.opts)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%+v: %v", tt.opts, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%+v: error %v, want %q", tt.opts, err, tt.want)
		case err != nil && (hasPart(err.Error(), secret) || strings.Contains(err.Error(), "hunter2")):
			t.Errorf("a secret is shown: %v", err)
		}
	}
}
