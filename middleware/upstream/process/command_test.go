package process

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestStartErrors: whoever reads why a server does not start can repair it.
func TestStartErrors(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of Unix")
	}
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "", 0o600)
	script := file("script", "#!/nonexistent/python\n", 0o700)
	for _, c := range []struct {
		command Command
		want    string
		path    bool // PATH is logged
	}{
		{Command{Path: "nonexistent-command"}, `command "nonexistent-command" is not in PATH; give its whole path as "command"`, true},
		{Command{Path: "sh", Dir: dir + "/gone"}, `cwd "` + dir + `/gone" does not exist`, false},
		{Command{Path: "sh", Dir: plain}, `cwd "` + plain + `" is no folder`, false},
		{Command{Path: `C:\Users\me\node.exe`}, `command "C:\\Users\\me\\node.exe" is a path of Windows, and this is ` + runtime.GOOS, false},
		{Command{Path: "C:/Users/me/node.exe"}, `command "C:/Users/me/node.exe" is a path of Windows, and this is ` + runtime.GOOS, false},
		{Command{Path: "sh -c secret"}, `command "sh" is followed by its arguments; they go to "args", each a string of its own`, false},
		{Command{Path: "nonexistent-command x.js"}, `command "nonexistent-command" is followed by its arguments; they go to "args", each a string of its own`, false},
		{Command{Path: "/bin/sh x.sh"}, `command "/bin/sh" is followed by its arguments; they go to "args", each a string of its own`, false},
		{Command{Path: dir + "/gone --token=secret"}, `command "` + dir + `/gone" is followed by its arguments; they go to "args", each a string of its own`, false},
		{Command{Path: dir + "/my gone program"}, `command "` + dir + `/my gone program": there is no such file`, false},
		{Command{Path: dir}, `command "` + dir + `" is a folder`, false},
		{Command{Path: plain}, `command "` + plain + `": the file may not be executed`, false},
		{Command{Path: script}, `command "` + script + `": the interpreter that its first line names does not exist`, false},
	} {
		var log bytes.Buffer
		p, err := c.command.Start(slog.New(slog.NewTextHandler(&log, nil)))
		if err == nil {
			p.Close()
			t.Errorf("%+v has started", c.command)
			continue
		}
		var bad *StartError
		if err.Error() != c.want || !errors.As(err, &bad) {
			t.Errorf("%+v:\n%v, want\n%s", c.command, err, c.want)
		}
		if got := strings.Contains(log.String(), "PATH="); got != c.path {
			t.Errorf("%+v: PATH is logged: %t, want %t", c.command, got, c.path)
		}
	}
}

// TestStartWithSpace: a space alone makes no arguments.
func TestStartWithSpace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of Unix")
	}
	path := filepath.Join(t.TempDir(), "my program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := lookPath(path); got != path || err != nil {
		t.Errorf("lookPath: %q, %v", got, err)
	}
}
func TestEnvironment(t *testing.T) {
	got := inherited([]string{"PATH=/bin", "RLMPROXY_TOKEN=secret", "HOME=/"})
	if strings.Join(got, " ") != "PATH=/bin HOME=/" {
		t.Errorf("inherited %q", got)
	}
}
