package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"rlmproxy/cmd/rlmproxy/terminal"
	"rlmproxy/config"
	"rlmproxy/keyring"
	"rlmproxy/middleware/oauth"
	"rlmproxy/middleware/pin"
)

func (c *cli) authCommand() *cobra.Command {
	auth := family(&cobra.Command{
		Use:   "auth",
		Short: "Sign in to remote servers",
		Long: `Servers at a URL may want you to sign in (OAuth). rlmproxy keeps the tokens in the
system's keyring, or else in a file that only you can read, and renews them.
With cacheURL, all replicas have them in their store. Running proxies use them at once.`,
		Example: "  rlmproxy auth status\n  rlmproxy auth login wiki\n  rlmproxy auth login https://mcp.example.com/mcp   # for wrap --url",
	})
	var noBrowser bool
	var scopes []string
	login := &cobra.Command{
		Use:   "login SERVER",
		Short: "Sign in to a server, with a browser",
		Long: `Login opens a browser and waits up to 5 minutes for it to come back. If the browser
runs on another machine, paste the address of its last page into the terminal.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, sc, end, err := c.account(cmd, args)
			if err != nil {
				return err
			}
			defer end()
			return c.login(cmd.Context(), a, sc, scopes, noBrowser)
		},
	}
	login.Flags().BoolVar(&noBrowser, "no-browser", false, "only print the address to sign in at")
	login.Flags().StringArrayVar(&scopes, "scope", nil, "ask for this `scope` besides those of the last sign-in")
	logout := &cobra.Command{
		Use:   "logout SERVER",
		Short: "Revoke and forget the tokens of a server",
		RunE: func(cmd *cobra.Command, args []string) error {
			a, sc, end, err := c.account(cmd, args)
			if err != nil {
				return err
			}
			defer end()
			done := c.log.Progress(func() string { return "revoking the tokens of " + sc.Name })
			had, revoked, err := a.Logout(cmd.Context())
			done()
			switch {
			case err != nil:
				return err
			case !had:
				fmt.Fprintf(c.stdout, "nobody was signed in to %q\n", sc.Name)
			case revoked != nil:
				fmt.Fprintf(c.stdout, "signed out of %q: its tokens are forgotten here, but not revoked: %s\n", sc.Name, terminal.Visible(revoked.Error()))
			default:
				fmt.Fprintf(c.stdout, "signed out of %q: its tokens are revoked and forgotten\n", sc.Name)
			}
			return nil
		},
	}
	status := &cobra.Command{
		Use:   "status [SERVER]",
		Short: "Show where you are signed in; with SERVER, exit with 1 if you need to sign in",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.authStatus(cmd, args)
		},
	}
	for _, cmd := range []*cobra.Command{login, logout, status} {
		c.stateFlags(cmd, "cache-url", "fleet-name")
		cmd.ValidArgsFunction = c.completing(1, c.remoteNames)
		auth.AddCommand(cmd)
	}
	return auth
}

// account is that of the one server that args name, by its name in the file or by its URL. The
// caller ends it.
func (c *cli) account(cmd *cobra.Command, args []string) (a *oauth.Account, sc config.Server, end func(), err error) {
	if len(args) != 1 {
		return nil, sc, nil, &usageError{errors.New("name one server"), "rlmproxy auth status lists them"}
	}
	cfg, err := c.read(cmd)
	byURL := strings.Contains(args[0], "://")
	if err != nil && !(byURL && errors.Is(err, config.ErrNoConfig)) {
		return nil, sc, nil, &usageError{err: err}
	}
	sc = config.Server{URL: args[0]}
	sc.Name = nameOf(sc)
	if byURL {
		cfg.Path = ""
	} else {
		i := slices.IndexFunc(cfg.Servers, func(s config.Server) bool { return s.Name == args[0] })
		if i < 0 {
			return nil, sc, nil, &usageError{fmt.Errorf("there is no server %q in %s", args[0], cfg.Path), "rlmproxy auth status lists them"}
		}
		sc = cfg.Servers[i]
	}
	switch {
	case sc.URL == "":
		return nil, sc, nil, &usageError{fmt.Errorf("rlmproxy starts server %q itself, so there is nothing to sign in to", sc.Name), "pass secrets to it in env"}
	case sc.HasAuthorization():
		return nil, sc, nil, &usageError{fmt.Errorf("server %q has an Authorization in its headers, which rlmproxy sends instead of a sign-in", sc.Name), "remove it to sign in"}
	}
	signIns, end, err := signIns(cfg.Proxy)
	if err != nil {
		return nil, sc, nil, err
	}
	if a, err = account(cfg, sc, signIns, nil); err != nil {
		end()
	}
	return a, sc, end, err
}

// signIns are those that replicas share, until end is called; nil where there are none.
func signIns(p config.Proxy) (all *oauth.Replicas, end func(), err error) {
	shared, err := reach(p)
	if shared != nil {
		all = oauth.NewReplicas(shared, false)
	}
	return all, shared.Close, err
}

// account is ours at a remote server. The sign-ins that replicas share are nil where this machine has
// them.
func account(cfg *config.Config, sc config.Server, shared *oauth.Replicas, logger *slog.Logger) (*oauth.Account, error) {
	dir, flags, err := stateDir(cfg.Proxy)
	if err != nil {
		return nil, &usageError{fmt.Errorf("the state folder cannot be used: %w", err), "name one in stateDir (RLMPROXY_STATE_DIR)"}
	}
	s := oauth.Server{
		Name: sc.Name, URL: sc.URL, Headers: sc.Headers,
		ClientID: sc.Auth.ClientID, ClientSecret: sc.Auth.ClientSecret, ClientMetadataURL: sc.Auth.ClientMetadataURL,
		Issuer: sc.Auth.Issuer, Scopes: sc.Auth.Scopes, RedirectPort: sc.Auth.RedirectPort, Machine: sc.Auth.ClientCredentials,
		Login: "rlmproxy auth login " + pin.Quoted(sc.Name), Flags: flags,
	}
	if cfg.Path != "" {
		s.Flags = " --config " + pin.Quoted(cfg.Path) + flags
	} else {
		s.Login = "rlmproxy auth login URL"
		if u, err := url.Parse(sc.URL); err == nil && u.RawQuery == "" && u.User == nil { // no secret
			s.Login = "rlmproxy auth login " + pin.Quoted(sc.URL)
		}
	}
	return oauth.New(s, oauth.Options{Keyring: keyring.Open(dir), Replicas: shared, Dir: filepath.Join(dir, "oauth"), Logger: logger}), nil
}

// authorize adds what a sign-in has brought to requests to a server, nil where the
// configuration says what they carry.
func authorize(cfg *config.Config, sc config.Server, shared *oauth.Replicas, logger *slog.Logger) func(http.RoundTripper) http.RoundTripper {
	if sc.HasAuthorization() {
		return nil
	}
	a, err := account(cfg, sc, shared, logger)
	if err != nil {
		logger.Warn("requests carry no sign-in", "server", sc.Name, "error", err)
		return nil
	}
	return a.Authorize
}

// login has a person sign in.
func (c *cli) login(ctx context.Context, a *oauth.Account, sc config.Server, scopes []string, noBrowser bool) error {
	asked := c.log.Progress(func() string { return "asking " + sc.Name + " where to sign in" })
	defer asked()
	show := func(address string) {
		asked() // from here on the terminal is theirs
		fmt.Fprintf(c.stderr, "Sign in to %q here:\n\n  %s\n\n", sc.Name, terminal.Visible(address))
		if !noBrowser && canBrowse(os.Getenv) && browse(address) == nil {
			fmt.Fprintln(c.stderr, "A browser opens this address, and comes back by itself.")
			return
		}
		fmt.Fprintln(c.stderr, "A browser on this machine comes back by itself. From another machine, paste the address of its last page\n(http://127.0.0.1:…, which does not load there) here, and press Enter.")
	}
	stray := func() {
		fmt.Fprintln(c.stderr, "That is not the address of this sign-in's last page, which has state= and code= in it. Paste the whole address.")
	}
	s, err := a.Login(ctx, oauth.Login{Scopes: scopes, Show: show, Pasted: c.stdin, Stray: stray})
	if err != nil {
		if text := hidden(sc, err.Error()); text != err.Error() {
			return errors.New(text)
		}
		return err
	}
	fmt.Fprintf(c.stdout, "signed in to %q, %s\n", sc.Name, terminal.Visible(until(s)))
	return nil
}

// hidden is what is said of a server without its secrets, which its URL may hold.
func hidden(sc config.Server, text string) string {
	if hide := masks(sc.Secrets); hide != nil {
		return hide(text)
	}
	return text
}

// until says for how long somebody is signed in.
func until(s *oauth.Status) string {
	switch {
	case s.Renewed:
		return "renewed automatically"
	case s.Until.IsZero():
		return "until the server ends it"
	}
	return "until " + s.Until.Local().Format("2006-01-02 15:04")
}

// canBrowse reports whether a browser would open where the person is.
func canBrowse(env func(string) string) bool {
	if env("SSH_CONNECTION") != "" || env("SSH_TTY") != "" {
		return false
	}
	return runtime.GOOS == "windows" || runtime.GOOS == "darwin" || env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != ""
}

// browse opens a URL that begins with http, or a file.
func browse(address string) error {
	cmd := exec.Command("xdg-open", address)
	switch runtime.GOOS {
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", address)
	case "darwin":
		cmd = exec.Command("open", address)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // with the browser, maybe
	return nil
}

// authStatus prints how we stand with remote servers.
func (c *cli) authStatus(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		a, sc, end, err := c.account(cmd, args)
		if err != nil {
			return err
		}
		defer end()
		asked := c.log.Progress(func() string { return "asking " + sc.Name })
		line, good := stand(cmd.Context(), a)
		asked()
		fmt.Fprintf(c.stdout, "%s  %s\n", terminal.Visible(sc.Name), terminal.Visible(hidden(sc, line)))
		if !good {
			return &failedCall{}
		}
		return nil
	}
	cfg, err := c.load(cmd)
	if err != nil {
		return err
	}
	shared, end, err := signIns(cfg.Proxy)
	if err != nil {
		return err
	}
	defer end()
	lines := make([]string, len(cfg.Servers))
	var all sync.WaitGroup
	for i, sc := range cfg.Servers {
		switch a, err := account(cfg, sc, shared, nil); {
		case err != nil:
			return err
		case sc.URL == "" || sc.Disabled:
		case sc.HasAuthorization():
			lines[i] = "its headers hold the credentials"
		default:
			all.Go(func() { lines[i], _ = stand(cmd.Context(), a) })
		}
	}
	asked := c.log.Progress(func() string { return "asking servers whether we are signed in" })
	all.Wait()
	asked()
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	remote := 0
	for i, line := range lines {
		if line != "" {
			remote++
			fmt.Fprintf(w, "%s\t%s\n", terminal.Visible(cfg.Servers[i].Name), terminal.Visible(hidden(cfg.Servers[i], line)))
		}
	}
	if remote == 0 {
		fmt.Fprintln(w, "no server at a URL")
	}
	return w.Flush()
}

// stand says in a line how we stand with a server, and whether nobody has to do anything.
func stand(ctx context.Context, a *oauth.Account) (line string, good bool) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s, err := a.Status(ctx)
	switch {
	case err != nil:
		return "unknown: " + err.Error(), false
	case s.SignedIn:
		line = "signed in, " + until(s) + "; client: " + s.Client + "; at " + s.Issuer
		if len(s.Scopes) > 0 {
			line += "; scopes: " + strings.Join(s.Scopes, " ")
		}
		return line, true
	case s.Machine:
		return "signs in by itself, with the configured client", true
	case s.Asked && s.Why != "":
		return "needs sign-in: " + s.Why, false
	case s.Asked:
		return "needs sign-in", false
	case s.Why != "":
		return "unknown: " + s.Why, false
	}
	return "answers without a sign-in", true
}
