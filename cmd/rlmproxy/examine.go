package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"rlmproxy/config"
	"rlmproxy/middleware"
	"rlmproxy/middleware/pin"
	"rlmproxy/middleware/rights"
	"rlmproxy/middleware/scan"
	"rlmproxy/middleware/upstream"
	"rlmproxy/middleware/upstream/process"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// A doctor looks at one configuration.
type doctor struct {
	*report
	cli   *cli
	cfg   *config.Config
	told  map[string]bool // servers that cannot be started, of which the findings tell already
	flags string          // that our commands need for this configuration
}

// examine looks at everything. The servers connect while it looks at the rest.
func (c *cli) examine(cmd *cobra.Command, command []string) (*report, error) {
	r := &report{Version: version(), Servers: []serverReport{}}
	cfg, err := c.inspect(cmd, command, r)
	if err != nil || cfg == nil {
		return r, err
	}
	d := &doctor{report: r, cli: c, cfg: cfg, told: map[string]bool{}}
	var secrets []config.Secret
	for _, sc := range cfg.Servers {
		secrets = append(secrets, sc.Secrets...)
	}
	r.mask = masks(secrets)
	if f := cmd.Flags().Lookup("state-dir"); f.Changed {
		d.flags = " --state-dir " + pin.Quoted(f.Value.String())
	}
	if cfg.Path != "" {
		d.flags = " --config " + pin.Quoted(cfg.Path) + d.flags
	}
	d.folders()
	d.http()
	s, failed := d.start(cmd)
	d.commands()
	if failed != nil {
		d.fails(d.begin("servers"), failed)
	} else {
		defer s.close()
		if err := d.await(cmd.Context(), s); err != nil {
			return nil, err
		}
		d.servers(s)
		if err := d.catalogues(s); err != nil {
			return nil, err
		}
	}
	d.versions(cmd.Context())
	return r, nil
}

// fails adds an error of ours, with its hint.
func (d *doctor) fails(look *check, err error) {
	text, cure, _ := strings.Cut(err.Error(), "; ")
	var bad *usageError
	if errors.As(err, &bad) && bad.hint != "" {
		text, cure = bad.Error(), bad.hint
	}
	d.add(look, fault, "", text, cmp.Or(cure, "correct the setting that it names"))
}

// start starts the servers as tools does, without what the doctor has looked at itself.
func (d *doctor) start(cmd *cobra.Command) (*stack, error) {
	cfg := *d.cfg
	cfg.Proxy.CacheDir, cfg.Proxy.AuditFile, cfg.Proxy.KeepLists = "", "", false
	logger := slog.New(slog.DiscardHandler) // what it would say is in the findings
	if cmd.Flags().Changed("log-level") {
		logger = d.cli.logger(&cfg)
	}
	return start(&cfg, logger, nil, nobody, nil)
}

// folders looks at where the proxy keeps what it must know the next time. Without a folder
// for pins the doctor goes on, as if there were none.
func (d *doctor) folders() {
	look := d.begin("folders")
	p := &d.cfg.Proxy
	dir, _, err := stateDir(*p)
	look.Text = "state in " + visible(dir)
	if err != nil {
		look.Text = "no state folder"
		d.add(look, fault, "", "the state folder is not known: "+err.Error(), `name one: "stateDir" in proxySettings, or RLMPROXY_STATE_DIR`)
	}
	if err != nil || !d.folder(look, "stateDir", dir, dir, filepath.Join(dir, "pins"), filepath.Join(dir, "lists"), filepath.Join(dir, "oauth")) {
		p.PinTools, p.Quarantine = false, false
		for i := range d.cfg.Servers {
			d.cfg.Servers[i].PinTools, d.cfg.Servers[i].Quarantine = nil, nil
		}
	}
	if p.CacheDir != "" {
		look.Text += ", results in " + visible(p.CacheDir)
		if _, err := os.Stat(p.CacheDir); d.folder(look, "cacheDir", p.CacheDir, p.CacheDir) && err == nil {
			store, _, err := openStore(d.cfg, nobody, slog.New(slog.DiscardHandler))
			if err != nil {
				d.fails(look, err)
			} else {
				store.Close()
			}
		}
	}
	if p.AuditFile != "" && p.AuditFile != config.Stderr {
		look.Text += ", audit log in " + visible(p.AuditFile)
		if dir := filepath.Dir(p.AuditFile); !isFolder(dir) {
			d.add(look, fault, "", "auditFile: there is no folder "+dir, "mkdir -p "+pin.Quoted(dir))
		} else if err := writable(dir); err != nil {
			d.add(look, fault, "", "auditFile: "+err.Error(), "name a file in a folder that you can write to")
		}
	}
}

