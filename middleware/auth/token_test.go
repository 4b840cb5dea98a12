package auth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTokens(t *testing.T) {
	const other = "hunter2hunter2hunter2"
	tests := []struct {
		name, text string
		want       string // agents and secrets, or the error after "f:"
	}{
		{"colon", "alice: " + secret, "alice " + secret},
		{"equals", "alice=" + secret, "alice " + secret},
		{"padding", "alice=" + secret + "==", "alice " + secret + "=="},
		{"several", "# who\r\n\r\n alice : " + secret + " \r\nbob@host.x=" + other, "alice " + secret + ", bob@host.x " + other},
		{"one line", "alice: " + secret + ", bob: " + other + ",", "alice " + secret + ", bob " + other},
		{"byte order mark", "\ufeffalice: " + secret, "alice " + secret},
		{"comma in a comment", "# a, b\nalice: " + secret, "alice " + secret},
		{"nothing", " \n#\n", ""},
		{"token only", "\n" + secret, `2: expected "agent: token" or "agent=token"`},
		{"no agent", ": " + secret, "1: the agent's name must have 1 to 64 characters: letters, digits and -_.@"},
		{"agent with a space", "al ice: " + secret, "1: the agent's name must have 1 to 64 characters: letters, digits and -_.@"},
		{"short", "alice: hunter2hunter2", "1: the token has fewer than 16 characters; openssl rand -hex 32 makes one"},
		{"empty", "alice:", "1: the token has fewer than 16 characters; openssl rand -hex 32 makes one"},
		{"long", "alice: " + strings.Repeat("x", 8193), "1: the token has more than 8192 characters"},
		{"space", "alice: " + secret + " " + other, "1: the token may have only letters, digits and -._~+/, and = at its end"},
		{"comment behind", "alice: " + secret + " # hers", "1: the token may have only letters, digits and -._~+/, and = at its end"},
		{"reversed", secret + ": alice", "1: the token has fewer than 16 characters; openssl rand -hex 32 makes one"},
	}
	for _, tt := range tests {
		tokens, err := ParseTokens("f", tt.text)
		var got []string
		for _, token := range tokens {
			got = append(got, token.Agent+" "+token.Secret)
		}
		if err != nil {
			got = []string{strings.TrimPrefix(err.Error(), "f:")}
			for _, s := range []string{secret, other, "hunter2"} {
				if strings.Contains(err.Error(), s) {
					t.Errorf("%s: a secret is shown: %v", tt.name, err)
				}
			}
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestReadTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := ReadTokens(path); !os.IsNotExist(err) {
		t.Errorf("no file: error %v", err)
	}
	write("alice: "+secret, 0o600)
	if tokens, warning, err := ReadTokens(path); len(tokens) != 1 || warning != "" || err != nil {
		t.Errorf("private: %v, warning %q, error %v", tokens, warning, err)
	}
	if runtime.GOOS != "windows" {
		write("alice: "+secret, 0o640)
		if tokens, warning, err := ReadTokens(path); len(tokens) != 1 || warning != path+": other users can read the tokens (mode 0640); chmod 600 keeps them private" || err != nil {
			t.Errorf("readable by a group: %v, warning %q, error %v", tokens, warning, err)
		}
	}
	write("alice: x", 0o600)
	if _, _, err := ReadTokens(path); err == nil || !strings.HasPrefix(err.Error(), path+":1: ") {
		t.Errorf("short: error %v", err)
	}
	write("# none\n", 0o600)
	if _, _, err := ReadTokens(path); err == nil || !strings.Contains(err.Error(), "there is no token") {
		t.Errorf("none: error %v", err)
	}
	// A device without end, as a named pipe, which waits for a writer, was read.
	if _, err := os.Stat("/dev/zero"); err == nil {
		if _, _, err := ReadTokens("/dev/zero"); err == nil || err.Error() != "read /dev/zero: a pipe, socket or device, not a file" {
			t.Errorf("a device: %v", err)
		}
	}
	if err := os.Truncate(path, maxTokensFile+1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadTokens(path); err == nil || err.Error() != "read "+path+": the file is larger than 1 MiB" {
		t.Errorf("a huge file: %v", err)
	}
	if _, _, err := ReadTokens(filepath.Dir(path)); err == nil {
		t.Error("a folder was read")
	}
}

// TestTokenIsNotPrinted: whoever logs options must not log secrets.
func TestTokenIsNotPrinted(t *testing.T) {
	opts := Options{Tokens: []Token{{"alice", secret}}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+verb, opts, opts.Tokens[0])
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "opts", opts, "token", opts.Tokens[0])
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "token", opts.Tokens)
	data, _ := json.Marshal(opts.Tokens)
	out.Write(data)
	if hasPart(out.String(), secret) || hasPart(out.String(), fmt.Sprintf("%x", secret)) {
		t.Errorf("the secret is shown:\n%s", &out)
	}
	if !strings.Contains(out.String(), "alice") {
		t.Errorf("the agent is not:\n%s", &out)
	}
}
