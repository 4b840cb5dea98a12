package stats

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"rlmproxy/private"
)

const (
	version  = 1
	maxBytes = 8 << 20 // of a file; one has at most some 400 KB
	// maxFiles bounds the configurations of a folder that have files of their own. Those
	// that were not used for the longest time are put together.
	maxFiles = 200
	// goneTime is how old the file of a process is that does not run any more.
	goneTime = 30 * time.Second
	// maxRunning bounds the processes of a report.
	maxRunning = 200
)

// May is what others could do who can write to the folder.
const may = "could change what is counted"

// Names of files: of a configuration, of a process that serves it, and of what one began to
// write that was killed.
var (
	ofCounts   = regexp.MustCompile(`^([0-9a-f]{32})\.json$`)
	ofRunning  = regexp.MustCompile(`^([0-9a-f]{32})-[0-9a-f]{16}\.json$`)
	unfinished = regexp.MustCompile(`\.tmp$`)
)

// rest has what was counted of the configurations that have no files of their own any more.
var rest = strings.Repeat("0", 32)

// A kept is what the file of a configuration has.
type kept struct {
	Version int    `json:"version"`
	Config  string `json:"config"` // its path, or ""
	counts
}

// A running is what the file of a process has.
type running struct {
	Proxy
	Written time.Time `json:"written"`
}

// A folder has the files of all configurations.
type folder struct {
	dir  string
	self string // tells the file of this process from others'
}

// openFolder is that of a state folder. It need not be there.
func openFolder(state string) *folder {
	self := make([]byte, 8)
	rand.Read(self) // never fails
	return &folder{dir: filepath.Join(state, "stats"), self: hex.EncodeToString(self)}
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name+".json") }