// folder looks at a folder that a setting names, or that will be made: whether we can write
// to it, and others neither to it nor to those below it that private are.
func (d *doctor) folder(look *check, setting, dir string, private ...string) (ok bool) {
	if err := writable(dir); err != nil {
		d.add(look, fault, "", fmt.Sprintf("%s: %v", setting, err), fmt.Sprintf(`name a folder that you can write to in %q`, setting))
		return false
	}
	var open []string
	for _, path := range private {
		if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
			open = append(open, pin.Quoted(path))
		}
	}
	if open != nil {
		d.add(look, fault, "", setting+": others can write to "+strings.Join(open, ", "), "chmod 700 "+strings.Join(open, " "))
	}
	return open == nil
}

func isFolder(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// writable says why no file can be made in dir, or below what is there of it.
func writable(dir string) error {
	for filepath.Dir(dir) != dir {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	}
	f, err := os.CreateTemp(dir, ".rlmproxy-doctor-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// http looks at who may come over HTTP, if a setting says something of that.
func (d *doctor) http() {
	p := d.cfg.Proxy
	rules := rulesOf(d.cfg)
	if p.HTTPTokensFile == "" && p.HTTPTokens == "" && p.HTTPJWTIssuer == "" && p.HTTPPublicURL == "" && len(p.HTTPAllowedHosts)+len(p.HTTPAllowedOrigins) == 0 && rules == nil {
		return
	}
	look := d.begin("http")
	w := &webProxy{cfg: d.cfg, log: slog.New(slog.DiscardHandler)}
	err := w.readGuard()
	if err != nil {
		look.Text = "nobody can come"
		text, cure, _ := strings.Cut(err.Error(), "; ")
		d.add(look, fault, "", text, cmp.Or(cure, "write a file that you can read, with a line for each agent, as in alice: TOKEN"))
		return
	}
	look.Text = "whoever can connect may come"
	if w.guard.Authenticates() {
		look.Text = show.Plural(len(w.tokens), "tokens")
		if p.HTTPJWTIssuer != "" {
			look.Text += ", and those of " + visible(p.HTTPJWTIssuer)
		}
	}
	if w.warned != "" {
		d.add(look, warning, "", strings.TrimSuffix(w.warned, "; chmod 600 keeps them private"), "chmod 600 "+pin.Quoted(p.HTTPTokensFile))
	}
	_, pipe := pipeRights(d.cfg)
	if _, err := httpRights(d.cfg, w.guard); err != nil && pipe != nil {
		d.fails(look, err)
	}
}

// enabled are the servers that are to run.
func (d *doctor) enabled() []config.Server {
	return slices.DeleteFunc(slices.Clone(d.cfg.Servers), func(s config.Server) bool { return s.Disabled })
}

// commands looks for the programs of servers as a proxy does that a desktop has started: what
// a terminal finds, it need not.
func (d *doctor) commands() {
	look := d.begin("path")
	n := 0
	for _, sc := range d.enabled() {
		if sc.Command == "" || servesFile(sc, d.cfg.Path) {
			continue
		}
		n++
		entry := fmt.Sprintf(`"command": %%s in mcpServers.%s`, sc.Name)
		program, how, err := commandOf(sc).OnDesktop()
		here, hereErr := exec.LookPath(sc.Command)
		switch {
		case err == nil && strings.ContainsAny(sc.Command, `/\`) && !filepath.IsAbs(sc.Command) && sc.Cwd == "":
			here, _ = filepath.Abs(here)
			d.add(look, warning, sc.Name, fmt.Sprintf("%q is a path from the folder in which a client starts rlmproxy", sc.Command), fmt.Sprintf(entry, show.Quote(here)))
		case err == nil && how == process.ByLoginShell:
			d.add(look, warning, sc.Name, fmt.Sprintf("%q is found by asking the login shell, which each start of the proxy waits for", sc.Command), fmt.Sprintf(entry, show.Quote(program)))
		case err != nil && hereErr == nil:
			here, _ = filepath.Abs(here)
			d.add(look, warning, sc.Name, fmt.Sprintf("%q is found by the PATH of this terminal, but not by that of a client on the desktop", sc.Command), fmt.Sprintf(entry, show.Quote(here)))
		case err != nil:
			text, cure, _ := strings.Cut(err.Error(), "; ")
			if cure == "" || strings.Contains(cure, "whole path") {
				cure = fmt.Sprintf("install it, or where it is, "+entry, `"/whole/path/of/it"`)
			}
			if install := installs[strings.TrimSuffix(filepath.Base(sc.Command), ".exe")]; install != "" {
				cure = strings.Replace(cure, "install it", install, 1)
			}
			d.told[sc.Name] = true
			d.add(look, fault, sc.Name, text, cure)
		}
	}
	look.Text = show.Plural(n, "commands")
}

// installs is what brings commands that servers are often started by.
var installs = map[string]string{
	"npx": "install Node.js, https://nodejs.org", "node": "install Node.js, https://nodejs.org", "npm": "install Node.js, https://nodejs.org",
	"uvx": "install uv, https://docs.astral.sh/uv", "uv": "install uv, https://docs.astral.sh/uv",
	"docker": "install Docker, https://docs.docker.com/get-docker", "bunx": "install Bun, https://bun.sh", "deno": "install Deno, https://deno.com",
}

// await waits for the servers. On a terminal a line tells for which.
func (d *doctor) await(ctx context.Context, s *stack) error {
	words := io.Writer(d.cli.log)
	if terminal(d.cli.stderr) {
		words = io.Discard
		stop, stopped := make(chan struct{}), make(chan struct{})
		defer func() {
			close(stop)
			<-stopped
			fmt.Fprint(d.cli.stderr, "\r\x1b[K")
		}()
		go func() {
			defer close(stopped)
			for tick := time.NewTicker(100 * time.Millisecond); ; {
				select {
				case <-tick.C:
					var names []string
					for _, r := range s.list() {
						if state, _ := r.up.State(); state == upstream.Connecting {
							names = append(names, r.entry.Name)
						}
					}
					line := visible(show.Clip(strings.Join(names, ", "), 50))
					fmt.Fprintf(d.cli.stderr, "\r\x1b[K%d of %d servers have answered, waiting for %s …", len(s.list())-len(names), len(s.list()), line)
				case <-stop:
					tick.Stop()
					return
				}
			}
		}()
	}
	_ = s.settle(ctx, words, slog.New(slog.DiscardHandler), nil) // that none is connected is for servers to tell
	return ctx.Err()
}

// servers looks at what has become of each.
func (d *doctor) servers(s *stack) {
	look := d.begin("servers")
	ready, all := 0, 0
	revisions := map[string]int{}
	for _, r := range s.list() {
		sc := r.entry
		state, err := s.state(r)
		report := serverReport{Name: sc.Name, State: state.String()}
		switch state {
		case upstream.Disabled:
			d.Servers = append(d.Servers, report)
			continue
		case upstream.Ready, upstream.Quarantined:
			ready++
			if info := r.up.Info(); info != nil {
				report.Protocol = visible(info.ProtocolVersion)
				revisions[report.Protocol]++
				if i := info.ServerInfo; i != nil {
					report.Software = visible(show.Clip(scan.Line(strings.TrimSpace(i.Name+" "+i.Version)), 60))
				}
			}
		case upstream.Connecting:
			d.add(look, fault, sc.Name, fmt.Sprintf("no answer within %v", settleTime), d.slow(sc))
		default:
			if look.Level = fault; !d.told[sc.Name] {
				text, cure := d.failure(sc, err)
				d.add(look, fault, sc.Name, text, cure)
			}
		}
		all++
		d.Servers = append(d.Servers, report)
	}
	look.Text = fmt.Sprintf("%d of %d connected", ready, all)
	for _, v := range slices.Backward(slices.Sorted(maps.Keys(revisions))) {
		look.Text += fmt.Sprintf(", %d by protocol %s", revisions[v], v)
	}
}

// maxCatalogue is how many tokens of definitions go by without a word: a tenth of the
// context of 200,000 tokens that many models have.
const maxCatalogue = 20_000

// catalogues looks at the tools that agents get.
func (d *doctor) catalogues(s *stack) error {
	names, pins, definitions, cost := d.begin("names"), d.begin("pins"), d.begin("definitions"), d.begin("tokens")
	var biggest middleware.Catalogue
	all, held, total, most, owner := 0, 0, 0, 0, ""
	for i := range d.Servers {
		report := &d.Servers[i]
		cat, err := s.server.Catalogue(report.Name)
		if err != nil {
			return err
		}
		for _, t := range cat.Tools {
			n, _ := tokens.Count(t.Definition)
			report.Tokens += n
		}
		report.Tools = len(cat.Tools)
		all, held, total = all+report.Tools, held+len(cat.Held), total+report.Tokens
		if report.Tokens > most {
			biggest, most, owner = cat, report.Tokens, report.Name
		}
		if r := s.running(report.Name); r != nil {
			d.names(names, r.entry, cat)
			d.globs(names, r)
		}
		if cat.Held != nil {
			d.add(pins, warning, report.Name, "held back until you accept them: "+someOf(cat.Held), cat.Review+"; where that shows nothing, start your client once, and look again")
		}
		for _, odd := range s.server.Oddities(report.Name) {
			d.add(definitions, warning, report.Name, odd, fmt.Sprintf(`read it; if it means harm, "disabled": true in mcpServers.%s`, report.Name))
		}
	}
	for _, odd := range s.server.LookAlikes() {
		d.add(definitions, warning, "", odd, `keep the one that you mean: "deny" in the entry of the other server`)
	}
	names.Text = show.Plural(all, "tools")
	pins.Text = show.Plural(held, "tools") + " held back"
	definitions.Text = "searched for instructions that are hidden from you"
	cost.Text = show.Count(total) + " in the definitions of tools, for every conversation"
	if total > maxCatalogue {
		slices.SortStableFunc(biggest.Tools, func(a, b middleware.Offered) int { return cmp.Compare(len(b.Definition), len(a.Definition)) })
		var largest []string
		for _, t := range biggest.Tools[:min(3, len(biggest.Tools))] {
			largest = append(largest, show.Quote(t.Tool))
		}
		d.add(cost, warning, owner, fmt.Sprintf("its tools have %s of the %s tokens", show.Count(most), show.Count(total)),
			fmt.Sprintf(`leave out tools that you do not use, such as "deny": [%s] in mcpServers.%s; rlmproxy tools%s shows what each costs`, strings.Join(largest, ", "), owner, d.flags))
	}
	return nil
}

// someOf are at most three of list.
func someOf(list []string) string {
	if len(list) <= 3 {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:3], ", "), len(list)-3)
}

const (
	maxToolName = 64 // that model APIs take
	// maxWithServer is what Cursor takes of the name of a tool and that of its server, which
	// we are.
	maxWithServer = 60 - len("rlmproxy")
)

// names looks at what a server's tools are called for agents.
func (d *doctor) names(look *check, sc config.Server, cat middleware.Catalogue) {
	var long, wide, taken []string
	longest := 0
	for _, t := range cat.Tools {
		longest = max(longest, len([]rune(t.Tool)))
		switch {
		case t.TooLong:
			long = append(long, t.Name)
		case t.Why != "":
			taken = append(taken, fmt.Sprintf("%s (%s)", t.Name, t.Why))
		case len(t.Name) > maxWithServer:
			wide = append(wide, t.Name)
		}
	}
	if long != nil {
		d.add(look, warning, sc.Name, fmt.Sprintf("names of over %d characters end in a hash: %s", maxToolName, someOf(long)), shorter(sc, longest))
	}
	if wide != nil {
		d.add(look, warning, sc.Name, fmt.Sprintf("names of over %d characters, which Cursor leaves out: %s", maxWithServer, someOf(wide)), shorter(sc, longest))
	}
	if taken != nil {
		d.add(look, warning, sc.Name, "names that are taken end in a hash: "+someOf(taken), fmt.Sprintf(`"prefix": %s in mcpServers.%s`, show.Quote(sc.Name+"2"), sc.Name))
	}
	if cat.LeftOut.N > 0 {
		d.add(look, warning, sc.Name, fmt.Sprintf("%s left out: %s (%s)", show.Plural(cat.LeftOut.N, "tools"), someOf(cat.LeftOut.Names), cat.LeftOut.Why), "tell the author of the server; the others work")
	}
}

// shorter is the prefix with which a server's longest tool has a name for everybody.
func shorter(sc config.Server, longest int) string {
	prefix := []rune(sc.Name)
	if sc.Prefix != nil {
		prefix = []rune(*sc.Prefix)
	}
	for _, most := range []int{maxWithServer, maxToolName} {
		if room := most - longest - 1; room > 0 && len(prefix) > 0 {
			return fmt.Sprintf(`"prefix": %s in mcpServers.%s`, show.Quote(strings.TrimRight(string(prefix[:min(room, len(prefix))]), "_-. ")), sc.Name)
		} else if longest <= most && len(prefix) > 0 {
			return fmt.Sprintf(`"prefix": "" in mcpServers.%s`, sc.Name)
		}
	}
	return fmt.Sprintf(`nothing, if agents can call it; else leave it out by "deny" in mcpServers.%s`, sc.Name)
}

// globs looks for those of a server's entry that match none of its tools.
func (d *doctor) globs(look *check, r *server) {
	var has []string
	for _, t := range r.up.Tools() {
		has = append(has, t.Name)
	}
	if has == nil {
		return
	}
	sc := r.entry
	for _, setting := range []struct {
		name  string
		globs []string
	}{{"allow", sc.Allow}, {"deny", sc.Deny}, {"freshCalls", sc.FreshCalls}, {"tools", slices.Sorted(maps.Keys(sc.Tools))}} {
		for _, glob := range setting.globs {
			if !slices.ContainsFunc(has, func(tool string) bool { return rights.Match([]string{glob}, tool) }) {
				d.add(look, warning, sc.Name, fmt.Sprintf("%q has %q, which is none of its tools", setting.name, glob), "correct it: its tools are "+someOf(has))
			}
		}
	}
}

// versions tells which programs take part.
func (d *doctor) versions(ctx context.Context) {
	look := d.begin("versions")
	look.Text = fmt.Sprintf("rlmproxy %s, %s, %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	node := slices.IndexFunc(d.enabled(), func(sc config.Server) bool {
		name := strings.TrimSuffix(filepath.Base(sc.Command), ".cmd")
		return name == "npx" || name == "node" || name == "npm"
	})
	if node < 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if said := strings.TrimSpace(string(out)); err == nil && len(said) < 40 {
		look.Text += ", node " + visible(said)
		var major int
		if _, err := fmt.Sscanf(said, "v%d", &major); err == nil && major < oldestNode {
			d.add(look, warning, "", "node "+said+" is too old for many servers", fmt.Sprintf("install Node.js %d or newer, https://nodejs.org", oldestNode))
		}
	}
}

// oldestNode is what the TypeScript SDK for servers needs.
const oldestNode = 18
