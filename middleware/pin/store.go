package pin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"rlmproxy/private"
)

// An Identity is who a server is: its name in the configuration, and what it runs, a
// command with its arguments or a URL. That may hold secrets, so of it only a hash is
// kept.
type Identity struct {
	Name string
	Runs []string
}

// Short tells servers of one name apart.
func (i Identity) Short() string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{i.Name}, i.Runs...), "\x00")))
	return hex.EncodeToString(sum[:8])
}

// A Store is the pins of all servers: a folder that only its owner can read, with a file
// for each. Proxies and commands that use it at once take turns by a lock; a file is
// replaced as a whole, so it can be read without.
type Store struct {
	dir      string
	readOnly bool
	flags    string // that our commands need to find the folder
}

// Open opens the folder pins of a state folder, which it makes unless readOnly is set:
// then nothing is ever written, and what is not pinned counts as seen for the first time.
// Flags are what the commands in hints need to find it, or "".
func Open(folder, flags string, readOnly bool) (*Store, error) {
	s := &Store{filepath.Join(folder, "pins"), readOnly, flags}
	return s, private.Open(s.dir, "could change the pins", readOnly)
}

// Dir is where the files are.
func (s *Store) Dir() string { return s.dir }

func (s *Store) lock() (unlock func(), err error) { return private.LockFolder(s.dir) }

// prefix begins the names of the files of all servers of a name, and of others that only
// differ in what file names do not have.
func prefix(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-') {
			return r
		}
		return '_'
	}, name)
	return clean[:min(40, len(clean))] + "."
}

func (s *Store) path(id Identity) string {
	return filepath.Join(s.dir, prefix(id.Name)+id.Short()+".json")
}

// hasOther reports whether a server of this name that runs something else has pins.
func (s *Store) hasOther(id Identity) bool {
	for _, path := range s.files() {
		if strings.HasPrefix(filepath.Base(path), prefix(id.Name)) && path != s.path(id) {
			if r, err := load(path); err == nil && r.Server == id.Name {
				return true
			}
		}
	}
	return false
}

func (s *Store) files() []string {
	all, _ := filepath.Glob(filepath.Join(escapeGlob(s.dir), "*.json")) // the pattern is good
	return all
}

// escapeGlob has filepath.Glob take dir as it is.
func escapeGlob(dir string) string {
	if runtime.GOOS == "windows" { // which has no escapes, and no such characters in most names
		return dir
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// Records are those of all servers, by name, with an error that names the files that
// cannot be read.
func (s *Store) Records() ([]*Record, error) {
	var all []*Record
	var bad []error
	for _, path := range s.files() {
		r, err := load(path)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b *Record) int { return strings.Compare(a.Server, b.Server) })
	return all, errors.Join(bad...)
}

// Update has f change records while nobody else does, and writes those that it changed.
// Files that cannot be read are only told of where f fails.
func (s *Store) Update(f func(all []*Record) error) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	all, unreadable := s.Records()
	if err := f(all); err != nil {
		return errors.Join(err, unreadable)
	}
	for _, r := range all {
		if r.changed {
			if err := r.save(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Forget removes the pins of all servers of a name, those that cannot be read as well, and
// returns how many there were.
func (s *Store) Forget(name string) (n int, err error) {
	unlock, err := s.lock()
	if err != nil {
		return 0, err
	}
	defer unlock()
	for _, path := range s.files() {
		if !strings.HasPrefix(filepath.Base(path), prefix(name)) {
			continue
		}
		if r, err := load(path); err == nil && r.Server != name {
			continue
		}
		if err := os.Remove(path); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Command is a command of ours, ready to paste into a shell.
func (s *Store) Command(sub, target string) string {
	return "rlmproxy trust " + sub + s.flags + " " + Quoted(target)
}

// plain reports whether a shell takes text as it is.
func plain(text string) bool {
	return text != "" && text[0] != '-' && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./@:+,", r))
	})
}

// Quoted is text as one word of a shell's line.
func Quoted(text string) string {
	if plain(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