// add adds to the file of a configuration. Moved is why the one that was there is kept
// under another name.
func (f *folder) add(configuration, config string, more *counts) (moved, err error) {
	if err := private.Folder(f.dir, may); err != nil {
		return nil, err
	}
	unlock, err := private.LockFolder(f.dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := os.Stat(f.path(configuration)); errors.Is(err, fs.ErrNotExist) {
		if err := f.sweep(); err != nil {
			return nil, err
		}
	}
	return f.merge(configuration, config, more)
}

// merge is add for a folder that is locked.
func (f *folder) merge(configuration, config string, more *counts) (moved, err error) {
	path := f.path(configuration)
	k, err := readKept(path)
	var broken *brokenError
	if errors.As(err, &broken) {
		moved, err = err, os.Rename(path, path+".broken")
	}
	if err != nil {
		return moved, err
	}
	k.Version, k.Config = version, config
	k.merge(more, time.Now())
	data, err := json.Marshal(k)
	if err == nil {
		err = private.Replace(path, append(data, '\n'))
	}
	return moved, err
}

// A brokenError is that of a file that is not as we write it.
type brokenError struct {
	path string
	err  error
}

func (e *brokenError) Error() string { return fmt.Sprintf("%s: %v", e.path, e.err) }
func (e *brokenError) Unwrap() error { return e.err }

// readKept reads a file. One that is not there has nothing.
func readKept(path string) (k kept, err error) {
	data, err := private.Read(path, maxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k, nil
	case errors.Is(err, private.ErrLarger):
		return k, &brokenError{path, private.ErrLarger}
	case err != nil:
		return k, err
	}
	var is struct{ Version int }
	if json.Unmarshal(data, &is) == nil && is.Version > version {
		return k, fmt.Errorf("%s is of a newer rlmproxy: version %d", path, is.Version)
	}
	if err := json.Unmarshal(data, &k); err != nil {
		return kept{}, &brokenError{path, err}
	}
	if k.Version != version || slices.Contains(k.Tools, nil) {
		return kept{}, &brokenError{path, errors.New("it is not as rlmproxy writes it")}
	}
	slices.SortFunc(k.Hours, func(a, b Hour) int { return a.Begin.Compare(b.Begin) })
	return k, nil
}

// sweep makes room for a file of a configuration: those that were not used for the longest
// time are put together in one. The folder must be locked.
func (f *folder) sweep() error {
	files, err := f.list(ofCounts)
	if err != nil {
		return err
	}
	type dated struct {
		name string
		at   time.Time
	}
	var all []dated
	for _, name := range files {
		if info, err := os.Stat(filepath.Join(f.dir, name)); err == nil && name != rest+".json" {
			all = append(all, dated{name, info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b dated) int { return b.at.Compare(a.at) })
	if len(all) < maxFiles {
		return nil
	}
	var old counts
	for _, d := range all[maxFiles-1:] {
		if k, err := readKept(filepath.Join(f.dir, d.name)); err == nil {
			old.merge(&k.counts, time.Now())
		}
	}
	if _, err := f.merge(rest, "", &old); err != nil {
		return err
	}
	for _, d := range all[maxFiles-1:] {
		if err := os.Remove(filepath.Join(f.dir, d.name)); err != nil {
			return err
		}
	}
	return nil
}

// list returns the names of files of a kind. A folder that is not there has none.
func (f *folder) list(kind *regexp.Regexp) (names []string, err error) {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if kind.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// put writes the file of this process, and removes what others have left that did not end
// as they should have.
func (f *folder) put(configuration string, r running) error {
	if err := private.Folder(f.dir, may); err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := private.Replace(f.own(configuration), append(data, '\n')); err != nil {
		return err
	}
	names, err := f.list(ofRunning)
	for _, name := range names {
		path := filepath.Join(f.dir, name)
		if _, runs := readRunning(path, r.Written); !runs {
			_ = os.Remove(path) // another may be faster
		}
	}
	left, _ := f.list(unfinished)
	for _, name := range left {
		path := filepath.Join(f.dir, name)
		if info, err := os.Stat(path); err == nil && r.Written.Sub(info.ModTime()) > time.Hour {
			_ = os.Remove(path)
		}
	}
	return err
}

// remove removes the file of this process.
func (f *folder) remove(configuration string) { _ = os.Remove(f.own(configuration)) }

func (f *folder) own(configuration string) string { return f.path(configuration + "-" + f.self) }

// readRunning reads the file of a process, and reports whether it runs.
func readRunning(path string, now time.Time) (Proxy, bool) {
	var r running
	data, err := private.Read(path, maxBytes)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if r.Servers == nil {
		r.Servers = []Server{}
	}
	return r.Proxy, err == nil && now.Sub(r.Written).Abs() < goneTime
}

// read returns what was counted of a configuration, or of all if it is "", and what runs.
// Unread is what could not be read.
func (f *folder) read(configuration string) (all *counts, proxies []Proxy, unread error) {
	now := time.Now()
	all = &counts{}
	if err := private.CheckFolder(f.dir, may); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return all, nil, err
	}
	of := func(kind *regexp.Regexp, each func(path string)) {
		names, err := f.list(kind)
		unread = errors.Join(unread, err)
		for _, name := range names {
			if configuration == "" || kind.FindStringSubmatch(name)[1] == configuration {
				each(filepath.Join(f.dir, name))
			}
		}
	}
	of(ofCounts, func(path string) {
		k, err := readKept(path)
		unread = errors.Join(unread, err)
		all.merge(&k.counts, now)
	})
	of(ofRunning, func(path string) {
		if p, runs := readRunning(path, now); runs && len(proxies) < maxRunning {
			proxies = append(proxies, p)
		}
	})
	slices.SortFunc(proxies, func(a, b Proxy) int {
		return cmp.Or(a.Begun.Compare(b.Begun), cmp.Compare(a.PID, b.PID))
	})
	return all, proxies, unread
}

// Read returns what was counted of a configuration, by its hash, or of all if that is "".
// The report has what can be read; err is of the rest.
func Read(state, configuration string) (r *Report, err error) {
	all, proxies, err := openFolder(state).read(configuration)
	r = all.report()
	r.Proxies = append(r.Proxies, proxies...)
	return r, err
}

// Reset removes what was counted of a configuration, by its hash, or of all if that is "",
// and returns what that was. What proxies that run have not written yet counts from now on.
func Reset(state, configuration string) (*Report, error) {
	f := openFolder(state)
	if _, err := os.Stat(f.dir); errors.Is(err, fs.ErrNotExist) {
		return (&counts{}).report(), nil
	}
	unlock, err := private.LockFolder(f.dir)
	if err != nil {
		return (&counts{}).report(), err
	}
	defer unlock()
	all, _, _ := f.read(configuration) // what cannot be read goes too
	names, err := f.list(ofCounts)
	for _, name := range names {
		if configuration == "" || name == configuration+".json" {
			path := filepath.Join(f.dir, name)
			err = errors.Join(err, os.Remove(path))
			_ = os.Remove(path + ".broken") // there rarely is one
		}
	}
	return all.report(), err
}
