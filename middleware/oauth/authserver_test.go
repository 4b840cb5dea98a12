package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	gokeyring "github.com/zalando/go-keyring"

	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
	"rlmproxy/keyring"
)

func TestMain(m *testing.M) {
	gokeyring.MockInitWithError(gokeyring.ErrUnsupportedPlatform) // files of the tests, not a keyring of whoever runs them
	os.Exit(m.Run())
}

// A world is a protected server and its authorization server, on this machine, with what a
// test makes them do.
type world struct {
	t              *testing.T
	server, issuer *httptest.Server
	dir            string
	store          *fleettest.Server // nil: accounts are of one machine, else of replicas
	issuerPath     string            // of the issuer, "" or /tenant
	metadataPath   string            // of its metadata; empty: as RFC 8414 says
	resource       string            // that the server says it is; empty: its URL
	noChallenge    bool              // it does not say where its metadata is
	meta           func(*oauthex.AuthServerMeta)
	pages          map[string]http.HandlerFunc // by path, in place of those below
	answer         func(url.Values)            // changes the authorization response
	token          func(map[string]any)        // changes the token response
	secret         string                      // of the client "known"
	scope          string                      // that requests need

	mu       sync.Mutex
	clients  map[string]string // redirect URIs by ID
	codes    map[string]url.Values
	tokens   map[string]bool // access tokens that are good
	refresh  map[string]bool // refresh tokens that are good
	asked    map[string]int  // requests to the issuer by path; of the token endpoint by grant
	n        int
	lastForm url.Values // at the token endpoint
	bearer   []string   // what the server was sent
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), clients: map[string]string{}, codes: map[string]url.Values{},
		tokens: map[string]bool{}, refresh: map[string]bool{}, asked: map[string]int{}, pages: map[string]http.HandlerFunc{}}
	w.server = httptest.NewServer(http.HandlerFunc(w.serve))
	w.issuer = httptest.NewServer(http.HandlerFunc(w.authorize))
	t.Cleanup(w.server.Close)
	t.Cleanup(w.issuer.Close)
	return w
}

// each runs a test for processes of one machine, and for replicas.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run("machine", func(t *testing.T) { test(t, newWorld(t)) })
	t.Run("replicas", func(t *testing.T) {
		w := newWorld(t)
		w.store = fleettest.Start(t)
		test(t, w)
	})
}

// account is a new process's.
func (w *world) account(change ...func(*Server)) *Account {
	s := Server{Name: "x", URL: w.server.URL + "/mcp", Login: "rlmproxy auth login x"}
	for _, c := range change {
		c(&s)
	}
	if w.store != nil {
		a, _ := w.replica(w.t.TempDir(), "", s)
		return a
	}
	return New(s, Options{Keyring: keyring.Open(w.dir), Dir: w.dir + "/oauth"})
}

// replica is an account of a replica with a keyring of its own.
func (w *world) replica(dir, secret string, s Server) (*Account, *fleet.Store) {
	store, err := fleet.Open(fleet.Options{URL: w.store.URL, Secret: secret})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(store.Close)
	return New(s, Options{Keyring: keyring.Open(dir), Dir: dir + "/oauth", Replicas: NewReplicas(store, true)}), store
}

const resourceMetadata = "/.well-known/oauth-protected-resource/mcp"

// serve is the protected server.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if page := w.pages[r.URL.Path]; page != nil {
		page(rw, r)
		return
	}
	if r.URL.Path == resourceMetadata {
		resource := w.resource
		if resource == "" {
			resource = w.server.URL + "/mcp"
		}
		reply(rw, 200, oauthex.ProtectedResourceMetadata{Resource: resource, AuthorizationServers: []string{w.issuer.URL + w.issuerPath}, ScopesSupported: []string{"read"}})
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	w.bearer = append(w.bearer, token)
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.URL.Path != "/mcp":
		http.NotFound(rw, r)
	case !w.tokens[token]:
		if !w.noChallenge {
			rw.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+w.server.URL+resourceMetadata+`", scope="read"`)
		}
		rw.WriteHeader(http.StatusUnauthorized)
	case w.scope != "":
		rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+w.scope+`"`)
		rw.WriteHeader(http.StatusForbidden)
	default:
		fmt.Fprintf(rw, "hello %s", body)
	}
}

