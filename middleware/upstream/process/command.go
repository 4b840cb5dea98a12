package process

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// A StartError says why a command cannot be started. The next try will not do
// better, unless somebody has done what it says.
type StartError struct{ text string }

func (e *StartError) Error() string { return e.text }

// loginShell is what the user's shell says, asked once, and desktopShell what it says to a
// program that a desktop has started.
var loginShell, desktopShell = shellOnce(ourPath), shellOnce(desktopPath)

func shellOnce(path func() string) func() (dirs []string, err error) {
	return sync.OnceValues(func() ([]string, error) { return askShell(path()) })
}

func ourPath() string { return cmp.Or(os.Getenv("PATH"), plainPath) }

// find finds the program of c, and the PATH that it gets: ours, the usual places, and what a
// login shell has besides where the program is found only so. In front is the program's
// own folder if ours does not have it, for npx needs the node beside it. A PATH in the
// server's entry is looked through first, and the server gets that as it is.
func (c Command) find(logger *slog.Logger) (program, path string, err error) {
	path = ourPath()
	var list []string
	for _, dir := range filepath.SplitList(path) {
		list = append(list, filepath.Clean(dir))
	}
	places := addable(list, usualPlaces()...)
	program, err = exec.LookPath(c.Path)
	if !c.isPath() {
		if p, ok := lookIn(filepath.SplitList(c.ownPath()), c.Path); ok {
			program, err = p, nil
		} else if err != nil {
			program, places, err = c.lookFurther(list, places, err, logger)
		}
	}
	if err != nil {
		return "", "", c.notFound(err)
	}
	beside := addable(list, filepath.Dir(program))
	places = slices.DeleteFunc(places, func(dir string) bool { return slices.Contains(beside, dir) })
	return program, strings.Join(append(append(beside, path), places...), string(filepath.ListSeparator)), nil
}

// lookFurther looks for a command that is not in list, our PATH, as err says: in places, then
// where a login shell looks, which it adds to them.
func (c Command) lookFurther(list, places []string, err error, logger *slog.Logger) (program string, all []string, _ error) {
	if p, ok := lookIn(places, c.Path); ok {
		return p, places, nil
	}
	if strings.Contains(c.Path, " ") { // a mistake of another kind
		return "", places, err
	}
	said, unsaid := loginShell()
	more := addable(append(list, places...), said...)
	all = append(places, more...)
	if p, ok := lookIn(more, c.Path); ok {
		logger.Info("the command is found by the PATH of the login shell", "command", p)
		return p, all, nil
	}
	logger.Debug("command not found", "PATH", append(list, all...), "login_shell", unsaid)
	return "", all, err
}

// A Found is how a program is found.
type Found int

const (
	ByPath       Found = iota // in PATH, that of the server's entry, or where the command says
	ByPlace                   // in one of the usual places
	ByLoginShell              // only where a login shell looks
)

// OnDesktop finds the program of c as a proxy does which a desktop program has started: its
// PATH is not that of a terminal.
func (c Command) OnDesktop() (program string, how Found, err error) {
	list := filepath.SplitList(desktopPath())
	places := addable(list, usualPlaces()...)
	if c.isPath() {
		if program, err = exec.LookPath(c.Path); err != nil {
			return "", 0, c.notFound(err)
		}
		return program, ByPath, nil
	}
	if p, ok := lookIn(append(filepath.SplitList(c.ownPath()), list...), c.Path); ok {
		return p, ByPath, nil
	}
	if p, ok := lookIn(places, c.Path); ok {
		return p, ByPlace, nil
	}
	if !strings.Contains(c.Path, " ") {
		said, _ := desktopShell()
		if p, ok := lookIn(addable(append(list, places...), said...), c.Path); ok {
			return p, ByLoginShell, nil
		}
	}
	return "", 0, c.notFound(exec.ErrNotFound)
}

// isPath reports whether the command says where it is.
func (c Command) isPath() bool { return strings.ContainsAny(c.Path, `/\`) }

// ownPath is the PATH that the server's entry sets, or "".
func (c Command) ownPath() (own string) {
	for _, kv := range c.Env {
		if name, value, _ := strings.Cut(kv, "="); name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			own = value
		}
	}
	return own
}

// lookIn finds a command in dirs.
func lookIn(dirs []string, name string) (program string, ok bool) {
	for _, dir := range dirs {
		if filepath.IsAbs(dir) {
			if program, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return program, true
			}
		}
	}
	return "", false
}

// notFound says what to do about a command that is not there.
func (c Command) notFound(err error) error {
	if program, arguments, ok := strings.Cut(c.Path, " "); ok && (!c.isPath() || strings.HasPrefix(arguments, "-")) {
		// What follows may hold a secret.
		return &StartError{fmt.Sprintf(`"command" has arguments after %.200q; move them to "args", each as a string of its own`, program)}
	}
	if c.isPath() {
		return &StartError{fmt.Sprintf("command: %.300v", err)}
	}
	where := "PATH, the PATH of the login shell or the usual places (Homebrew, nvm, ~/.local/bin, …)"
	if runtime.GOOS == "windows" {
		where = "PATH or the usual places"
	} else if _, err := loginShell(); err != nil {
		where = fmt.Sprintf("PATH or the usual places (Homebrew, nvm, ~/.local/bin, …), and the login shell did not say its PATH (%v)", err)
	}
	return &StartError{fmt.Sprintf(`command %.200q is not in %s; give its whole path as "command"`, c.Path, where)}
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
