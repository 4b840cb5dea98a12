package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rlmproxy/cache"
	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/middleware/auth"
	"rlmproxy/middleware/stats"
	"rlmproxy/middleware/ui"
	"rlmproxy/middleware/web"
	"rlmproxy/pipeline/show"
	"rlmproxy/private"
)

// uiAddress is where a proxy is looked for that is not named.
const uiAddress = "127.0.0.1:8080"

// A uiPage is /ui, with its key.
type uiPage struct {
	guard *auth.Guard
	key   string
	at    string // its URL, or "" of a Unix socket
	hint  string // the command that prints its address with the key
}

// openPage decides whether there is a page at an address, and returns nil if there is none:
// where other machines come, only with a key that the operator has set.
func (w *webProxy) openPage(at net.Addr) (*uiPage, error) {
	p := w.cfg.Proxy
	tcp, _ := at.(*net.TCPAddr)
	if p.UIToken == "" && tcp != nil && !tcp.IP.IsLoopback() {
		return nil, nil
	}
	if p.UIToken != "" && p.UIToken == p.MetricsToken {
		return nil, &usageError{errors.New("RLMPROXY_UI_TOKEN is RLMPROXY_METRICS_TOKEN too: who may see figures may not see results"), "give each a value of its own"}
	}
	key, flags, err := uiKey(p)
	if err != nil {
		w.log.Warn("there is no page /ui: the state folder cannot be used", "error", err, "hint", "name one in stateDir (RLMPROXY_STATE_DIR), or set RLMPROXY_UI_TOKEN")
		return nil, nil
	}
	opts := auth.Options{
		Resource: p.HTTPPublicURL, AllowedHosts: p.HTTPAllowedHosts, Tokens: []auth.Token{{Agent: "ui", Secret: key}},
		Logger: w.log, RefusalLevel: slog.LevelDebug, // a page that is left open asks on
	}
	out := &uiPage{key: key, hint: "rlmproxy ui" + flags}
	if out.guard, err = auth.New(opts); err != nil {
		return nil, &usageError{err: fmt.Errorf("RLMPROXY_UI_TOKEN: %w", err)}
	}
	if tcp != nil {
		out.at = fmt.Sprintf("http://%s/ui", at)
	}
	if at.String() != uiAddress {
		name := at.String()
		if tcp == nil {
			name = "unix:" + name
		}
		out.hint += " --http " + name
	}
	if err := out.check(w.tokens); err != nil {
		return nil, &usageError{err: err}
	}
	return out, nil
}

// check is an error if an agent could open the page.
func (p *uiPage) check(tokens []auth.Token) error {
	for _, t := range tokens {
		if p != nil && t.Secret == p.key {
			return fmt.Errorf("the token of %q is the key of the page /ui, which shows the results of all agents", show.ClipBytes(t.Agent, 80))
		}
	}
	return nil
}

// handler serves the page of s, nil if there is none.
func (p *uiPage) handler(s *stack) http.Handler {
	if p == nil {
		return nil
	}
	return ui.New(ui.Options{
		Guard:   p.guard,
		Report:  func() stats.Report { return *s.stats.Report() },
		Results: s.store.List,
		Look:    s.server.Look,
	})
}

// tell logs where the page is.
func (p *uiPage) tell(logger *slog.Logger) {
	switch {
	case p == nil:
	case p.at == "":
		logger.Info("page on the same socket, /ui (" + p.hint + " says how to reach it)")
	default:
		logger.Info("page on " + p.at + " (" + p.hint + " prints the address with its key)")
	}
}

// openDesk opens where the page looks at what agents keep.
func openDesk(store *cache.Store) (*cache.Desk, error) {
	const derived = deskBytes / 3
	return cache.NewDesk(store, cache.Options{
		MaxBytesPerAgent: deskBytes - derived, MaxBytes: deskBytes - derived, MaxAgents: 100, MaxTombstones: 100,
		TTL: 15 * time.Minute, DerivedBytes: derived,
	})
}

// uiKey is the key of the page: the one that the operator has set, or one in the state
// folder, which is made at the first time. Flags are those that find the same.
func uiKey(p config.Proxy) (key, flags string, err error) {
	if p.UIToken != "" {
		return string(p.UIToken), "", nil
	}
	dir, flags, err := stateDir(p)
	if err != nil {
		return "", "", err
	}
	const may = "could read the results of all agents"
	dir = filepath.Join(dir, "ui")
	if err := private.Folder(dir, may); err != nil {
		return "", "", err
	}
	raw, err := private.Key(filepath.Join(dir, "key"), may)
	return hex.EncodeToString(raw), flags, err
}

