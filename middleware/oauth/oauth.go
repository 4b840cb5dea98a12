// Package oauth signs in to remote servers, and adds what that brought to the requests to them.
//
//	auth login ──► metadata ──► a client ──► browser ──► code ──► tokens ──► keyring
//	request ──► token ─ due, or refused with 401 ──► refreshed, once for all who wait ──► keyring
//
// Among [Replicas], their store is in the place of the keyring.
//
// The protocol is that of the authorization chapter of MCP: OAuth 2.1 with PKCE, RFC 9728
// and 8414 for metadata, 8707 for resources, 9207 for issuers, 7591 for registration, 7009
// to revoke. Packages oauthex of the SDK and x/oauth2 speak it. What they lack is here:
//
//   - auth.AuthorizationCodeHandler forgets tokens and clients when the process ends,
//     knows no second process beside it, guesses endpoints where there is no metadata,
//     and registers before it looks at a configured client's issuer,
//   - oauthex takes a server's metadata only if it is about exactly its URL (servers
//     describe what is above it, too), looks for PKCE but not for S256, and lets a public
//     server send us to this machine,
//   - x/oauth2 refreshes without the resource, not ahead of time, and one process alone.
package oauth

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"rlmproxy/fleet"
	"rlmproxy/keyring"
	"rlmproxy/middleware/upstream/transport"
)

// A Server is a remote server, and what the operator says of how we sign in to it.
type Server struct {
	Name, URL string
	Headers   map[string]string // that requests to it have besides
	// ClientID is the client that was registered for us, with ClientSecret if it has one.
	ClientID, ClientSecret string
	// ClientMetadataURL is the client where the authorization server reads such documents.
	ClientMetadataURL string
	// Issuer is the authorization server, of those that the server names. Empty: the first.
	Issuer string
	// Scopes replace those that the server asks for.
	Scopes []string
	// RedirectPort is where the browser comes back to. Zero: a free port.
	RedirectPort int
	// Machine says that the client signs in by itself (client credentials).
	Machine bool
	// Login is the command that signs in, for people, and Flags what it needs besides on
	// this machine.
	Login, Flags string
}

// Options are what all accounts share.
type Options struct {
	Keyring *keyring.Ring
	// Replicas have the sign-ins instead. Nil: this machine has them.
	Replicas *Replicas
	// Dir has the locks that keep processes from refreshing one token at once. It is
	// made when it is needed.
	Dir string
	// Logger receives our events. Nil discards.
	Logger *slog.Logger
}

// An Account is ours at one server. Its methods may be called concurrently.
type Account struct {
	server Server
	opts   Options
	vault  vault
	turn   chan struct{} // holds one while tokens are renewed

	mu        sync.Mutex // guards the fields below
	read      bool       // the vault has been read, and nobody has changed it since
	grant     *grant     // nil: none
	failed    error      // why tokens could not be renewed
	failedAt  time.Time
	unliked   string // the token that the server refused when it was new, at unlikedAt
	unlikedAt time.Time
	client    *http.Client // that asks authorization servers; nil: not known yet
}

// New returns the account at a server. Nothing is read or sent before it is used.
func New(s Server, o Options) *Account {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = o.Logger.With("server", s.Name)
	a := &Account{server: s, opts: o, turn: make(chan struct{}, 1)}
	l := &local{o.Keyring, o.Dir, a.name()}
	a.vault = l
	if o.Replicas != nil && !s.Machine {
		a.vault = o.Replicas.vault(a, l)
	}
	return a
}

// http returns what asks authorization servers. Where the server is decides whom it may ask;
// that is looked up again until it is known, for a laptop may wake before its network.
func (a *Account) http() *http.Client {
	a.mu.Lock()
	client := a.client
	a.mu.Unlock()
	if client != nil {
		return client
	}
	ours, err := inside(a.server.URL)
	client = newClient(ours, http.ProxyFromEnvironment)
	if err == nil {
		a.mu.Lock()
		a.client = client
		a.mu.Unlock()
	}
	return client
}

