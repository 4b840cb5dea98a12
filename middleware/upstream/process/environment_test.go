package process

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestInherited: a server gets what it needs to run and what its entry names. It got all
// that the proxy had, the secrets of the other servers too.
func TestInherited(t *testing.T) {
	const usual = "PATH=/bin HOME=/ LANG=C LC_TIME=de TMPDIR=/t TERM=x https_proxy=http://p"
	environ := append(strings.Fields(usual), "GITHUB_TOKEN=g", "AWS_KEY=a", "AWS_ID=b", "RLMPROXY_HTTP_TOKENS=t", "PATHS=x", "SHELL=() { echo; }")
	for _, c := range []struct{ inherit, want string }{
		{"", ""},
		{"GITHUB_TOKEN", "GITHUB_TOKEN=g"},
		{"AWS_*", "AWS_KEY=a AWS_ID=b"},
		{"*", "GITHUB_TOKEN=g AWS_KEY=a AWS_ID=b PATHS=x SHELL=() { echo; }"},
		{"RLMPROXY_*", ""},
		{"RLMPROXY_HTTP_TOKENS", "RLMPROXY_HTTP_TOKENS=t"},
		{"github_token", ""},
	} {
		if runtime.GOOS == "windows" && c.inherit == "github_token" {
			continue // case does not count there
		}
		got, heldBack := inherited(environ, strings.Fields(c.inherit))
		if want := strings.TrimSpace(usual + " " + c.want); strings.Join(got, " ") != want {
			t.Errorf("%q:\n got %q\nwant %s", c.inherit, got, want)
		}
		if slices.Contains(heldBack, "PATH") || c.inherit == "" && !slices.Contains(heldBack, "GITHUB_TOKEN") {
			t.Errorf("%q: held back %q", c.inherit, heldBack)
		}
	}
}

// TestEnvironmentOfProcess asks a real process what it got, and what is logged when it
// says what it misses.
func TestEnvironmentOfProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell")
	}
	t.Setenv("SECRET_OF_ANOTHER", "hunter2")
	t.Setenv("ITS_TOKEN", "hunter3")
	t.Setenv("RLMPROXY_HTTP_TOKENS", "hunter4")
	for _, c := range []struct {
		name    string
		inherit []string
		want    []string // of the three
		logged  string
	}{
		{"x", nil, nil, "stderr names a variable"},
		{"its", nil, nil, "begins with the server's name"},
		{"x", []string{"ITS_*"}, []string{"ITS_TOKEN=hunter3"}, ""},
		{"its", []string{"*"}, []string{"ITS_TOKEN=hunter3", "SECRET_OF_ANOTHER=hunter2"}, ""},
	} {
		var log bytes.Buffer
		p, err := Command{Name: c.name, Path: "sh", Args: []string{"-c", "env; echo 'ITS_TOKEN is required, ITS_TOKEN!' >&2"}, Env: []string{"OWN=1"}, Inherit: c.inherit}.
			Start(slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(p.Stdout)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		lines := strings.Split(string(out), "\n")
		got := slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return !strings.Contains(s, "hunter") })
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.inherit, got, c.want)
		}
		if !slices.Contains(lines, "OWN=1") || !slices.ContainsFunc(lines, func(s string) bool { return strings.HasPrefix(s, "PATH="+os.Getenv("PATH")) }) {
			t.Errorf("%q: what it needs is missing: %q", c.inherit, lines)
		}
		told := strings.Count(log.String(), "variable=ITS_TOKEN")
		if (told == 1) != (c.logged != "") || told > 1 || !strings.Contains(log.String(), c.logged) || strings.Contains(log.String(), "hunter") {
			t.Errorf("%q: logged\n%s", c.inherit, &log)
		}
	}
}
