package pin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"rlmproxy/private"
)

// A shelf is where records are, under names of ours: a folder, or a store that replicas share.
type shelf interface {
	// where is the shelf, and at is a record, for people.
	where() string
	at(name string) string
	// names are those of all records.
	names() ([]string, error)
	// read returns a record, nil if there is none, and its revision, which changes when it
	// is written.
	read(name string) (data []byte, revision string, err error)
	// revision is a record's, as far as is known: it is asked for each call of a tool that
	// is held back.
	revision(name string) string
	// lock keeps others from writing, where that can be done.
	lock() (unlock func(), err error)
	// write writes records and sets their revisions, unless one of them has been written
	// since it was read: then it writes none, and ok is false.
	write(all []*written) (ok bool, err error)
}

// A written is a record to write in the place of what has a revision. Nil data is none.
type written struct {
	name, revision string
	data           []byte
}

// A folder has a file for each record. Who writes there takes turns by a lock. A file is
// replaced as a whole, so it can be read without.
type folder struct{ dir string }

func (f *folder) where() string         { return f.dir }
func (f *folder) at(name string) string { return filepath.Join(f.dir, name+".json") }
func (f *folder) lock() (func(), error) { return private.LockFolder(f.dir) }

func (f *folder) names() (names []string, err error) {
	all, _ := filepath.Glob(filepath.Join(escapeGlob(f.dir), "*.json")) // the pattern is good
	for _, path := range all {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".json"))
	}
	slices.Sort(names)
	return names, nil
}

// escapeGlob has filepath.Glob take dir as it is.
func escapeGlob(dir string) string {
	if runtime.GOOS == "windows" { // which has no escapes, and no such characters in most names
		return dir
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// revision is when a file was written, and its size.
func (f *folder) revision(name string) string {
	info, err := os.Stat(f.at(name))
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size())
}

func (f *folder) read(name string) (data []byte, revision string, err error) {
	revision = f.revision(name) // first: what is written meanwhile is read next time
	data, err = private.Read(f.at(name), 2*maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, revision, nil
	}
	return data, revision, err
}

func (f *folder) write(all []*written) (ok bool, err error) {
	for _, w := range all { // the lock keeps the revisions as they are
		if w.data == nil {
			err = os.Remove(f.at(w.name))
		} else {
			err = private.Replace(f.at(w.name), w.data)
		}
		if err != nil {
			return false, err
		}
		w.revision = f.revision(w.name)
	}
	return true, nil
}