func (c *cli) uiCommand() *cobra.Command {
	var at string
	var open bool
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Print the address of the page of a proxy over HTTP, with its key",
		Long: `A proxy over HTTP has a page: servers with their state, the last calls, what is saved,
and cached results to open and query. It shows the results of all agents, so the address
has a key in it. Who has that address can read them: do not pass it on.`,
		Example: "  rlmproxy ui --open\n  rlmproxy ui --http 127.0.0.1:3000",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.readSettings(cmd)
			if err != nil && !errors.Is(err, config.ErrNoConfig) {
				return &usageError{err: err}
			}
			return c.ui(cmd.Context(), cfg.Proxy, at, open)
		},
	}
	cmd.Flags().StringVar(&at, "http", "", "the `address` that the proxy serves at, as its flag --http has it, or a URL (default: the one that runs)")
	cmd.Flags().BoolVar(&open, "open", false, "open it in a browser")
	c.stateFlags(cmd)
	return cmd
}

// ui prints where the page is, and perhaps opens it.
func (c *cli) ui(ctx context.Context, p config.Proxy, at string, open bool) error {
	key, _, err := uiKey(p)
	if err != nil {
		return &usageError{fmt.Errorf("the state folder cannot be used: %w", err), "name one in stateDir (RLMPROXY_STATE_DIR)"}
	}
	if path, ok := web.SocketPath(at); ok {
		if open {
			return &usageError{errors.New("--open: browsers open no Unix sockets"), "forward a port to it, as in ssh -N -L 8080:" + path + " localhost, and give that to --http"}
		}
		_, err := fmt.Fprintf(c.stdout, "curl --unix-socket %s -H 'Authorization: Bearer %s' http://localhost/ui/api/report\n", path, key)
		return err
	}
	if at == "" {
		if at, err = running(p); err != nil {
			return err
		}
	}
	base, err := pageOf(at)
	if err != nil {
		return &usageError{fmt.Errorf("--http: %w", err), "--http 127.0.0.1:8080, or --http 8080 for the same, or --http https://mcp.example.com"}
	}
	if err := findPage(ctx, base); err != nil {
		return &usageError{err, "start one with rlmproxy serve --http 8080, or name where it serves with --http; where other machines reach it, it has a page only with RLMPROXY_UI_TOKEN"}
	}
	address := base + "#key=" + key
	fmt.Fprintln(c.stdout, address)
	if !open {
		return nil
	}
	if !canBrowse(os.Getenv) {
		fmt.Fprintln(c.stderr, "rlmproxy: there is no desktop here to open a browser on: open the address where there is one")
		return nil
	}
	file, err := c.redirect(p, address)
	if err == nil {
		err = browse(file)
	}
	if err != nil {
		return fmt.Errorf("the browser was not started: %w", err)
	}
	return nil
}

// running is where the proxy serves that runs over HTTP, as the state folder says, or
// uiAddress if it says of none. Of several, one has to be named.
func running(p config.Proxy) (string, error) {
	dir, _, err := stateDir(p)
	if err != nil {
		return "", err
	}
	r, _ := stats.Read(dir, "") // what cannot be read runs unseen
	var found []string
	for _, proxy := range r.Proxies {
		if strings.HasPrefix(proxy.URL, "http") {
			found = append(found, proxy.URL)
		}
	}
	switch len(found) {
	case 0:
		return uiAddress, nil
	case 1:
		return found[0], nil
	}
	return "", &usageError{fmt.Errorf("%d proxies serve over HTTP: %s", len(found), terminal.Visible(strings.Join(found, ", "))), "name one with --http"}
}

// pageOf is the URL of the page of a proxy that serves at an address, or has a URL.
func pageOf(at string) (string, error) {
	if scheme, _, ok := strings.Cut(at, "://"); ok {
		u, err := url.Parse(at)
		if err != nil || scheme != "http" && scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return "", errors.New("that is not a URL such as http://127.0.0.1:8080, without anything behind its path") // and may have a key in it
		}
		path := strings.TrimRight(u.Path, "/")
		path = strings.TrimSuffix(strings.TrimSuffix(path, "/mcp"), "/ui")
		return scheme + "://" + u.Host + path + "/ui", nil
	}
	at, err := web.Address(at)
	if err != nil {
		return "", err
	}
	host, port, _ := net.SplitHostPort(at)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/ui", nil
}

// findPage is an error if there is no page at a URL. It does not show the key: somebody
// else may listen there.
func findPage(ctx context.Context, base string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		var asking *url.Error
		if errors.As(err, &asking) { // which says in its own words what was asked
			err = asking.Err
		}
		return fmt.Errorf("nothing answers at %s: %w", base, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode != http.StatusOK || err != nil || !strings.Contains(string(body), "<title>rlmproxy</title>") {
		return fmt.Errorf("there is no page of rlmproxy at %s (status %d)", base, resp.StatusCode)
	}
	return nil
}

// redirect writes a file that a browser is sent on from. The address on its command line
// would show the key to all who list processes.
func (c *cli) redirect(p config.Proxy, address string) (string, error) {
	dir, _, err := stateDir(p)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "ui")
	if err := private.Folder(dir, "could send the browser elsewhere"); err != nil {
		return "", err
	}
	to := html.EscapeString(address)
	file := filepath.Join(dir, "open.html")
	return file, private.Replace(file, []byte(`<!doctype html><meta charset="utf-8"><title>rlmproxy</title><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=`+to+`"><a href="`+to+`">rlmproxy</a>`+"\n"))
}
