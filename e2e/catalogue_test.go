package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rlmproxy/config/catalogue"
)

// TestCatalogue adds each server of the catalogue that starts offline, and starts it: it is there,
// and has each tool that its policy names. One with a policy for a tool that is none shows that
// this would be seen.
func TestCatalogue(t *testing.T) {
	const wrong = "wrong"
	own := filepath.Join(t.TempDir(), "own.json")
	const entry = `{"entries":{"wrong":{"description":"d","server":{"command":"npx","args":["-y","@modelcontextprotocol/server-memory"],"freshCalls":["read_grap"]}}}}`
	if err := os.WriteFile(own, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	environ := append(os.Environ(), "RLMPROXY_STATE_DIR="+t.TempDir(), "NOTION_TOKEN=none", "npm_config_offline=true",
		"PATH="+filepath.Dir(node22(t))+string(filepath.ListSeparator)+os.Getenv("PATH"))
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), binary, append(args, "--config", file)...)
		cmd.Env = environ
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Logf("%s: %v: %s", args, err, stderr.String())
		}
		return out, err
	}
	names := []string{wrong}
	if _, err := run("add", wrong, "--catalogue", own); err != nil {
		t.Fatal(err)
	}
	for _, name := range all.Names() {
		e := all[name]
		if !e.Offline {
			continue
		}
		for _, part := range strings.Split(string(e.Server), `"`) { // the package is there
			if strings.HasPrefix(part, "@") || part == "chrome-devtools-mcp" {
				if _, err := os.Stat(filepath.Join("node_modules", part)); err != nil {
					missing(t, name, err)
				}
			}
		}
		args := []string{"add", name}
		for range e.Parameters {
			args = append(args, t.TempDir())
		}
		if _, err := run(args...); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if len(names) < 11 {
		t.Errorf("%d servers start offline: %s", len(names), names)
	}
	out, _ := run("doctor", "--json")
	var report struct {
		Servers []struct {
			Name, State string
			Tools       int
		}
		Checks []struct {
			Check    string
			Findings []struct{ Server, Text string }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ready := 0
	for _, s := range report.Servers {
		if s.State == "ready" && s.Tools > 0 {
			ready++
		}
	}
	if ready != len(names) {
		t.Errorf("%d of %d servers are ready: %+v", ready, len(names), report.Servers)
	}
	var unmatched []string
	for _, check := range report.Checks {
		for _, f := range check.Findings {
			if strings.Contains(f.Text, "matches none of its tools") {
				unmatched = append(unmatched, f.Server+": "+f.Text)
			}
		}
	}
	if want := []string{`wrong: "freshCalls" has "read_grap", which matches none of its tools`}; !slices.Equal(unmatched, want) {
		t.Errorf("got %q, want %q", unmatched, want)
	}
}

// TestCatalogueStanding: what an entry leaves out of results is gone from what real servers
// return, and nothing else is.
func TestCatalogueStanding(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.json")
	environ := append(os.Environ(), "RLMPROXY_STATE_DIR="+t.TempDir(), "RLMPROXY_MAX_RESPONSE_TOKENS=20000", "npm_config_offline=true",
		"PATH="+filepath.Dir(node22(t))+string(filepath.ListSeparator)+os.Getenv("PATH"))
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, append(args, "--config", file)...)
		cmd.Env = environ
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		return string(out)
	}
	run("add", "dbhub-demo")
	for _, tt := range []struct{ tool, args, has, lacks string }{
		{"dbhub-demo_execute_sql", `{"sql":"select emp_no, first_name, last_name from employee limit 30"}`, `"first_name":`, "select emp_no"},
		{"dbhub-demo_search_objects", `{"object_type":"table","detail_level":"full"}`, `"columns":`, `"detail_level"`},
	} {
		got := run("call", tt.tool, tt.args)
		if !strings.Contains(got, "fields chosen by the operator") || !strings.Contains(strings.ReplaceAll(got, `": `, `":`), tt.has) || strings.Contains(got, tt.lacks) {
			t.Errorf("%s: %.600s", tt.tool, got)
		}
	}
}
