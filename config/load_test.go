package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// defaultProxy is what an empty configuration gives.
func defaultProxy() Proxy {
	return Proxy{
		MaxResponseTokens: 2000, MaxResponseTokensByKind: map[string]int{"source": 6000, "markdown": 6000, "config": 6000, "diff": 6000}, MaxWholeTokens: 25_000,
		EnableAutoTruncation: true, EnableLossless: true, EnableDifferences: true, EnableHealing: true, EnableHandles: true, CacheTTL: time.Hour, EnableAgentIsolation: true,
		MaxEntriesPerAgent: 20, MaxMemoryPerAgent: 100 << 20, MaxMemory: 320 << 20, MaxTotalAgents: 1000,
		MaxCallsPerAgent: 256, MaxBytesPerAgent: 64 << 20, MaxStreamsPerAgent: 100, MaxSubscriptionsPerAgent: 1000, MaxConnectionsPerAgent: 1024,
		Redact: "off", FreshCalls: "ask", Exposure: "auto", MaxCatalogueTokens: 20_000, PinTools: true, KeepLists: true, KeepStats: true, MaxLineBytes: 64 << 20, CallTimeout: time.Minute, JQTimeout: 5 * time.Second, JQMemory: 768 << 20,
		SearchTimeout: 5 * time.Second, AuditMaxSize: 100 << 20, AuditFiles: 5, AuditContent: "none", LogLevel: "info", HTTPJWTAgentClaim: "sub", HTTPSocketMode: 0o600,
		SessionIdle: 30 * time.Minute, SessionResume: 10 * time.Second, Drain: 5 * time.Second, FleetName: "rlmproxy",
		AskTokens: 500_000, AskCalls: 500, AskTimeout: 5 * time.Minute, AskTokensPerHour: 2_000_000, AskCallsPerHour: 2000, ContainerImage: "docker.io/library/node:22-slim",
	}
}

// proxy is defaultProxy changed by edit. Who sets the limit means all kinds.
func proxy(edit func(*Proxy)) Proxy {
	p := defaultProxy()
	edit(&p)
	if p.MaxResponseTokens != 2000 {
		p.MaxResponseTokensByKind = nil
	}
	return p
}

// TestInspect: what has no mistake is there to be looked at beside what has.
func TestInspect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	data := `{"mcpServers": {"a": {"comand": "x"}, "b": {"command": "x"}, "c": {"command": "x", "env": {"K": "${keyring:k}"}}},
		"proxySettings": {"maxResponseTokens": -1, "callTimeout": 5}}`
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := Options{Path: path, Keyring: func(string, string) (string, error) { return "", errors.New("none; set it") }}
	c, err := Inspect(opts)
	if list, ok := errors.AsType[ErrorList](err); !ok || len(list) != 3 || list[1].Hint != "set it" {
		t.Fatalf("%v", err)
	}
	if len(c.Servers) != 1 || c.Servers[0].Name != "b" || c.Servers[0].Timeout != 5*time.Second || c.Proxy.MaxResponseTokens != 2000 {
		t.Errorf("%+v", c)
	}
	if c, err := Load(opts); c != nil || err == nil {
		t.Errorf("loaded: %+v, %v", c, err)
	}
}

func TestMistakesGolden(t *testing.T) {
	_, err := Load(Options{Path: "testdata/mistakes.json", Environ: []string{"RLMPROXY_MAX_MEMORY=lots"}})
	list, ok := errors.AsType[ErrorList](err)
	if !ok {
		t.Fatalf("error is %T %v, want an ErrorList", err, err)
	}
	got := list.Error() + "\n"
	const golden = "testdata/mistakes.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if strings.Contains(got, "hunter2") || strings.Contains(got, "12345") {
		t.Error("a secret is shown")
	}
}

func TestPredecessorFiles(t *testing.T) {
	tests := []struct {
		file    string
		servers string
		proxy   Proxy
	}{
		{"predecessor-full.json", "filesystem api_server_v2 uv-server", proxy(func(p *Proxy) {
			p.MaxResponseTokens, p.MaxResponseSize, p.CacheMaxEntries, p.CacheTTL = 0, 8000, 50, 5*time.Minute
		})},
		{"predecessor-plain.json", "everything playwright", defaultProxy()},
		{"predecessor-shared.json", "a", proxy(func(p *Proxy) {
			p.MaxResponseTokens, p.MaxResponseSize = 0, 12000
			p.CacheMaxEntries, p.MaxEntriesPerAgent, p.EnableAgentIsolation = 50, 50, false
		})},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			c, err := Load(Options{Path: tt.file, Dir: "testdata"})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range c.Servers {
				names = append(names, s.Name)
				if s.Type != "stdio" || s.Command != strings.TrimSpace(s.Command) || s.Timeout != time.Minute {
					t.Errorf("server %+v", s)
				}
			}
			if got := strings.Join(names, " "); got != tt.servers {
				t.Errorf("servers %q, want %q", got, tt.servers)
			}
			if diff := cmp.Diff(tt.proxy, c.Proxy); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(c.Warnings) > 0 {
				t.Errorf("warnings %q", c.Warnings)
			}
		})
	}
}

