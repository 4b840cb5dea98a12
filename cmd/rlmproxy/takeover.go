package main

import (
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"rlmproxy/config"
	"rlmproxy/middleware/rights"
)

// A takeover takes mcp.json over while the proxy runs: its servers, who may use what, and
// liveSettings.
type takeover struct {
	load   func() (*config.Config, error)              // reads it again
	rights func(*config.Config) (*rights.Rules, error) // refuses what guards nothing
	tell   func(*rights.Rules)                         // tells the operator what is odd in them
	level  func(config.Proxy)                          // of the log
	log    *slog.Logger
	stack  *stack

	mu       sync.Mutex    // guards the fields below, and the stack's configuration
	rules    *rights.Rules // that count
	warnings []string      // of the file as it was taken over last
	waiting  []string      // settings that the log had as waiting for the next start
}

// takeover is what takes the file of cfg over, if load reads it again. What is nil in it is
// the caller's to set.
func (c *cli) takeover(cfg *config.Config, load func() (*config.Config, error), logger *slog.Logger) *takeover {
	return &takeover{load: load, tell: func(*rights.Rules) {}, level: c.setLevel, log: logger, warnings: cfg.Warnings}
}

// liveSettings are those that count as soon as they are changed. All but the level of the log
// are for servers that do not have their own.
var liveSettings = []string{"callTimeout", "enableHandles", "logLevel", "pinTools", "quarantine", "readOnly", "redact", "trustHints"}

// take takes the file over, or logs what is wrong with it: then all stays as it was. It says
// that nothing has changed if it was asked.
func (t *takeover) take(asked bool) {
	if err := t.try(asked); err != nil {
		t.refuse(err)
	}
}

// check reports what is wrong with a configuration that is to be taken over.
func (t *takeover) check(cfg *config.Config) error {
	if _, err := t.rights(cfg); err != nil {
		return err
	}
	_, err := entriesOf(cfg)
	return err
}

// now is the configuration that counts.
func (t *takeover) now() *config.Config {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stack.cfg
}

// try is take that returns what is wrong.
func (t *takeover) try(asked bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	cfg, err := t.load()
	var rules *rights.Rules
	if err == nil {
		rules, err = t.rights(cfg)
	}
	var waiting []string
	var next *change
	if err == nil {
		cfg.Proxy, waiting = live(t.stack.cfg.Proxy, cfg.Proxy)
		if was := t.stack.cfg.SubModel; !reflect.DeepEqual(was, cfg.SubModel) {
			cfg.SubModel, waiting = was, append(waiting, "subModel")
		}
		next, err = t.stack.prepare(cfg)
	}
	if err != nil {
		return err
	}
	sameRights := sameRules(t.rules, rules)
	if !sameRights {
		t.rules = rules
		t.stack.server.SetRights(rules)
		t.log.Info("the rights of agents have changed")
		t.tell(rules)
	}
	if err := next.make(); err != nil { // the proxy ends
		return err
	}
	t.level(cfg.Proxy)
	for _, w := range cfg.Warnings {
		if !slices.Contains(t.warnings, w) {
			t.log.Warn("configuration", "warning", w)
		}
	}
	t.warnings = cfg.Warnings
	switch {
	case len(next.what) > 0:
		t.log.Info("mcp.json was read again, the servers have changed", next.what...)
	case asked && sameRights:
		t.log.Info("mcp.json was read again, nothing has changed")
	}
	if len(waiting) > 0 && (asked || !slices.Equal(waiting, t.waiting)) {
		t.log.Warn("some changed settings take effect at the next start only", "settings", waiting)
	}
	t.waiting = waiting
	return nil
}

// refuse logs why the file is not taken over, a line for each mistake.
func (t *takeover) refuse(err error) {
	const text = "mcp.json cannot be used; the proxy goes on as before"
	var mistakes config.ErrorList
	var usage *usageError
	switch {
	case errors.As(err, &mistakes):
		for _, m := range mistakes {
			m.Excerpt = "" // which is for a terminal; the place is there
			t.log.Error(text, "error", m)
		}
	case errors.As(err, &usage) && usage.hint != "":
		t.log.Error(text, "error", err, "hint", usage.hint)
	default:
		t.log.Error(text, "error", err)
	}
}

// live is now with the liveSettings of next, and which others of next differ.
func live(now, next config.Proxy) (both config.Proxy, waiting []string) {
	both = now
	for i := range reflect.TypeFor[config.Proxy]().NumField() {
		name := reflect.TypeFor[config.Proxy]().Field(i).Tag.Get("koanf")
		value := reflect.ValueOf(next).Field(i)
		switch {
		case slices.Contains(liveSettings, name):
			reflect.ValueOf(&both).Elem().Field(i).Set(value)
		case !reflect.DeepEqual(value.Interface(), reflect.ValueOf(now).Field(i).Interface()):
			waiting = append(waiting, name)
		}
	}
	return both, waiting
}
