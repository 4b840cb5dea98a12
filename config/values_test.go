package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestExpand(t *testing.T) {
	vars := newVariables([]string{"A=1", "EMPTY=", "NESTED=${A}", "A=2", "nonsense"}, "")
	tests := []struct{ in, want, missing string }{
		{"plain $A", "plain $A", ""},
		{"<${A}>", "<2>", ""},
		{"${A}${A}", "22", ""},
		{"${env:A}", "2", ""},
		{"${NESTED}", "${A}", ""},
		{"${EMPTY}", "", ""},
		{"${EMPTY:-x}", "x", ""},
		{"${NONE:-}", "", ""},
		{"${NONE:-a b}", "a b", ""},
		{"${NONE} ${A}", "${NONE} 2", "${NONE}"},
		{"${file:-x}${keyring:-y}", "xy", ""}, // variables of these names
		{"${input:key} ${} ${1} ${A", "${input:key} ${} ${1} ${A", ""},
	}
	for _, tt := range tests {
		e := vars.expand(tt.in)
		if e.text != tt.want || strings.Join(e.missing, " ") != tt.missing {
			t.Errorf("%q: %q missing %q, want %q missing %q", tt.in, e.text, e.missing, tt.want, tt.missing)
		}
	}
}

func TestServerValues(t *testing.T) {
	environ := []string{"HOME=/home/ann", "BIN=tool", "URL=https://example.com", "BAD=ftp://example.com"}
	tests := []struct {
		name, entry string
		want        Server // without Name and Timeout
		warn        string
	}{
		{"everywhere", `"command": "${BIN}", "args": ["${BIN}"], "env": {"K": "${BIN}"}`, Server{Type: "stdio", Command: "tool", Args: []string{"tool"}, Env: map[string]string{"K": "tool"}}, ""},
		{"URL", `"url": "${URL}/mcp", "headers": {"K": "${BIN}"}`, Server{URL: "https://example.com/mcp", Headers: map[string]string{"K": "tool"}}, ""},
		{"undefined", `"url": "${NONE}/mcp"`, Server{URL: "${NONE}/mcp"}, "mcp.json:1:30: mcpServers.a.url: ${NONE} is not set, and stays as written; " + unset("${NONE}")},
		{"undefined in env", `"command": "x", "env": {"K": "hunter2 ${NONE}"}`, Server{Type: "stdio", Command: "x", Env: map[string]string{"K": "hunter2 ${NONE}"}}, "mcp.json:1:46: mcpServers.a.env.K: ${NONE} is not set, and stays as written; " + unset("${NONE}")},
		{"home", `"command": "~/bin/x", "cwd": "~/work"`, Server{Type: "stdio", Command: "/home/ann/bin/x", Cwd: "/home/ann/work"}, ""},
		{"relative cwd", `"command": "x", "cwd": "../work"`, Server{Type: "stdio", Command: "x", Cwd: "/etc/work"}, ""},
		{"absolute cwd", `"command": "x", "cwd": "/srv"`, Server{Type: "stdio", Command: "x", Cwd: "/srv"}, ""},
		{"no prefix", `"command": "x", "prefix": ""`, Server{Type: "stdio", Command: "x", Prefix: new("")}, ""},
		{"null prefix", `"command": "x", "prefix": null, "url": null`, Server{Type: "stdio", Command: "x"}, ""},
		{"lists", `"command": "x", "allow": ["a*"], "deny": ["ab"], "freshCalls": ["a?"]`, Server{Type: "stdio", Command: "x", Allow: []string{"a*"}, Deny: []string{"ab"}, FreshCalls: []string{"a?"}}, ""},
		{"trust", `"command": "x", "trustHints": true, "pinTools": true, "quarantine": true`, Server{Type: "stdio", Command: "x", TrustHints: new(true), PinTools: new(true), Quarantine: new(true)}, ""},
		{"no trust", `"command": "x", "trustHints": false, "pinTools": false, "quarantine": null`, Server{Type: "stdio", Command: "x", TrustHints: new(false), PinTools: new(false)}, ""},
		{"tools", `"command": "x", "shape": true, "maxResponseTokens": 90, "tools": {"t*": {"shape": false, "fields": ["a.b"], "exclude": ["c"], "hide": ["k"]}}, "hide": ["s"], "redact": "report"`, Server{Type: "stdio", Command: "x", Shape: new(true), MaxResponseTokens: 90, Tools: map[string]Tool{"t*": {Shape: new(false), Fields: []string{"a.b"}, Exclude: []string{"c"}, Hide: []string{"k"}}}, Hide: []string{"s"}, Redact: "report"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := `{"mcpServers": {"a": {` + tt.entry + `}}}`
			c, err := load("mcp.json", "/etc/rlmproxy/mcp.json", []byte(data), Options{Environ: environ})
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Name, tt.want.Timeout = "a", time.Minute
			if diff := cmp.Diff(tt.want, c.Servers[0]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := strings.Join(c.Warnings, "\n"); got != tt.warn {
				t.Errorf("warnings %q, want %q", got, tt.warn)
			}
		})
	}
}

func TestSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want any // nil for a mistake
	}{
		{"2097152", int64(2 << 20)}, {"1e6", int64(1_000_000)}, {" 1.5 GiB ", int64(3 << 29)}, {"100MB", int64(100_000_000)}, {"100mib", int64(100 << 20)}, {"7b", int64(7)},
		{"", nil}, {"-1", nil}, {"0.5", nil}, {"0", nil}, {"MiB", nil}, {"NaN", nil}, {"Inf", nil}, {"100 quarts", nil}, {"1 EiB", nil}, {"99999999999999999999", nil}, {"1e300", nil}, {"\x00", nil},
	} {
		if got, want := size(1, 1<<50)(tt.text); got != tt.want || (want == "") != (tt.want != nil) {
			t.Errorf("%q: %v, %q; want %v", tt.text, got, want, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	tests := []struct{ got, want string }{
		{"comand", "command"}, {"Command", "command"}, {"ENV", "env"}, {"evn", "env"}, {"arg", "args"}, {"max_response_tokens", "maxResponseTokens"},
		{"colour", ""}, {"id", ""}, {"", ""}, {"--", ""}, {strings.Repeat("x", 1<<20), ""},
	}
	for _, tt := range tests {
		if got := nearest(tt.got, serverKeys); got != tt.want {
			t.Errorf("nearest(%.20q) = %q, want %q", tt.got, got, tt.want)
		}
	}
}

func TestSettingNames(t *testing.T) {
	tests := []struct{ name, env, flag string }{
		{"maxResponseTokens", "RLMPROXY_MAX_RESPONSE_TOKENS", "max-response-tokens"},
		{"cacheTTLSeconds", "RLMPROXY_CACHE_TTL_SECONDS", "cache-ttl-seconds"},
		{"jqTimeout", "RLMPROXY_JQ_TIMEOUT", "jq-timeout"},
	}
	for _, tt := range tests {
		if s := (Setting{Name: tt.name}); s.Env() != tt.env || s.Flag() != tt.flag {
			t.Errorf("%s: %s and %s, want %s and %s", tt.name, s.Env(), s.Flag(), tt.env, tt.flag)
		}
	}
}

// TestSettings holds the table to what it is shown for: every default is a
// value that can be written, and every usage fits a line of help.
func TestSettings(t *testing.T) {
	for _, s := range Settings() {
		if _, want := s.parse(s.Default); want != "" && s.Default != "" {
			t.Errorf("%s: the default %q is no value: want %s", s.Name, s.Default, want)
		}
		if s.Usage == "" || s.Unit == "" || strings.HasSuffix(s.Usage, ".") {
			t.Errorf("%s: usage %q, unit %q", s.Name, s.Usage, s.Unit)
		}
	}
}

func TestOutsideTheFile(t *testing.T) {
	tests := []struct {
		entry   string // of the environment
		warning string
		err     string
	}{
		{"RLMPROXY_MAX_RESPONSE_TOKEN=1", "", `RLMPROXY_MAX_RESPONSE_TOKEN: unknown variable; did you mean "RLMPROXY_MAX_RESPONSE_TOKENS"?`},
		{"RLMPROXY_HTTP_TOKEN=a:hunter2", "", `RLMPROXY_HTTP_TOKEN: unknown variable; did you mean "RLMPROXY_HTTP_TOKENS"?`},
		{"RLMPROXY_E2E=required", "RLMPROXY_E2E: unknown variable, ignored", ""},
		{"RLMPROXY_X=1", `RLMPROXY_X: unknown variable, ignored`, ""},
		{"RLMPROXY_CONFIG=/x", "", ""},
		{"RLMPROXY_LOG_LEVEL=loud", "", `RLMPROXY_LOG_LEVEL: expected one of debug, info, warn, error, found "loud"`},
		{"RLMPROXY_MAX_TOTAL_AGENTS=-1", "", `RLMPROXY_MAX_TOTAL_AGENTS: expected a whole number of at least 1, found "-1"`},
		{"RLMPROXY_CALL_TIMEOUT=2y", "", `RLMPROXY_CALL_TIMEOUT: expected seconds from 0.1 to 86400, such as 90 or "1m30s", found "2y"`},
		{"RLMPROXY_MAX_MEMORY=NaN", "", `RLMPROXY_MAX_MEMORY: expected bytes, at least 1 MiB, such as 104857600 or "100MiB", found "NaN"`},
		{"RLMPROXY_MAX_LINE_BYTES=2GiB", "", `RLMPROXY_MAX_LINE_BYTES: expected at most 1 GiB, found "2GiB"`},
	}
	for _, tt := range tests {
		c, err := load("mcp.json", "/mcp.json", []byte(valid), Options{Environ: []string{tt.entry}})
		switch {
		case tt.err != "" && (err == nil || err.Error() != tt.err):
			t.Errorf("%s: error %v, want %s", tt.entry, err, tt.err)
		case tt.err == "" && (err != nil || strings.Join(c.Warnings, "\n") != tt.warning):
			t.Errorf("%s: error %v, warnings %q, want %q", tt.entry, err, c.Warnings, tt.warning)
		}
	}
}

func TestFlagMistake(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	RegisterFlags(flags)
	err := flags.Parse([]string{"--log-level=loud"})
	const want = `invalid argument "loud" for "--log-level" flag: expected one of debug, info, warn, error`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}

	// A flag that the caller registered itself is checked by Load.
	flags = pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Int("max-total-agents", 0, "")
	if err := flags.Parse([]string{"--max-total-agents=-1"}); err != nil {
		t.Fatal(err)
	}
	_, err = load("mcp.json", "/mcp.json", []byte(valid), Options{Flags: flags})
	const wantLoad = `--max-total-agents: expected a whole number of at least 1, found "-1"`
	if err == nil || err.Error() != wantLoad {
		t.Errorf("error %v, want %s", err, wantLoad)
	}
}
