// Package state keeps files in folders that only their owner can read.
//
// Proxies and commands that use a folder at once take turns by a lock. A file is replaced
// as a whole, so it can be read without.
package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/rogpeppe/go-internal/robustio"
)

// Open makes a folder that is not there, unless it is only to be read, and refuses one
// that others can write to. May is what they could do then, as "could change what is
// pinned".
func Open(dir, may string, readOnly bool) error {
	if !readOnly {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	info, err := os.Stat(dir)
	switch {
	case readOnly && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others, who %s: chmod 700 it", dir, may)
	}
	if readOnly {
		return nil
	}
	unlock, err := Lock(dir)
	if err != nil {
		return err
	}
	unlock()
	return nil
}

// Lock waits until nobody else has a folder locked.
func Lock(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	f.Close()
	return lockedfile.MutexAt(path).Lock()
}

// Read reads a file of at most so many bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", path, most)
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
