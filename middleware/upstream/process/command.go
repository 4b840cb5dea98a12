package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
)

// A StartError says why a command cannot be started. The next try will not do
// better, unless somebody has done what it says.
type StartError struct {
	text     string
	searched bool // in PATH
}

func (e *StartError) Error() string { return e.text }

// windowsPath is how paths begin that only Windows has.
var windowsPath = regexp.MustCompile(`^([A-Za-z]:[\\/]|\\\\|\.{1,2}\\|%\w+%)`)

// lookPath finds a command. A host started from a desktop often passes a PATH
// without the places where node and uv live, so these are tried as well.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	isPath := strings.ContainsRune(name, filepath.Separator)
	if !isPath {
		home, _ := os.UserHomeDir()
		for _, dir := range []string{"/usr/local/bin", "/opt/homebrew/bin", filepath.Join(home, ".local/bin"), filepath.Join(home, ".cargo/bin"), filepath.Join(home, ".volta/bin")} {
			if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return p, nil
			}
		}
	}
	if program, ok := withArguments(name); ok {
		// What follows may hold a secret.
		return "", &StartError{text: fmt.Sprintf(`command %.200q is followed by its arguments; they go to "args", each a string of its own`, program)}
	}
	bad := &StartError{}
	switch {
	case runtime.GOOS != "windows" && windowsPath.MatchString(name):
		bad.text = fmt.Sprintf("command %.200q is a path of Windows, and this is %s", name, runtime.GOOS)
	case !isPath:
		bad.text = fmt.Sprintf(`command %.200q is not in PATH; give its whole path as "command"`, name)
		bad.searched = true
	case errors.Is(err, fs.ErrNotExist):
		bad.text = fmt.Sprintf("command %.200q: there is no such file", name)
	case errors.Is(err, fs.ErrPermission):
		bad.text = fmt.Sprintf("command %.200q: the file may not be executed", name)
	case errors.Is(err, syscall.EISDIR):
		bad.text = fmt.Sprintf("command %.200q is a folder", name)
	default:
		bad.text = err.Error()
	}
	return "", bad
}

// withArguments splits off the program of a name that is not there, if what
// follows looks like arguments.
func withArguments(name string) (program string, ok bool) {
	program, rest, found := strings.Cut(name, " ")
	if !found {
		return "", false
	}
	_, err := exec.LookPath(program)
	isPath := strings.ContainsAny(program, `/\`)
	return program, err == nil || !isPath || strings.HasPrefix(strings.TrimLeft(rest, " "), "-")
}

// explain says why the file at path, which may be executed, could not be
// started: the system blames it for what others lack.
func (c Command) explain(path string, err error) error {
	if c.Dir != "" {
		switch info, bad := os.Stat(c.Dir); {
		case errors.Is(bad, fs.ErrNotExist):
			return &StartError{text: fmt.Sprintf("cwd %.200q does not exist", c.Dir)}
		case bad == nil && !info.IsDir():
			return &StartError{text: fmt.Sprintf("cwd %.200q is no folder", c.Dir)}
		}
	}
	if _, bad := os.Stat(path); errors.Is(err, fs.ErrNotExist) && bad == nil {
		return &StartError{text: fmt.Sprintf("command %.200q: the interpreter that its first line names does not exist", path)}
	}
	return err
}