func TestOtherHosts(t *testing.T) {
	c, err := Load(Options{Path: "testdata/hosts.json", Environ: []string{"KEY=hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Server{
		{Name: "cline", Type: "stdio", Command: "npx", Timeout: 90 * time.Second},
		{Name: "cursor", Type: "stdio", Command: "npx"},
		{Name: "windsurf", URL: "https://example.com/sse", Deny: []string{"delete_*"}},
		{Name: "gemini", Type: "http", URL: "https://example.com/mcp", Allow: []string{"read"}, Timeout: 600000 * time.Second},
		{Name: "roo", Type: "http", URL: "https://example.com/mcp", Headers: map[string]string{"X-Key": "hunter2"}},
		{Name: "copilot", Type: "stdio", Command: "npx", Allow: []string{"*"}},
		{Name: "off", Type: "stdio", Command: "npx", Disabled: true, Env: map[string]string{"KEY": "${MISSING}"}},
		{Name: "wondering", Type: "stdio", Command: "npx"},
	}
	for i := range want {
		if want[i].Timeout == 0 {
			want[i].Timeout = time.Minute
		}
	}
	if diff := cmp.Diff(want, c.Servers, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantWarnings := []string{
		"testdata/hosts.json:8:106: mcpServers.gemini.timeout: counted in seconds, this is 166h40m0s",
		`testdata/hosts.json:12:37: mcpServers.wondering.colour: unknown key, ignored`,
	}
	if diff := cmp.Diff(wantWarnings, c.Warnings); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestExample checks the file that people copy, and that its proxySettings
// are the defaults, as it says.
func TestExample(t *testing.T) {
	c, err := Load(Options{Path: "../mcp.json.example"})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Servers) != 4 || len(c.Warnings) > 0 {
		t.Errorf("%d servers, warnings %q", len(c.Servers), c.Warnings)
	}
	if diff := cmp.Diff(defaultProxy(), c.Proxy); diff != "" {
		t.Errorf("not the defaults (-want +got):\n%s", diff)
	}
}

func TestFind(t *testing.T) {
	inEnviron := []string{"RLMPROXY_CONFIG=env.json"}
	tests := []struct {
		name  string
		files string // that exist
		opts  Options
		want  string
	}{
		{"user", "user/rlmproxy/mcp.json", Options{}, "user/rlmproxy/mcp.json"},
		{"folder before user", "mcp.json user/rlmproxy/mcp.json", Options{}, "mcp.json"},
		{"variable before folder", "mcp.json env.json", Options{Environ: inEnviron}, "env.json"},
		{"empty variable", "mcp.json", Options{Environ: []string{"RLMPROXY_CONFIG="}}, "mcp.json"},
		{"flag before variable", "mcp.json env.json flag.json", Options{Environ: inEnviron, Path: "flag.json"}, "flag.json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range strings.Fields(tt.files) {
				write(t, filepath.Join(dir, name), `{"mcpServers": {"a": {"command": "x"}}}`)
			}
			tt.opts.Dir, tt.opts.UserConfigDir = dir, filepath.Join(dir, "user")
			c, err := Load(tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(dir, tt.want); c.Path != want {
				t.Errorf("found %s, want %s", c.Path, want)
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestNoConfig(t *testing.T) {
	dir := t.TempDir()
	c, err := Load(Options{Dir: dir, UserConfigDir: "/nowhere", Environ: []string{"RLMPROXY_LOG_LEVEL=debug"}})
	if !errors.Is(err, ErrNoConfig) {
		t.Fatalf("error %v, want ErrNoConfig", err)
	}
	for _, place := range []string{filepath.Join(dir, "mcp.json"), "/nowhere/rlmproxy/mcp.json"} {
		if !strings.Contains(err.Error(), place) {
			t.Errorf("%q does not name %s", err, place)
		}
	}
	if c == nil || c.Path != "" || c.Proxy.LogLevel != "debug" {
		t.Errorf("config %+v, want the settings of the environment", c)
	}
	if _, err := Load(Options{Path: "gone.json", Dir: dir}); !errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrNoConfig) {
		t.Errorf("named file: error %v, want ErrNotExist", err)
	}
	if _, err := Load(Options{Path: dir}); err == nil {
		t.Error("a folder was loaded")
	}
}

func TestLayers(t *testing.T) {
	tests := []struct {
		name           string
		file, env, arg string
		want           Proxy
	}{
		{"defaults", ``, "", "", defaultProxy()},
		{"file", `"maxResponseTokens": 1e3`, "", "", proxy(func(p *Proxy) { p.MaxResponseTokens = 1000 })},
		{"env over file", `"maxResponseTokens": 100`, "RLMPROXY_MAX_RESPONSE_TOKENS=200", "", proxy(func(p *Proxy) { p.MaxResponseTokens = 200 })},
		{"flag over env", `"maxResponseTokens": 100`, "RLMPROXY_MAX_RESPONSE_TOKENS=200", "--max-response-tokens=300", proxy(func(p *Proxy) { p.MaxResponseTokens = 300 })},
		{"empty variable", ``, "RLMPROXY_MAX_RESPONSE_TOKENS=", "", defaultProxy()},
		{"older spelling", `"maxResponseSize": 900`, "", "", proxy(func(p *Proxy) { p.MaxResponseTokens, p.MaxResponseSize = 0, 900 })},
		{"both spellings", `"maxResponseSize": 900, "maxResponseTokens": 800`, "", "", proxy(func(p *Proxy) { p.MaxResponseTokens = 800 })},
		{"later spelling", `"maxResponseTokens": 800`, "", "--max-response-size=900", proxy(func(p *Proxy) { p.MaxResponseTokens, p.MaxResponseSize = 0, 900 })},
		{"later tokens", `"maxResponseSize": 900`, "RLMPROXY_MAX_RESPONSE_TOKENS=800", "", proxy(func(p *Proxy) { p.MaxResponseTokens = 800 })},
		{"by kind", `"maxResponseTokensByKind": {"log": 500, "diff": 0}`, "", "", proxy(func(p *Proxy) {
			p.MaxResponseTokensByKind["log"], p.MaxResponseTokensByKind["diff"] = 500, 0
		})},
		{"by kind, with the limit", `"maxResponseTokens": 2000, "maxResponseTokensByKind": {"log": 500}`, "", "", proxy(func(p *Proxy) {
			p.MaxResponseTokensByKind = map[string]int{"log": 500}
		})},
		{"by kind, flag", ``, "", "--max-response-tokens-by-kind=log=500, json=3000", proxy(func(p *Proxy) {
			p.MaxResponseTokensByKind["log"], p.MaxResponseTokensByKind["json"] = 500, 3000
		})},
		{"a later limit is that of all kinds", `"maxResponseTokensByKind": {"log": 500}`, "RLMPROXY_MAX_RESPONSE_TOKENS=300", "", proxy(func(p *Proxy) { p.MaxResponseTokens = 300 })},
		{"size zero", `"maxResponseSize": 0`, "", "", defaultProxy()},
		{"bytes", `"maxMemoryPerAgent": 2097152, "maxMemory": "1.5 GiB"`, "", "", proxy(func(p *Proxy) { p.MaxMemoryPerAgent, p.MaxMemory = 2<<20, 3<<29 })},
		{"durations", `"cacheTTLSeconds": 1.5, "callTimeout": "2m"`, "RLMPROXY_JQ_TIMEOUT=7", "", proxy(func(p *Proxy) {
			p.CacheTTL, p.CallTimeout, p.JQTimeout = 3*time.Second/2, 2*time.Minute, 7*time.Second
		})},
		{"bare boolean flag", `"enableAutoTruncation": false`, "", "--enable-auto-truncation", defaultProxy()},
		{"boolean variable", ``, "RLMPROXY_ENABLE_AUTO_TRUNCATION=off", "", proxy(func(p *Proxy) { p.EnableAutoTruncation = false })},
		{"word in capitals", ``, "RLMPROXY_LOG_LEVEL=WARN", "", proxy(func(p *Proxy) { p.LogLevel = "warn" })},
		{"initials", ``, "RLMPROXY_CACHE_TTL_SECONDS=60", "", proxy(func(p *Proxy) { p.CacheTTL = time.Minute })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			flags.String("unrelated", "x", "")
			RegisterFlags(flags)
			if tt.arg != "" {
				if err := flags.Parse([]string{tt.arg, "--unrelated=y"}); err != nil {
					t.Fatal(err)
				}
			}
			data := `{"mcpServers": {"a": {"command": "x"}}, "proxySettings": {` + tt.file + `}}`
			c, err := load("mcp.json", "/etc/mcp.json", []byte(data), Options{Environ: []string{tt.env}, Flags: flags})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, c.Proxy); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if c.Servers[0].Timeout != c.Proxy.CallTimeout {
				t.Errorf("timeout %v, want %v", c.Servers[0].Timeout, c.Proxy.CallTimeout)
			}
		})
	}
}

// TestNoSuchFile: a file that is named wrongly is reported with what to do.
func TestNoSuchFile(t *testing.T) {
	dir := t.TempDir()
	gone := filepath.Join(dir, "gone.json")
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{Path: "gone.json", Dir: dir}, "gone.json: no such file or directory; --config names " + gone},
		{Options{Environ: []string{"RLMPROXY_CONFIG=gone.json"}, Dir: dir}, "gone.json: no such file or directory; RLMPROXY_CONFIG names " + gone},
		{Options{Path: dir}, dir + ": a folder, not a file; name a file in it, such as " + filepath.Join(dir, "mcp.json")},
	} {
		_, err := Load(c.opts)
		if err == nil || strings.ReplaceAll(err.Error(), "The system cannot find the file specified.", "no such file or directory") != c.want {
			t.Errorf("%+v:\n got %v\nwant %s", c.opts, err, c.want)
		}
	}
}
