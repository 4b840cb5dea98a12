package process

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestStartErrors: whoever reads why a server does not start can repair it.
func TestStartErrors(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of Unix")
	}
	t.Setenv("SHELL", "")
	loginShell = shellOnce(ourPath)
	dir := t.TempDir()
	plain := filepath.Join(dir, "my program")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command Command
		want    string
	}{
		{Command{Path: "nonexistent-command"}, `command "nonexistent-command" is not in PATH or the usual places (Homebrew, nvm, ~/.local/bin, …), and the login shell did not say its PATH (SHELL names no program); give its whole path as "command"`},
		{Command{Path: "sh", Dir: dir + "/gone"}, "cwd: stat " + dir + "/gone: no such file or directory"},
		{Command{Path: "sh", Dir: plain}, `cwd "` + plain + `" is not a folder`},
		{Command{Path: "sh -c secret"}, `"command" has arguments after "sh"; move them to "args", each as a string of its own`},
		{Command{Path: dir + "/gone --token=secret"}, `"command" has arguments after "` + dir + `/gone"; move them to "args", each as a string of its own`},
		{Command{Path: plain}, `command: exec: "` + plain + `": permission denied`},
		{Command{Path: dir}, `command: exec: "` + dir + `": is a directory`},
	} {
		p, err := c.command.Start(slog.New(slog.DiscardHandler))
		if err == nil {
			p.Close()
			t.Errorf("%+v has started", c.command)
			continue
		}
		var bad *StartError
		if err.Error() != c.want || !errors.As(err, &bad) {
			t.Errorf("%+v:\n%v, want\n%s", c.command, err, c.want)
		}
	}
}
