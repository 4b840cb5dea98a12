package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testRing is a keyring with one secret.
func testRing(_, name string) (string, error) {
	if name == "api" {
		return "of the ring", nil
	}
	return "", errors.New("not there")
}

// TestSecrets: files and the keyring stand in values as variables do, what they hold is
// known as a secret, and what the server is stays the same when they change.
func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"key": "hunter2 of 1\n", "crlf": "hunter2 of 2\r\n", "lines": "line one\nline two\n\n", "empty": "\n", "big": strings.Repeat("x", 65<<10), "zero": "a\x00b", "vars": "# ours\nexport TOKEN=\"hunter2 of 6\"\nB=$TOKEN.x\nMINE=theirs\n", "nonsense": "hunter2 of 7"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"HOME=" + dir, "API_TOKEN=hunter2 of 3", "AWS_SECRET=hunter2 of 4", "AWS_PLACE=somewhere", "PASSWORD=short"}
	for _, c := range []struct {
		name, entry string
		want        Server // without Name, Type and Timeout
		err         string
	}{
		{"file", `"command": "x", "args": ["--key=${file:key}", "${API_TOKEN}"]`,
			Server{Command: "x", Args: []string{"--key=hunter2 of 1", "hunter2 of 3"}, Runs: []string{"x", "--key=${file:key}", "hunter2 of 3"}, Secrets: []Secret{"hunter2 of 1", "hunter2 of 3"}}, ""},
		{"at home", `"url": "https://x?k=${file:~/crlf}"`,
			Server{URL: "https://x?k=hunter2 of 2", Runs: []string{"https://x?k=${file:~/crlf}"}, Secrets: []Secret{"hunter2 of 2"}}, ""},
		{"lines", `"command": "x", "env": {"K": "${file:lines}"}`,
			Server{Command: "x", Env: map[string]string{"K": "line one\nline two\n"}, Secrets: []Secret{"line one", "line two", "line one\nline two"}}, ""},
		{"keyring", `"url": "https://x", "headers": {"K": "Bearer ${keyring:api}"}`,
			Server{URL: "https://x", Headers: map[string]string{"K": "Bearer of the ring"}, Secrets: []Secret{"of the ring"}}, ""},
		{"by name", `"command": "x", "env": {"MY_TOKEN": "hunter2 of 5", "PLACE": "somewhere"}, "inheritEnv": ["AWS_*", "PASSWORD"]`,
			Server{Command: "x", Env: map[string]string{"MY_TOKEN": "hunter2 of 5", "PLACE": "somewhere"}, InheritEnv: []string{"AWS_*", "PASSWORD"}, Secrets: []Secret{"hunter2 of 5", "hunter2 of 4"}}, ""},
		{"file of variables", `"command": "x", "envFile": "vars", "env": {"MINE": "y"}`,
			Server{Command: "x", Env: map[string]string{"TOKEN": "hunter2 of 6", "B": "hunter2 of 6.x", "MINE": "y"}, Secrets: []Secret{"hunter2 of 6"}}, ""},
		{"no variables", `"command": "x", "envFile": "nonsense"`, Server{}, "envFile: not a file of variables: expected NAME=value on each line"},
		{"no file of variables", `"command": "x", "envFile": "~/none"`, Server{}, "envFile: no such file or directory"},
		{"header by name", `"url": "https://x", "headers": {"Authorization": "Bearer hunter2", "X-Api-Key": "hunter2!"}`,
			Server{URL: "https://x", Headers: map[string]string{"Authorization": "Bearer hunter2", "X-Api-Key": "hunter2!"}, Secrets: []Secret{"hunter2!"}}, ""},
		{"of a server that is off", `"command": "x", "args": ["${file:none}${keyring:none}"], "disabled": true`,
			Server{Command: "x", Args: []string{"${file:none}${keyring:none}"}, Runs: []string{"x", "${file:none}${keyring:none}"}, Disabled: true}, ""},
		{"no file", `"command": "x", "args": ["a", "k ${file:none}"]`, Server{}, "args[1]: ${file:none}: no such file or directory"},
		{"no name", `"command": "x", "args": ["${file:}"]`, Server{}, "args[0]: ${file:}: a folder, not a file"},
		{"a folder", `"command": "${file:.}"`, Server{}, "command: ${file:.}: a folder, not a file"},
		{"empty", `"command": "x", "env": {"K": "${file:empty}"}`, Server{}, "env.K: ${file:empty}: the file is empty"},
		{"too large", `"command": "x", "env": {"K": "${file:big}"}`, Server{}, "env.K: ${file:big}: the file is larger than 64 KiB"},
		{"zero byte", `"command": "x", "env": {"K": "${file:zero}"}`, Server{}, "env.K: it has a zero byte, which cannot be passed to a program"},
		{"not in the keyring", `"url": "https://x", "headers": {"K": "hunter2 ${keyring:none}"}`, Server{}, "headers.K: ${keyring:none}: not there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := fmt.Sprintf(`{"mcpServers": {"a": {%s}}}`, c.entry)
			got, err := load("mcp.json", filepath.Join(dir, "mcp.json"), []byte(text), Options{Environ: environ, Keyring: testRing})
			if err != nil || c.err != "" {
				if err == nil || !strings.HasSuffix(err.Error(), ": mcpServers.a."+c.err) {
					t.Errorf("%v, want %s", err, c.err)
				}
				return
			}
			s := got.Servers[0]
			s.Name, s.Type, s.Timeout = "", "", 0
			if diff := cmp.Diff(c.want, s); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if c.want.Runs == nil {
				return
			}
			got, err = load("mcp.json", filepath.Join(dir, "mcp.json"), []byte(text), Options{Environ: environ})
			if err != nil || !cmp.Equal(got.Servers[0].Runs, c.want.Runs) {
				t.Errorf("for who starts no server: %v, %q", err, got.Servers[0].Runs)
			}
		})
	}
}

// TestKeyringOfSettings: the keyring is that of the state folder which all layers say.
func TestKeyringOfSettings(t *testing.T) {
	const text = `{"mcpServers": {"a": {"command": "x", "args": ["${keyring:api}"]}}, "proxySettings": {"stateDir": "state"}}`
	for _, c := range []struct{ env, want string }{{"X=y", "/etc/state"}, {"RLMPROXY_STATE_DIR=/var/s", "/var/s"}} {
		got := ""
		_, err := load("mcp.json", "/etc/mcp.json", []byte(text), Options{Environ: []string{c.env}, Keyring: func(dir, _ string) (string, error) {
			got = dir
			return "s", nil
		}})
		if err != nil || filepath.ToSlash(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.env, got, err, c.want)
		}
	}
}
