package audit

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// keyBytes is the length of a key.
const keyBytes = 32

// Key returns the key of this installation, which it makes at the first time: a file of
// the state folder that only its owner reads. It is one for all proxies that use the
// folder, so that equal arguments have equal hashes from one start to the next, and who
// has the key can tell whether a call had certain arguments.
func Key(state string) ([]byte, error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(state, "audit.key")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	f.Close()
	switch {
	case err != nil:
		return nil, err
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s can be read by others, who could find out arguments by it: chmod 600 it", path)
	}
	var key []byte
	err = lockedfile.Transform(path, func(old []byte) ([]byte, error) {
		text := strings.TrimSpace(string(old))
		if text == "" {
			key = make([]byte, keyBytes)
			_, _ = rand.Read(key) // which never fails
			return []byte(hex.EncodeToString(key) + "\n"), nil
		}
		var err error
		if key, err = hex.DecodeString(text); err != nil || len(key) != keyBytes {
			return nil, fmt.Errorf("%s does not hold a key: %d bytes in hexadecimal; delete it, and another is made", path, keyBytes)
		}
		return old, nil
	})
	return key, err
}
