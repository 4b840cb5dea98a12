package audit

import (
	"os"
	"path/filepath"

	"rlmproxy/private"
)

// Key returns the key of this installation, which it makes at the first time: a file of
// the state folder that only its owner reads. It is one for all proxies that use the
// folder, so that equal arguments have equal hashes from one start to the next, and who
// has the key can tell whether a call had certain arguments.
func Key(state string) ([]byte, error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	return private.Key(filepath.Join(state, "audit.key"), "could use it to guess logged arguments")
}
