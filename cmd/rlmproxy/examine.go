package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"rlmproxy/middleware/pin"
	"rlmproxy/middleware/upstream"
	"rlmproxy/middleware/upstream/process"
	"rlmproxy/pipeline/show"
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
	if cfg.SubModel != nil && cfg.SubModel.Key != "" {
		secrets = append(secrets, cfg.SubModel.Key)
	}
	r.mask = masks(secrets)
	if f := cmd.Flags().Lookup("state-dir"); f.Changed {
		d.flags = " --state-dir " + pin.Quoted(f.Value.String())
	}
	if cfg.Path != "" {
		d.flags = " --config " + pin.Quoted(cfg.Path) + d.flags
	}
	d.folders()
	d.store(cmd.Context())
	d.madeTools(cmd.Context())
	d.http()
	d.subModel(cmd.Context())
	looking := c.log.Progress(func() string { return "looking for commands" })
	s, failed := d.start(cmd)
	d.commands()
	looking()
	if failed != nil {
		d.fails(d.begin("servers"), failed)
	} else {
		defer s.close()
		_ = s.settle(cmd.Context(), c.log.Waiting, slog.New(slog.DiscardHandler), nil) // that none is connected is for servers to tell
		if err := cmd.Context().Err(); err != nil {
			return nil, err
		}
		defer c.log.Progress(func() string { return "looking at what servers offer" })()
		d.servers(s)
		if err := d.catalogues(s); err != nil {
			return nil, err
		}
	}
	d.versions(cmd.Context())
	for _, look := range r.Checks {
		look.Text = plain(look.Text)
	}
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
	look.Text = "state in " + dir
	if err != nil {
		look.Text = "no state folder"
		d.add(look, fault, "", "there is no state folder: "+err.Error(), `set "stateDir" in proxySettings, or RLMPROXY_STATE_DIR`)
	}
	if err != nil || !d.folder(look, "stateDir", dir, dir, filepath.Join(dir, "pins"), filepath.Join(dir, "lists"), filepath.Join(dir, "oauth"), filepath.Join(dir, "ui")) {
		p.PinTools, p.Quarantine = false, false
		for i := range d.cfg.Servers {
			d.cfg.Servers[i].PinTools, d.cfg.Servers[i].Quarantine = nil, nil
		}
	}
	if err := oneCache(*p); err != nil {
		d.fails(look, err)
	}
	if p.CacheDir != "" {
		look.Text += ", results in " + p.CacheDir
		if _, err := os.Stat(p.CacheDir); d.folder(look, "cacheDir", p.CacheDir, p.CacheDir) && err == nil {
			store, _, err := openStore(d.cfg, nil, nobody, slog.New(slog.DiscardHandler))
			if err != nil {
				d.fails(look, err)
			} else {
				store.Close()
			}
		}
	}
	if p.AuditFile != "" && p.AuditFile != config.Stderr {
		look.Text += ", audit log in " + p.AuditFile
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
		d.add(look, fault, "", setting+": other users can write to "+strings.Join(open, ", "), "chmod 700 "+strings.Join(open, " "))
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
		look.Text = "nobody can connect"
		text, cure, _ := strings.Cut(err.Error(), "; ")
		d.add(look, fault, "", text, cmp.Or(cure, "name a file that you can read, with a line for each agent, as in alice: TOKEN"))
		return
	}
	look.Text = "no token is needed"
	if w.guard.Authenticates() {
		look.Text = show.Plural(len(w.tokens), "tokens")
		if p.HTTPJWTIssuer != "" {
			look.Text += ", and tokens of " + p.HTTPJWTIssuer
		}
	}
	if w.warned != "" {
		d.add(look, warning, "", strings.TrimSuffix(w.warned, "; chmod 600 keeps them private"), "chmod 600 "+pin.Quoted(p.HTTPTokensFile))
	}
	_, pipe := pipeRights(d.cfg)
	if _, err := httpRights(d.cfg, w.guard); err != nil && pipe != nil { // neither way in
		d.fails(look, pipe)
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
		entry := fmt.Sprintf(`set "command": %%s in mcpServers.%s`, sc.Name)
		program, how, err := commandOf(sc).OnDesktop()
		here, hereErr := exec.LookPath(sc.Command)
		switch {
		case err == nil && strings.ContainsAny(sc.Command, `/\`) && !filepath.IsAbs(sc.Command) && sc.Cwd == "":
			here, _ = filepath.Abs(here)
			d.add(look, warning, sc.Name, fmt.Sprintf("%q is relative to the folder in which a client starts rlmproxy", sc.Command), fmt.Sprintf(entry, show.Quote(here)))
		case err == nil && how == process.ByLoginShell:
			d.add(look, warning, sc.Name, fmt.Sprintf("%q is in the PATH of the login shell only, which slows each start of the proxy", sc.Command), fmt.Sprintf(entry, show.Quote(program)))
		case err != nil && hereErr == nil:
			here, _ = filepath.Abs(here)
			d.add(look, warning, sc.Name, fmt.Sprintf("%q is in the PATH of this terminal, but not in that of a client on the desktop", sc.Command), fmt.Sprintf(entry, show.Quote(here)))
		case err != nil:
			text, cure, _ := strings.Cut(err.Error(), "; ")
			if cure == "" || strings.Contains(cure, "whole path") {
				cure = fmt.Sprintf("install it, or "+entry, `"/whole/path/of/it"`)
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
				report.Protocol = plain(info.ProtocolVersion)
				revisions[report.Protocol]++
				if i := info.ServerInfo; i != nil {
					report.Software = plain(show.Clip(strings.TrimSpace(i.Name+" "+i.Version), 60))
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
		look.Text += fmt.Sprintf(", %d with protocol %s", revisions[v], v)
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
		look.Text += ", node " + said
		var major int
		if _, err := fmt.Sscanf(said, "v%d", &major); err == nil && major < oldestNode {
			d.add(look, warning, "", "node "+said+" is too old for many servers", fmt.Sprintf("install Node.js %d or newer, https://nodejs.org", oldestNode))
		}
	}
}

// oldestNode is what the TypeScript SDK for servers needs.
const oldestNode = 18
