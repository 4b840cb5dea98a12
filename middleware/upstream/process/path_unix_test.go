//go:build unix

package process

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// executables writes programs below a new home, which is HOME, and returns it. PATH is that
// of a program that a desktop starts.
func executables(t *testing.T, programs map[string]string) (home string) {
	t.Helper()
	home = t.TempDir()
	for name, text := range programs {
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{"HOME": home, "PATH": "/usr/bin:/bin", "SHELL": "", "NVM_DIR": "", "VOLTA_HOME": "", "ASDF_DATA_DIR": "", "MISE_DATA_DIR": "", "FNM_DIR": "", "PNPM_HOME": ""} {
		t.Setenv(name, value)
	}
	loginShell, desktopShell = shellOnce(ourPath), shellOnce(desktopPath)
	return home
}

// output is what c writes to stdout, started without a supervisor: under the race detector
// each takes a second to end.
func output(c Command) (string, error) {
	program, path, err := c.find(slog.New(slog.DiscardHandler))
	if err != nil {
		return "", err
	}
	cmd := exec.Command(program, c.Args...)
	cmd.Env = append([]string{"PATH=" + path}, c.Env...)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// TestFullPath starts npx by its full path, as a server.
func TestFullPath(t *testing.T) {
	home := executables(t, map[string]string{"n/npx": "#!/usr/bin/env node\n", "n/node": "#!/bin/sh\necho \"node $0\"\n"})
	p, err := Command{Path: home + "/n/npx"}.Start(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if out, err := io.ReadAll(p.Stdout); err != nil || string(out) != "node "+home+"/n/node\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestShortPath: of a PATH as desktops have it, servers start as from a terminal. An npx
// by its full path failed: env: node: No such file or directory.
func TestShortPath(t *testing.T) {
	const npx, node, path = "#!/usr/bin/env node\n", "#!/bin/sh\necho \"node $0\"\n", "#!/bin/sh\necho \"$PATH\"\n"
	home := executables(t, map[string]string{
		"n/npx": npx, "n/node": node,
		".nvm/versions/node/v9.11.2/bin/node": node, ".nvm/versions/node/v20.3.0/bin/node": node, ".nvm/versions/node/v20.11.1/bin/node": node, ".nvm/versions/node/v22.1.0/bin/node": node,
		".nvm/versions/node/v20.11.1/bin/thing": npx, ".nvm/alias/default": "lts/*\n", ".nvm/alias/lts/*": "lts/iron\n", ".nvm/alias/lts/iron": "20\n",
		".volta/bin/volta-thing": path, ".local/bin/uvx": path, "bin/in-path": path, "own/uvx": "#!/bin/sh\necho own $PATH\n", "open/thing": path, "open/other": path,
	})
	if err := os.Chmod(filepath.Join(home, "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path, command, env string
		want                     string // in the output, or the error; ~ is home
	}{
		{"node beside npx", "", "~/n/npx", "", "node ~/n/node"},
		{"beside, but in PATH already", "~/bin:~/n:/usr/bin:/bin", "~/n/npx", "", "node ~/n/node"},
		{"nvm's default", "", "thing", "", "node ~/.nvm/versions/node/v20.11.1/bin/node"},
		{"in a usual place, with the others", "", "volta-thing", "", "~/.volta/bin:/usr/bin:/bin:"},
		{"not before PATH", "~/bin:/usr/bin:/bin", "in-path", "", "~/bin:/usr/bin:/bin:"},
		{"with all of them", "~/bin:/usr/bin/:/bin", "in-path", "", "~/bin:/usr/bin/:/bin:"},
		{"in their order", "", "uvx", "", "~/.nvm/versions/node/v20.11.1/bin:~/.volta/bin"},
		{"a PATH of its own", "", "uvx", "PATH=~/own", "own ~/own"},
		{"a PATH of its own without it", "", "uvx", "PATH=/usr/bin", "/usr/bin"},
		{"no PATH at all", "-", "uvx", "", "~/.local/bin:/usr/bin:/bin:"},
		{"in a folder that all can write", "", "~/open/thing", "", "/usr/bin:/bin:"},
		{"only there", "", "other", "", `command "other" is not in PATH`},
	} {
		fill := func(s string) string { return strings.ReplaceAll(s, "~", home) }
		t.Run(c.name, func(t *testing.T) {
			if c.path != "" {
				t.Setenv("PATH", strings.TrimPrefix(fill(c.path), "-"))
			}
			cmd := Command{Name: "x", Path: fill(c.command)}
			if c.env != "" {
				cmd.Env = []string{fill(c.env)}
			}
			got, err := output(cmd)
			if err != nil {
				got = err.Error()
			}
			if want := fill(c.want); !strings.Contains(got, want) || strings.Contains(got, "/open") || c.env == "PATH=/usr/bin" && got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// TestOddNVM holds that what lies in a home, however odd, neither gets on the PATH nor has us wait.
func TestOddNVM(t *testing.T) {
	home := executables(t, map[string]string{".nvm/versions/node/v9.0.0/bin/node": "", ".nvm/versions/node/v99.0.0;rm/bin/node": "", ".nvm/versions/node/v98.0.0:x/bin/node": "", ".nvm/alias/up": ""})
	dir := filepath.Join(home, ".nvm")
	alias := filepath.Join(dir, "alias", "default")
	for name, make := range map[string]func() error{
		"a named pipe":  func() error { return syscall.Mkfifo(alias, 0o600) },
		"a device":      func() error { return os.Symlink("/dev/zero", alias) },
		"a long text":   func() error { return os.WriteFile(alias, bytes.Repeat([]byte("v9/"), 1<<20), 0o600) },
		"another place": func() error { return os.WriteFile(alias, []byte("../../../etc/passwd"), 0o600) },
		"itself":        func() error { return os.WriteFile(alias, []byte("default"), 0o600) },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if got, want := nvm(dir), filepath.Join(dir, "versions/node/v9.0.0/bin"); got != want {
			t.Errorf("%s: %s", name, got)
		}
		if err := os.Remove(alias); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLoginShell: a command that is nowhere else is looked for where the user's shell
// does, which is asked once, within bounds, and leaves nothing running.
func TestLoginShell(t *testing.T) {
	const answers = `eval "$4"`
	for _, c := range []struct{ name, script, found, why string }{
		{"answers", "PATH=~/tools:relative:~/open:$PATH\n" + answers, "~/tools", ""},
		{"with a banner", "echo 'Welcome to $PATH!'; echo oops >&2; PATH=~/tools\n" + answers + "\necho bye", "~/tools", ""},
		{"reads, and goes on in the background", "read line; sleep 100 & PATH=~/tools\n" + answers, "~/tools", ""},
		{"hangs", "sleep 100 & echo $! >~/pid; sleep 100", "", "no answer within 300ms"},
		{"floods", "yes", "", "it printed no PATH"},
		{"fails", "exit 1", "", "it printed no PATH"},
		{"has no such command", "PATH=/nowhere\n" + answers, "", "the PATH of the login shell"},
		{"in a folder that all can write", "PATH=~/open\n" + answers, "", "the PATH of the login shell"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := executables(t, map[string]string{"tools/hidden-tool": "#!/bin/sh\necho found in $PATH", "open/hidden-tool": "#!/bin/sh\necho open"})
			fill := func(s string) string { return strings.ReplaceAll(s, "~", home) }
			shell := filepath.Join(home, "shell")
			if err := errors.Join(os.Chmod(filepath.Join(home, "open"), 0o777), os.WriteFile(shell, []byte(fill("#!/bin/sh\necho asked >>~/asked\n"+c.script+"\n")), 0o700)); err != nil {
				t.Fatal(err)
			}
			t.Setenv("SHELL", shell)
			old := shellTime
			defer func() { shellTime = old }()
			if shellTime = 5 * time.Second; c.name == "hangs" {
				shellTime = 300 * time.Millisecond
			}
			if got, err := output(Command{Path: "sh", Args: []string{"-c", "echo $PATH"}}); err != nil || strings.Contains(got, "tools") {
				t.Errorf("a usual command: %s, %v", got, err)
			}
			if _, err := os.Stat(filepath.Join(home, "asked")); err == nil {
				t.Error("the shell was asked for a command that is in PATH")
			}
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					got, err := output(Command{Path: "hidden-tool"})
					switch {
					case c.found != "" && (err != nil || !strings.HasPrefix(got, "found in "+fill(c.found)) || strings.Contains(got, "relative")):
						t.Errorf("got %s, %v", got, err)
					case c.found == "" && (err == nil || !strings.Contains(err.Error(), c.why)):
						t.Errorf("%v, want %s", err, c.why)
					}
				})
			}
			both.Wait()
			if asked, _ := os.ReadFile(filepath.Join(home, "asked")); !bytes.Equal(asked, []byte("asked\n")) {
				t.Errorf("asked: %q", asked)
			}
			if pid, err := os.ReadFile(filepath.Join(home, "pid")); err == nil {
				var n int
				for _, d := range strings.TrimSpace(string(pid)) {
					n = 10*n + int(d-'0')
				}
				for range 100 {
					if err = syscall.Kill(n, 0); err != nil {
						break
					}
					time.Sleep(time.Millisecond)
				}
				if state, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat"); err == nil && !bytes.Contains(state, []byte(") Z ")) {
					t.Error("what the shell had started still runs")
				}
			}
		})
	}
}

// TestOnDesktop: where a terminal's PATH has a command, a desktop program's need not.
func TestOnDesktop(t *testing.T) {
	home := executables(t, map[string]string{
		"terminal/mine": "#!/bin/sh\n", ".local/bin/usual": "#!/bin/sh\n", "shell/asked": "#!/bin/sh\n",
		"sh": "#!/bin/sh\nPATH=$HOME/shell:$PATH\neval \"$4\"\n",
	})
	t.Setenv("PATH", home+"/terminal:/usr/bin:/bin")
	t.Setenv("SHELL", home+"/sh")
	for _, c := range []struct {
		command, env string
		want         string
		how          Found
	}{
		{"sh", "", "/bin/sh", ByPath},
		{"~/terminal/mine", "", "~/terminal/mine", ByPath},
		{"mine", "PATH=~/terminal", "~/terminal/mine", ByPath},
		{"usual", "", "~/.local/bin/usual", ByPlace},
		{"asked", "", "~/shell/asked", ByLoginShell},
		{"mine", "", `command "mine" is not in PATH`, 0},
		{"asked -x", "", "has arguments after", 0},
	} {
		fill := func(s string) string { return strings.ReplaceAll(s, "~", home) }
		got, how, err := Command{Path: fill(c.command), Env: []string{fill(c.env)}}.OnDesktop()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, fill(c.want)) || how != c.how {
			t.Errorf("%s: %s, %d; want %s, %d", c.command, got, how, c.want, c.how)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		if _, _, err := (Command{Path: "sh"}).find(slog.New(slog.DiscardHandler)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestFolderOfServer: a server without a cwd is started where the proxy is, also by a
// supervisor that was started elsewhere, ahead of it.
func TestFolderOfServer(t *testing.T) {
	Prepare()
	t.Chdir(t.TempDir())
	want, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Command{Name: "x", Path: "pwd"}.Start(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(p.Stdout)
	p.Close()
	if err != nil || strings.TrimSpace(string(got)) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