// A grant is what a sign-in has brought, as the keyring has it.
type grant struct {
	URL       string   `json:"url"`      // of the server
	Resource  string   `json:"resource"` // as the server calls itself
	Issuer    string   `json:"issuer"`
	TokenURL  string   `json:"tokenURL"`
	RevokeURL string   `json:"revokeURL,omitempty"`
	Client    client   `json:"client"`
	Scopes    []string `json:"scopes,omitempty"`

	Access  string    `json:"access,omitempty"`
	Refresh string    `json:"refresh,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // by our clock; zero: it does not say
	// Refused is why nothing but another sign-in helps, or "".
	Refused string `json:"refused,omitempty"`
}

// A client is who we are to an authorization server.
type client struct {
	Kind     string `json:"kind"` // one of the kinds below
	ID       string `json:"id"`
	Secret   string `json:"secret,omitempty"` // of a registered one
	InHeader bool   `json:"inHeader,omitempty"`
	Redirect string `json:"redirect,omitempty"`
}

// The kinds of clients, in words for people.
const (
	configured = "configured"
	document   = "metadata document"
	registered = "registered"
)

// ahead is how long before its end a token is renewed, if that is less than a fifth of its life.
const ahead = 5 * time.Minute

// due reports whether the token is to be renewed before it is used.
func (g *grant) due(now time.Time) bool {
	return !g.Expires.IsZero() && now.After(g.Expires.Add(-min(ahead, g.Expires.Sub(g.Since)/5)))
}

// name is that of the grant in the keyring. It changes with the URL: a token is never for
// another server.
func (a *Account) name() string {
	sum := sha256.Sum256([]byte(a.server.Name + "\x00" + a.server.URL))
	return "oauth-" + hex.EncodeToString(sum[:12])
}

// load reads the grant, nil if there is none for this server and client.
func (a *Account) load() (*grant, error) {
	if !a.vault.known() {
		return nil, nil
	}
	text, err := a.vault.get()
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	g := new(grant)
	if json.Unmarshal([]byte(text), g) != nil || g.URL != a.server.URL || checkURL(g.TokenURL) != nil {
		a.opts.Logger.Warn("the keyring's entry for this sign-in is not in this rlmproxy's format, and is ignored")
		return nil, nil
	}
	if id := a.server.ClientID; g.Client.Kind == configured && g.Client.ID != id || g.Client.Kind != configured && id != "" {
		return nil, nil // it was for another client
	}
	if want := a.server.Issuer; want != "" && strings.TrimSuffix(want, "/") != strings.TrimSuffix(g.Issuer, "/") {
		return nil, nil // it was from another authorization server
	}
	return g, nil
}

// save keeps a grant.
func (a *Account) save(g *grant) error {
	if a.server.Machine {
		return nil // the client can always get another
	}
	text, err := json.Marshal(g)
	if err == nil {
		err = a.vault.set(string(text))
	}
	return err
}

// held is the grant as this process knows it, read when it is first asked for.
func (a *Account) held() (*grant, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.read && !a.server.Machine {
		g, err := a.load()
		if errors.As(err, new(*fleet.AwayError)) {
			return a.grant, nil // which may still be good, or none may be needed
		}
		if err != nil {
			return nil, err
		}
		a.grant = g
	}
	a.read = true
	return a.grant, nil
}

// hold remembers a grant.
func (a *Account) hold(g *grant) {
	a.mu.Lock()
	a.read, a.grant, a.failed = true, g, nil
	a.mu.Unlock()
}

// outdate has the vault read again, which another replica has changed.
func (a *Account) outdate() {
	a.mu.Lock()
	a.read, a.failed = false, nil
	a.mu.Unlock()
}

// restore gives the replicas' store, which was away, what this one has of it.
func (a *Account) restore() {
	a.mu.Lock()
	g, read := a.grant, a.read
	a.mu.Unlock()
	if v, ok := a.vault.(*sharedVault); ok && read && g != nil {
		if text, err := json.Marshal(g); err == nil {
			_ = v.restore(string(text)) // the next time that it is read
		}
	}
}

// unread is the error of a vault, for people.
func (a *Account) unread(err error) error {
	switch {
	case errors.As(err, new(*fleet.AwayError)):
		return err
	case errors.Is(err, errSealed):
		return a.needed(err.Error())
	}
	return fmt.Errorf("the keyring: %w", err)
}

// secret is that of the client: the keyring does not repeat what is configured.
func (a *Account) secret(c client) string {
	if c.Kind == configured {
		return a.server.ClientSecret
	}
	return c.Secret
}

// needed is the error of whoever must sign in.
func (a *Account) needed(why string, scopes ...string) error {
	if a.server.Machine {
		text := fmt.Sprintf("server %q: %s", a.server.Name, why)
		return &transport.SignInError{Text: text, Log: text, Hint: "tell the operator: calls fail until clientId and clientSecret in its configuration are right"}
	}
	asked := ""
	for _, s := range scopes {
		switch {
		case len(asked)+len(s) > maxAsked:
		case strings.Trim(s, plainInShell) == "":
			asked += " --scope " + s
		case strings.Trim(s, plainInShell+"*=~") == "":
			asked += " --scope '" + s + "'"
		}
	}
	text := fmt.Sprintf("server %q needs you to sign in: %s%s", a.server.Name, a.server.Login, asked)
	return &transport.SignInError{
		Text: fmt.Sprintf("server %q requires a sign-in: %s", a.server.Name, why),
		Log:  text + a.server.Flags + " (" + why + ")",
		Hint: "tell the person: " + text,
		Call: len(scopes) > 0,
	}
}

// The scopes of an instruction were written by a server, and somebody may run it: in a shell of
// Windows, quotes do not keep & from being a second command. What is left out or does not fit is
// asked for when the next call fails.
const (
	plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:+@,"
	maxAsked     = 500 // bytes
)

// scopesOf are the scopes in text, which a server has written: those that can be scopes
// (RFC 6749, section 3.3), each once.
func scopesOf(words []string) []string {
	var scopes []string
	for _, s := range words {
		odd := strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"\'`, r) })
		if s != "" && !odd && len(s) <= 200 && !slices.Contains(scopes, s) && len(scopes) < 50 {
			scopes = append(scopes, s)
		}
	}
	return scopes
}
