package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"rlmproxy/config"
	"rlmproxy/fleet"
	"rlmproxy/middleware/pin"
)

// openPins opens the pins of all servers, for reading or to pin as well: those of the state
// folder, or where there are replicas, which then is not nil, of their store.
func openPins(cfg *config.Config, shared *fleet.Store, readOnly bool) (*pin.Store, error) {
	dir, flags, err := stateDir(cfg.Proxy)
	var store *pin.Store
	switch {
	case err != nil:
	case shared == nil:
		store, err = pin.Open(dir, flags, readOnly)
	default:
		if cfg.Path != "" { // which may say where the store is
			flags = " --config " + pin.Quoted(cfg.Path) + flags
		}
		store, err = pin.OpenShared(shared, dir, flags, readOnly)
	}
	if err != nil {
		return nil, &usageError{fmt.Errorf("the state folder cannot be used: %w", err),
			"name another in stateDir (RLMPROXY_STATE_DIR), or do without pins: pinTools false (RLMPROXY_PIN_TOOLS)"}
	}
	return store, nil
}

// stateDir is where the proxy keeps what it must know the next time, and the flags that
// commands in hints need to find it. It is no cache, which the system or a person may
// empty.
func stateDir(p config.Proxy) (dir, flags string, err error) {
	if p.StateDir != "" {
		return p.StateDir, " --state-dir " + pin.Quoted(p.StateDir), nil
	}
	switch runtime.GOOS {
	case "windows":
		dir, err = os.UserCacheDir() // %LocalAppData%, where programs keep state
	case "darwin":
		dir, err = os.UserConfigDir() // Application Support
	default:
		if dir = os.Getenv("XDG_STATE_HOME"); !filepath.IsAbs(dir) {
			dir, err = os.UserHomeDir()
			dir = filepath.Join(dir, ".local", "state")
		}
	}
	return filepath.Join(dir, "rlmproxy"), "", err
}

// identity is who a server is. One without a name of its own has one that stands for what
// it runs.
func identity(cfg *config.Config, sc config.Server) pin.Identity {
	id := pin.Identity{Name: sc.Name, Runs: append([]string{sc.Command}, sc.Args...)}
	if sc.URL != "" {
		id.Runs = []string{sc.URL}
	}
	if sc.Runs != nil { // a server is the same with another secret
		id.Runs = sc.Runs
	}
	if cfg.Path == "" && sc.Name == nameOf(sc) {
		id.Name = unnamed
		id.Name = programOf(sc) + "-" + id.Short()[:8]
	}
	return id
}

// needPins opens the pins if a server is held to them, else it returns nil. A command that
// calls for a person at a terminal is told what is held back, and pins nothing: what
// somebody looks at once is not what agents get from then on.
func (s *stack) needPins(cfg *config.Config) (*pin.Store, error) {
	for _, sc := range cfg.Servers {
		if !sc.Disabled && pinned(cfg.Proxy, sc) {
			return s.openPins(cfg)
		}
	}
	return nil, nil
}

// openPins opens the pins. Those that replicas share are opened once: of what others change,
// whoever opened them last is told.
func (s *stack) openPins(cfg *config.Config) (*pin.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pins != nil {
		return s.pins, nil
	}
	store, err := openPins(cfg, s.fleet, s.who == nobody)
	if s.fleet != nil {
		s.pins = store
	}
	return store, err
}

func pinned(p config.Proxy, sc config.Server) bool {
	return setting(sc.PinTools, p.PinTools)
}

func quarantined(p config.Proxy, sc config.Server) bool {
	return setting(sc.Quarantine, p.Quarantine)
}

// trustsHints reports whether a server's word counts for what a tool does: where the
// operator says so, else where the operator has the server's program on this machine and
// what it says is pinned.
func trustsHints(p config.Proxy, sc config.Server) bool {
	return setting(sc.TrustHints, setting(p.TrustHints, sc.URL == "" && pinned(p, sc)))
}

func setting(own *bool, general bool) bool {
	if own != nil {
		return *own
	}
	return general
}
