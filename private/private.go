// Package private keeps files that only their owner reads.
//
// Proxies and commands that use a folder at once take turns by a lock. A file is replaced
// as a whole, so it can be read without. [Read] is for files of others too.
package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/rogpeppe/go-internal/robustio"
)

// Folder makes a folder that is not there, and refuses one that others can write to. May is
// what they could do then, as "could change what is pinned".
func Folder(dir, may string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return CheckFolder(dir, may)
}

// CheckFolder is Folder for one that is only to be read. That it is not there is an error.
func CheckFolder(dir, may string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others, who %s: chmod 700 it", dir, may)
	}
	return nil
}

// Open is Folder for one that several use, by its lock: where that cannot be had, it is
// refused. A folder that is only to be read is not made, and may not be there.
func Open(dir, may string, readOnly bool) error {
	if readOnly {
		if err := CheckFolder(dir, may); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := Folder(dir, may); err != nil {
		return err
	}
	unlock, err := LockFolder(dir)
	if err == nil {
		unlock()
	}
	return err
}

// LockFolder waits until nobody else has the lock of a folder.
func LockFolder(dir string) (unlock func(), err error) { return Lock(filepath.Join(dir, "lock")) }

// Lock waits until nobody else has the lock that the file at path is. It is made where it
// is not there.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // which others cannot hold
	if err != nil {
		return nil, err
	}
	f.Close()
	return lockedfile.MutexAt(path).Lock()
}

// Why [Read] does not read what is there.
var (
	ErrFolder = errors.New("a folder, not a file")
	ErrDevice = errors.New("a pipe, socket or device, not a file")
	ErrLarger = errors.New("the file is larger than") // the error has the bound too
)

// Read reads a file of at most so many bytes, whoever may read it. It opens nothing else: to
// open a named pipe waits for somebody to write. Errors are of type [*fs.PathError].
func Read(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "read", Path: path, Err: ErrFolder}
	} else if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: ErrDevice}
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		bound := strings.Replace(humanize.IBytes(uint64(most)), ".0 ", " ", 1)
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w %s", ErrLarger, bound)}
	}
	return data, err
}

// Replace writes a file anew, as a whole or not at all.
func Replace(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "*.tmp") // which nobody else can read
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = robustio.Rename(f.Name(), path)
	}
	return err
}

// ErrShared is in the error for a file that others can read or write.
var ErrShared = errors.New("can be read or written by others")

// CheckFile refuses a file that others can read or write, with ErrShared.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("%s %w", path, ErrShared)
	}
	return err
}
