package private

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// KeyBytes is the length of a key.
const KeyBytes = 32

// Key returns the key in a file, which it makes at the first time. May is what others could
// do who know it, as "could use it to forge cache IDs".
func Key(path, may string) (key []byte, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	f.Close()
	if err := CheckFile(path); err != nil {
		return nil, fmt.Errorf("%w, who %s: delete it, and rlmproxy makes another", err, may)
	}
	err = lockedfile.Transform(path, func(old []byte) ([]byte, error) {
		if text := bytes.TrimSpace(old); len(text) > 0 {
			if key, err = hex.DecodeString(string(text)); err != nil || len(key) != KeyBytes {
				return nil, fmt.Errorf("%s does not hold a key of %d bytes in hexadecimal: delete it, and rlmproxy makes another", path, KeyBytes)
			}
			return old, nil
		}
		key = make([]byte, KeyBytes)
		rand.Read(key) // never fails
		return []byte(hex.EncodeToString(key) + "\n"), nil
	})
	return key, err
}