// authorize is the authorization server. Its person always agrees.
func (w *world) authorize(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[r.URL.Path]++
	if page := w.pages[r.URL.Path]; page != nil {
		page(rw, r)
		return
	}
	base := w.issuer.URL + w.issuerPath
	metadata := w.metadataPath
	if metadata == "" {
		metadata = "/.well-known/oauth-authorization-server" + w.issuerPath
	}
	_ = r.ParseForm()
	form := r.Form
	switch r.URL.Path {
	case metadata:
		m := &oauthex.AuthServerMeta{
			Issuer: base, AuthorizationEndpoint: base + "/authorize", TokenEndpoint: base + "/token", RegistrationEndpoint: base + "/register",
			RevocationEndpoint: base + "/revoke", CodeChallengeMethodsSupported: []string{"S256"}, ScopesSupported: []string{"read", "offline_access"},
			AuthorizationResponseIssParameterSupported: true,
		}
		if w.meta != nil {
			w.meta(m)
		}
		reply(rw, 200, m)
	case w.issuerPath + "/register":
		var m oauthex.ClientRegistrationMetadata
		_ = json.NewDecoder(r.Body).Decode(&m)
		id := fmt.Sprintf("registered-%d", len(w.clients))
		w.clients[id] = m.RedirectURIs[0]
		reply(rw, 201, map[string]any{"client_id": id, "redirect_uris": m.RedirectURIs, "token_endpoint_auth_method": "none"})
	case w.issuerPath + "/authorize":
		id, back := form.Get("client_id"), form.Get("redirect_uri")
		if uri, ok := w.clients[id]; ok && uri != back || !ok && id != "known" && !strings.HasPrefix(id, "https://") || form.Get("code_challenge_method") != "S256" || form.Get("resource") == "" {
			http.Error(rw, "bad request", 400)
			return
		}
		w.n++
		code := fmt.Sprintf("code-%d", w.n)
		w.codes[code] = form
		q := url.Values{"code": {code}, "state": {form.Get("state")}, "iss": {base}}
		if w.answer != nil {
			w.answer(q)
		}
		http.Redirect(rw, r, back+"?"+q.Encode(), http.StatusFound)
	case w.issuerPath + "/token":
		w.lastForm = form
		w.asked[form.Get("grant_type")]++
		w.grantToken(rw, r, form)
	case w.issuerPath + "/revoke":
		delete(w.tokens, form.Get("token"))
		delete(w.refresh, form.Get("token"))
	default:
		http.NotFound(rw, r)
	}
}

func (w *world) grantToken(rw http.ResponseWriter, r *http.Request, form url.Values) {
	refuse := func(code string) { reply(rw, 400, map[string]any{"error": code, "error_description": "SECRET"}) }
	id, secret, header := r.BasicAuth()
	if !header {
		id, secret = form.Get("client_id"), form.Get("client_secret")
	}
	if id == "known" && secret != w.secret {
		refuse("invalid_client")
		return
	}
	switch form.Get("grant_type") {
	case "authorization_code":
		asked, ok := w.codes[form.Get("code")]
		delete(w.codes, form.Get("code"))
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		if !ok || asked.Get("client_id") != id || asked.Get("redirect_uri") != form.Get("redirect_uri") || asked.Get("resource") != form.Get("resource") ||
			asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
			refuse("invalid_grant")
			return
		}
	case "refresh_token":
		old := form.Get("refresh_token")
		if !w.refresh[old] || form.Get("resource") == "" {
			refuse("invalid_grant")
			return
		}
		delete(w.refresh, old) // rotated: each counts once
	case "client_credentials":
		if id != "known" {
			refuse("invalid_client")
			return
		}
	}
	w.n++
	access, renew := fmt.Sprintf("SECRET-access-%d", w.n), fmt.Sprintf("SECRET-refresh-%d", w.n)
	w.tokens[access], w.refresh[renew] = true, true
	answer := map[string]any{"access_token": access, "refresh_token": renew, "token_type": "Bearer", "expires_in": 3600}
	if form.Get("grant_type") == "client_credentials" {
		delete(answer, "refresh_token")
	}
	if w.token != nil {
		w.token(answer)
	}
	reply(rw, 200, answer)
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

// end has the server refuse all tokens that were given so far, and with them their renewal.
func (w *world) end(refresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.tokens)
	if refresh {
		clear(w.refresh)
	}
}

// times says how often the issuer was asked for something.
func (w *world) times(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[what]
}

// call sends the server a request, as the proxy does.
func (w *world) call(a *Account) (string, error) {
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.server.URL+"/mcp", strings.NewReader("world"))
	if err != nil {
		return "", err
	}
	resp, err := a.Authorize(http.DefaultTransport).RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, body), err
}

// browser opens a page and goes where it is sent.
func browser(address string) {
	if resp, err := http.Get(address); err == nil {
		resp.Body.Close()
	}
}
