package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"rlmproxy/private"
)

// ErrChanged is why a file is not written: it is not what it was when it was read.
var ErrChanged = errors.New("has changed meanwhile: try again")

// maxFile is what package config reads too.
const maxFile = 4 << 20

// ReadFile is the content of a file of at most 4 MiB, as [private.Read] has it.
func ReadFile(path string) ([]byte, error) { return private.Read(path, maxFile) }

// WriteFile replaces a file as a whole, if its content is still old, else the error wraps
// ErrChanged; nil is that of a file that is not there. Where path is a link, what it leads to is replaced. mode zero keeps that of the
// file; a new one has 0600.
func WriteFile(path string, old, data []byte, mode fs.FileMode) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if _, linkErr := os.Lstat(path); linkErr == nil {
		return err // it leads nowhere
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && mode == 0:
		mode = info.Mode().Perm()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case mode == 0:
		mode = 0o600
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*.tmp") // which nobody else can read
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return err
	}
	now, err := ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(now, old) || (now == nil) != (old == nil) {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	return os.Rename(f.Name(), path)
}
