package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A StartError says why a command cannot be started. The next try will not do
// better, unless somebody has done what it says.
type StartError struct{ text string }

func (e *StartError) Error() string { return e.text }

// lookPath finds a command. A host started from a desktop often passes a PATH
// without the places where node and uv live, so these are tried as well.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	isPath := strings.ContainsAny(name, `/\`)
	if !isPath {
		home, _ := os.UserHomeDir()
		for _, dir := range []string{"/usr/local/bin", "/opt/homebrew/bin", filepath.Join(home, ".local/bin"), filepath.Join(home, ".cargo/bin"), filepath.Join(home, ".volta/bin")} {
			if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return p, nil
			}
		}
	}
	if program, arguments, ok := strings.Cut(name, " "); ok && (!isPath || strings.HasPrefix(arguments, "-")) {
		// What follows may hold a secret.
		return "", &StartError{fmt.Sprintf(`command %.200q is followed by its arguments; they go to "args", each a string of its own`, program)}
	}
	if isPath {
		return "", &StartError{fmt.Sprintf("command: %.300v", err)}
	}
	return "", &StartError{fmt.Sprintf(`command %.200q is not in PATH; give its whole path as "command"`, name)}
}

// checkDir says why a command cannot run in dir: the system would blame the command.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return &StartError{fmt.Sprintf("cwd: %v", err)}
	case !info.IsDir():
		return &StartError{fmt.Sprintf("cwd %q is not a folder", dir)}
	}
	return nil
}
