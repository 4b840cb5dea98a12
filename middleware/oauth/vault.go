package oauth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rlmproxy/keyring"
	"rlmproxy/private"
)

// A vault keeps the grant of one account: the keyring of this machine, or the store that
// replicas share.
type vault interface {
	// known reports whether anybody may ever have signed in.
	known() bool
	// lock keeps others from changing the grant until unlock is called, or until ends if
	// that is not zero.
	lock(ctx context.Context) (unlock func(), ends time.Time, err error)
	// get returns the grant, or an error that is [keyring.ErrNotFound].
	get() (string, error)
	set(text string) error
	// remove forgets the grant, or returns [keyring.ErrNotFound].
	remove() error
}

// local is the keyring, with a lock beside it. Whether anybody has signed in, the lock tells:
// the keyring is not opened for servers that nobody signs in to; it may ask a person for a
// password.
type local struct {
	ring      *keyring.Ring
	dir, name string
}

func (l *local) lockPath() string { return filepath.Join(l.dir, l.name+".lock") }

func (l *local) known() bool {
	_, err := os.Stat(l.lockPath())
	return !errors.Is(err, fs.ErrNotExist)
}

func (l *local) get() (string, error)  { return l.ring.Get(l.name) }
func (l *local) set(text string) error { return l.ring.Set(l.name, text) }
func (l *local) remove() error         { return l.ring.Delete(l.name) }

// lockTime is how long another process may keep a lock: it asks at most twice within.
const lockTime = 30 * time.Second

// lock keeps other processes from changing the grant. One that was stopped while it had the
// lock, by Ctrl-Z say, does not have us wait for ever.
func (l *local) lock(ctx context.Context) (unlock func(), ends time.Time, err error) {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, ends, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, fmt.Errorf("another rlmproxy has held the lock of this sign-in for %v", lockTime))
	defer cancel()
	type lock struct {
		unlock func()
		err    error
	}
	locked := make(chan lock)
	go func() {
		unlock, err := private.Lock(l.lockPath())
		select {
		case locked <- lock{unlock, err}:
		case <-ctx.Done():
			if err == nil {
				unlock()
			}
		}
	}()
	select {
	case got := <-locked:
		return got.unlock, ends, got.err
	case <-ctx.Done():
		return nil, ends, context.Cause(ctx)
	}
}
