package keyring

import (
	"encoding/json"
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

// A file is the secrets that the system's keyring did not take. It is replaced as a whole,
// under a lock, so it can be read without.
type file struct {
	path string
	lock *lockedfile.Mutex
}

// content is what the file holds. Secrets are bytes, which JSON has in base64.
type content struct {
	Version int               `json:"version"`
	Secrets map[string][]byte `json:"secrets"`
}

const (
	version  = 1
	maxBytes = 8 << 20
)

func newFile(dir string) *file {
	return &file{filepath.Join(dir, "secrets.json"), lockedfile.MutexAt(filepath.Join(dir, "secrets.lock"))}
}

// load reads the file. One that is not there holds no secrets.
func (f *file) load() (map[string][]byte, error) {
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string][]byte{}, nil
	}
	if err == nil && !info.Mode().IsRegular() { // to open a named pipe waits for somebody to write
		err = fmt.Errorf("%s is not a file", f.path)
	}
	if err != nil {
		return nil, err
	}
	in, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	switch info, err = in.Stat(); {
	case err != nil:
		return nil, err
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s can be read or written by others, so its secrets are none: change them, and chmod 600 it", f.path)
	}
	if err := f.checkDir(); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxBytes+1))
	if err != nil {
		return nil, err
	}
	var c content
	if len(data) > maxBytes || json.Unmarshal(data, &c) != nil || c.Version != version || c.Secrets == nil {
		return nil, fmt.Errorf("%s is not as this rlmproxy writes it", f.path) // an error of JSON would quote it
	}
	return c.Secrets, nil
}

// checkDir refuses a folder in which others could put a file of theirs.
func (f *file) checkDir() error {
	dir := filepath.Dir(f.path)
	info, err := os.Stat(dir)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("%s can be written by others: chmod 700 it", dir)
	}
	return err
}

// set writes the file with a secret.
func (f *file) set(name, secret string) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	return f.update(func(secrets map[string][]byte) bool {
		secrets[name] = []byte(secret)
		return true
	})
}

// remove writes the file without a secret and reports whether it was there.
func (f *file) remove(name string) (was bool, err error) {
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = f.update(func(secrets map[string][]byte) bool {
		_, was = secrets[name]
		delete(secrets, name)
		return was
	})
	return was, err
}

// update has change change the secrets while nobody else does, and writes them if it says
// that it has.
func (f *file) update(change func(map[string][]byte) bool) error {
	if err := f.checkDir(); err != nil {
		return err
	}
	if l, err := os.OpenFile(f.lock.Path, os.O_RDWR|os.O_CREATE, 0o600); err == nil { // which others cannot hold
		l.Close()
	}
	unlock, err := f.lock.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	secrets, err := f.load()
	if err != nil || !change(secrets) {
		return err
	}
	data, err := json.Marshal(content{version, secrets})
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("%s would have more than %d bytes", f.path, maxBytes)
	}
	if err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(f.path), "secrets-*.tmp") // which nobody else can read
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	if err == nil {
		err = out.Sync()
	}
	err = errors.Join(err, out.Close())
	if err == nil {
		err = robustio.Rename(out.Name(), f.path)
	}
	if err != nil {
		os.Remove(out.Name())
	}
	return err
}
