// Package keyring keeps secrets of the operator: in the keyring of the system, else in a
// private file.
//
//	Set ──► system keyring ─ too large, none there, no answer ──► secrets.json in the state folder
//	Get ──► secrets.json ─ not there ──► system keyring
//
// What is in the file was set last: Set takes it out when the system has taken the secret.
// Tests call MockInitWithError of go-keyring, or they would use the keyring of whoever
// runs them.
package keyring

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zalando/go-keyring"
)

// ErrNotFound is that there is no secret of a name.
var ErrNotFound = errors.New("no such secret")

// errLate is that the system's keyring waits for somebody, most likely for its password.
var errLate = errors.New("the system keyring does not answer; it may ask for its password on the screen")

// errNone is that there is no system keyring.
var errNone = errors.New("no system keyring")

const (
	service = "rlmproxy"

	// patience is how long the system's keyring may take: it answers within 50 ms, unless
	// it asks somebody for a password.
	patience = 5 * time.Second

	// largest is how many bytes go into an entry of the system's keyring. Windows takes
	// 2560, macOS a command of 4096 with the secret in base64.
	largest = 2500

	maxName   = 200
	maxSecret = 64 << 10
)

// system is the keyring of the system, of which there is one.
var system = struct {
	turn chan struct{} // holds one while it is asked
	late atomic.Bool   // who has the turn has had it for longer than patience
}{turn: make(chan struct{}, 1)}

// A Ring is the secrets of one user. Its methods can be called at once.
type Ring struct{ file *file }

// Open returns the secrets whose file is in dir, which Set makes if it has to.
func Open(dir string) *Ring { return &Ring{newFile(dir)} }

// Get returns a secret, or an error that is [ErrNotFound].
func (r *Ring) Get(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	secrets, err := r.file.load()
	if err != nil {
		return "", err
	}
	if secret, ok := secrets[name]; ok {
		return string(secret), nil
	}
	return fromSystem(name)
}

func fromSystem(name string) (string, error) {
	secret, err := ask(func() (string, error) { return keyring.Get(service, name) })
	switch {
	case err == nil, errors.Is(err, errLate):
		return secret, err
	case errors.Is(err, keyring.ErrNotFound), errors.Is(err, errNone):
		return "", ErrNotFound
	}
	return "", fmt.Errorf("%w (the system keyring: %v)", ErrNotFound, err)
}

// Set keeps a secret, in place of one of this name.
func (r *Ring) Set(name, secret string) error {
	err := checkName(name)
	switch {
	case err != nil:
		return err
	case secret == "":
		return errors.New("the secret is empty")
	case len(secret) > maxSecret:
		return fmt.Errorf("the secret has %d bytes; %d are allowed", len(secret), maxSecret)
	}
	if len(secret) <= largest {
		back, err := ask(func() (string, error) {
			if err := keyring.Set(service, name, secret); err != nil {
				return "", err
			}
			return keyring.Get(service, name) // macOS does not say what failed
		})
		if err == nil && back == secret {
			_, err := r.file.remove(name)
			return err
		}
	}
	return r.file.set(name, secret)
}

// Delete forgets a secret, or returns [ErrNotFound].
func (r *Ring) Delete(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	inFile, err := r.file.remove(name)
	if err != nil {
		return err
	}
	_, err = ask(func() (string, error) { return "", keyring.Delete(service, name) })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errLate):
		return fmt.Errorf("it may still be there: %w", err)
	case inFile:
		return nil
	}
	return ErrNotFound
}

// Where says for people where a secret is, or, of one that is not there, where it would be.
func (r *Ring) Where(name string) string {
	if secrets, err := r.file.load(); err == nil && secrets[name] == nil {
		if _, err := ask(func() (string, error) { return keyring.Get(service, name) }); err == nil || errors.Is(err, keyring.ErrNotFound) {
			return "the system keyring"
		}
	}
	return r.file.path
}

// ask has f ask the system's keyring, which gets one question at a time. F goes on if
// nobody answers in time, and until then no other question is asked.
func ask(f func() (string, error)) (string, error) {
	if !reachable() {
		return "", errNone
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case system.turn <- struct{}{}:
	default:
		if system.late.Load() {
			return "", errLate
		}
		select {
		case system.turn <- struct{}{}:
		case <-timer.C:
			return "", errLate
		}
	}
	system.late.Store(false)
	type answer struct {
		secret string
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		secret, err := f()
		answers <- answer{secret, err}
		<-system.turn
	}()
	select {
	case a := <-answers:
		return a.secret, a.err
	case <-timer.C:
		system.late.Store(true)
		return "", errLate
	}
}

// reachable reports whether there may be a system keyring. Without a session bus, the
// library would start one, which outlives us.
var reachable = func() bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return true
	}
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return true
	}
	for _, name := range []string{"/bus", "/dbus-session"} {
		if _, err := os.Stat("/run/user/" + strconv.Itoa(os.Getuid()) + name); err == nil {
			return true
		}
	}
	return false
}

// checkName refuses names that a keyring or a person could not tell apart.
func checkName(name string) error {
	bad := strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' || c == '}' })
	if name == "" || bad || len(name) > maxName {
		return fmt.Errorf("the name of a secret must have 1 to %d printable ASCII characters, and no space or }", maxName)
	}
	return nil
}
