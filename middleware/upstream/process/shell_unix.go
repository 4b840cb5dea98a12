//go:build unix

package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// shellTime is what a login shell may take: those with many plugins take a second. Tests
// shorten it.
var shellTime = 5 * time.Second

const (
	// maxShellOutput bounds what is read of it, banners included.
	maxShellOutput = 64 << 10
	pathMark       = "rlmproxy:PATH:"
)

// askShell asks the user's shell for the PATH that it has after its start files, if it begins
// with path. Those of nvm and others are for interactive shells. It gets nothing to read and no terminal,
// and is ended with what it has started in its session.
func askShell(path string) (dirs []string, err error) {
	shell := os.Getenv("SHELL")
	if !filepath.IsAbs(shell) {
		return nil, errors.New("SHELL names no program")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command(shell, "-l", "-i", "-c", `printf '\n%s%s\n%s' `+pathMark+` "$PATH" `+pathMark)
	cmd.Env, _ = inherited(append(os.Environ(), "PATH="+path), nil)
	cmd.Stdout = w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there may be none left
		_ = cmd.Wait()
	}()
	if err := r.SetReadDeadline(time.Now().Add(shellTime)); err != nil {
		return nil, err
	}
	var said strings.Builder
	for buf := make([]byte, 4<<10); said.Len() < maxShellOutput; {
		n, err := r.Read(buf)
		said.Write(buf[:n])
		if parts := strings.Split(said.String(), "\n"+pathMark); len(parts) > 2 {
			return filepath.SplitList(parts[1]), nil
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, errors.New("no answer within " + shellTime.String())
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.New("it printed no PATH")
}
