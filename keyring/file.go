package keyring

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"rlmproxy/private"
)

// A file is the secrets that the system's keyring did not take. It is replaced as a whole,
// under a lock, so it can be read without.
type file struct{ path, lock string }

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
	return &file{filepath.Join(dir, "secrets.json"), filepath.Join(dir, "secrets.lock")}
}

// load reads the file. One that is not there holds no secrets.
func (f *file) load() (map[string][]byte, error) {
	data, err := private.Read(f.path, maxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return map[string][]byte{}, nil
	case err != nil:
		return nil, err
	}
	if err := private.CheckFile(f.path); err != nil {
		return nil, fmt.Errorf("%w, so its secrets are no longer secret: change them, and chmod 600 the file", err)
	}
	if err := f.checkDir(); err != nil {
		return nil, err
	}
	var c content
	if json.Unmarshal(data, &c) != nil || c.Version != version || c.Secrets == nil {
		return nil, fmt.Errorf("%s is not in this rlmproxy's format", f.path) // an error of JSON would quote it
	}
	return c.Secrets, nil
}

// checkDir refuses a folder in which others could put a file of theirs.
func (f *file) checkDir() error {
	return private.CheckFolder(filepath.Dir(f.path), "could replace secrets")
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
	unlock, err := private.Lock(f.lock)
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
	return private.Replace(f.path, data)
}
