// Package entries changes the servers of mcp.json as an agent asks.
//
//	the file, changes ─► Apply ─► Edit: the file as it would be, what that does, whether a person must agree
//
// An agent has read what servers and strangers wrote. So what it adds or has run anew is in
// quarantine, and it can neither reach a secret of the operator's nor loosen what the
// operator has set to guard something. Nothing here opens a file.
package entries

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"rlmproxy/config"
	"rlmproxy/config/jsonc"
	"rlmproxy/jsonscan"
)

// What a [Change] may do.
const (
	Add     = "add"
	Remove  = "remove"
	Enable  = "enable"
	Disable = "disable"
	Update  = "update"
)

// Actions are these.
var Actions = []string{Add, Remove, Enable, Disable, Update}

const (
	// maxChanges bounds those of one Apply, maxEntry the bytes of an entry that an agent
	// writes, and maxServers those that the file has then.
	maxChanges = 20
	maxEntry   = 16 << 10
	maxServers = 1000
)

// A Change is what becomes of one server.
type Change struct {
	Action string
	Name   string
	// Server is an entry as in mcp.json: a whole one to add, or for an update the keys that
	// change, of which null removes one.
	Server json.RawMessage
}

// An Edit is a file with changes.
type Edit struct {
	Data []byte
	// Does says of each change what it does, in full: it has everything that the agent wrote,
	// and nothing that stood there before.
	Does []string
	// Asks are names of servers of which a person must agree to what becomes of them: they are
	// added, run something else, or get other names for their tools.
	Asks []string
	// Held are those of them that are in quarantine from now on.
	Held []string
}

// runs are the keys that say what a server runs, or what it is given.
var runs = []string{"command", "args", "env", "cwd", "url", "headers", "type"}

// secrets are the keys whose values may be secrets of the operator, or lead to them. What runs
// instead of a server must not get them.
var secrets = []string{"args", "env", "envFile", "inheritEnv", "headers", "auth"}

// plain are the keys that an agent may change of any server, and added those that it may only
// give to one that it adds: for others they are what the operator guards something with.
var (
	plain = []string{"timeout", "description", "prefix", "shape", "maxResponseTokens", "exposure"}
	added = []string{"disabled", "allow", "deny", "hide", "readOnly", "features", "tools", "rateLimit", "concurrency", "quarantine"}
)

// name is what an agent may call a server: nothing that looks like another one.
var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$`)

// section is where the servers are.
var section = []string{"mcpServers"}

// An editor applies changes to a document.
type editor struct {
	doc     *jsonc.Document
	servers *hujson.Object
	pins    bool // tools are pinned where an entry does not say
	edit    *Edit
}

// Apply makes changes to data, what mcp.json at path has. pins is the setting pinTools. The
// error has a line for each change that cannot be made, and shows no value of the file; what
// else is wrong, package config finds.
func Apply(path string, data []byte, changes []Change, pins bool) (*Edit, error) {
	doc, err := jsonc.Parse(path, data)
	if err != nil {
		return nil, err
	}
	servers, err := doc.Object(section, true)
	if err != nil {
		return nil, err
	}
	e := &editor{doc, servers, pins, &Edit{}}
	if len(changes) > maxChanges {
		return nil, fmt.Errorf("%d changes; at most %d are made at a time", len(changes), maxChanges)
	}
	var wrong []error
	seen := map[string]bool{}
	for _, c := range changes {
		err := e.apply(c)
		if seen[c.Name] {
			err = errors.New("it has a change already: one for each server is made at a time")
		}
		seen[c.Name] = true
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s %s: %w", c.Action, quoted(c.Name), err))
		}
	}
	if len(servers.Members) > maxServers {
		wrong = append(wrong, fmt.Errorf("%d servers, of at most %d", len(servers.Members), maxServers))
	}
	if wrong != nil {
		return nil, errors.Join(wrong...)
	}
	e.edit.Data = doc.Bytes()
	return e.edit, nil
}

// quoted is a name as text shows it.
func quoted(name string) string {
	const most = 80 // bytes
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}

func (e *editor) apply(c Change) error {
	at := jsonc.Index(e.servers, c.Name)
	switch {
	case !slices.Contains(Actions, c.Action):
		return fmt.Errorf("no such action; there are %s", strings.Join(Actions, ", "))
	case c.Action == Add && at >= 0:
		return errors.New("there is a server of this name; an update changes it")
	case c.Action != Add && at < 0:
		return e.unknown()
	case c.Server == nil && (c.Action == Add || c.Action == Update):
		return errors.New("server is missing")
	case c.Server != nil && c.Action != Add && c.Action != Update:
		return errors.New("it takes no server")
	case len(c.Server) > maxEntry:
		return fmt.Errorf("the entry has %d bytes, of at most %d", len(c.Server), maxEntry)
	}
	switch c.Action {
	case Add:
		return e.add(c)
	case Remove:
		jsonc.RemoveAlone(e.servers, at)
		e.does("remove %s, with its entry in mcp.json", quoted(c.Name))
		return nil
	}
	entry, ok := e.servers.Members[at].Value.Value.(*hujson.Object)
	if !ok {
		return errors.New("its entry is not an object")
	}
	if c.Action == Update {
		return e.update(c, entry)
	}
	e.does("%s %s", c.Action, quoted(c.Name))
	return e.able(c, entry)
}

// does notes what a change does.
func (e *editor) does(format string, args ...any) {
	e.edit.Does = append(e.edit.Does, fmt.Sprintf(format, args...))
}

func (e *editor) unknown() error {
	var names []string
	for i, m := range e.servers.Members {
		if i == 20 {
			names = append(names, "…")
			break
		}
		names = append(names, quoted(jsonc.Name(m)))
	}
	return fmt.Errorf("there is no such server; there are %s", strings.Join(names, ", "))
}

// below leads to a key of a server.
func below(name string) []string { return append(slices.Clone(section), name) }

func (e *editor) add(c Change) error {
	if !name.MatchString(c.Name) {
		return errors.New("a name has letters, digits, blanks, '.', '_' and '-', and begins with one of the first two")
	}
	keys, err := read(c.Server)
	if err != nil {
		return err
	}
	raw := []byte{'{'}
	for _, k := range keys {
		switch {
		case string(k.value) == "null":
			continue
		case k.name == "quarantine" && string(k.value) != "true":
			return errors.New("quarantine: what an agent adds is in quarantine")
		case k.name == "quarantine":
			continue
		case !slices.Contains(slices.Concat(runs, plain, added), k.name):
			return refused(k.name, slices.Concat(runs, plain, added))
		}
		raw = jsonscan.AppendMember(raw, k.name, k.value)
	}
	shown := append(bytes.Clone(raw), '}')
	raw = jsonscan.AppendMember(raw, "quarantine", []byte("true"))
	if !e.pins {
		raw = jsonscan.AppendMember(raw, "pinTools", []byte("true"))
	}
	if err := e.doc.Put(e.servers, section, len(e.servers.Members), c.Name, json.RawMessage(append(raw, '}'))); err != nil {
		return err
	}
	e.does("add %s, in quarantine: %s", quoted(c.Name), shown)
	e.edit.Asks, e.edit.Held = append(e.edit.Asks, c.Name), append(e.edit.Held, c.Name)
	return nil
}

func (e *editor) update(c Change, entry *hujson.Object) error {
	keys, err := read(c.Server)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return errors.New("server has no key to change")
	}
	another := slices.ContainsFunc(keys, func(k key) bool { return slices.Contains(runs, k.name) })
	given := map[string]bool{}
	for _, k := range keys {
		given[k.name] = true
		removes := string(k.value) == "null" && another && slices.Contains(secrets, k.name)
		switch {
		case !removes && !slices.Contains(slices.Concat(runs, plain), k.name):
			return refused(k.name, slices.Concat(runs, plain))
		case k.name == "prefix" || another:
			e.asks(c.Name)
		}
	}
	if another {
		if err := kept(entry, given); err != nil {
			return err
		}
	}
	var set, removed []string
	for _, k := range keys {
		// In whatever spelling it stands there.
		for i := len(entry.Members) - 1; i >= 0; i-- {
			if own := jsonc.Name(entry.Members[i]); config.ServerKey(own) == k.name && (own != k.name || string(k.value) == "null") {
				jsonc.RemoveAlone(entry, i)
			}
		}
		if string(k.value) == "null" {
			removed = append(removed, k.name)
			continue
		}
		if err := e.doc.Set(entry, below(c.Name), k.name, k.value); err != nil {
			return err
		}
		set = append(set, fmt.Sprintf("%q:%s", k.name, k.value))
	}
	what := "change " + quoted(c.Name)
	if another {
		what += ", into quarantine"
		e.edit.Held = append(e.edit.Held, c.Name)
		if err := e.hold(c.Name, entry); err != nil {
			return err
		}
	}
	if set != nil {
		what += ": set {" + strings.Join(set, ",") + "}"
	}
	if removed != nil {
		what += ": remove " + strings.Join(removed, ", ")
	}
	e.does("%s", what)
	return nil
}

func (e *editor) asks(name string) {
	if !slices.Contains(e.edit.Asks, name) {
		e.edit.Asks = append(e.edit.Asks, name)
	}
}

// hold puts a server that is there into quarantine, which needs pins.
func (e *editor) hold(name string, entry *hujson.Object) error {
	if err := e.doc.Set(entry, below(name), "quarantine", true); err != nil {
		return err
	}
	at := jsonc.Index(entry, "pinTools")
	if at < 0 && e.pins {
		return nil
	}
	return e.doc.Set(entry, below(name), "pinTools", true)
}

// able enables or disables a server, in the spelling that its entry has.
func (e *editor) able(c Change, entry *hujson.Object) error {
	set := false
	for _, m := range entry.Members {
		own := jsonc.Name(m)
		if config.ServerKey(own) != "disabled" {
			continue
		}
		set = true
		if err := e.doc.Set(entry, below(c.Name), own, (own == "disabled") == (c.Action == Disable)); err != nil {
			return err
		}
	}
	if set || c.Action == Enable {
		return nil
	}
	return e.doc.Set(entry, below(c.Name), "disabled", true)
}

// A key of an entry that an agent wrote.
type key struct {
	name  string
	value json.RawMessage
}

// read is an entry that an agent wrote, which refers to nothing of the operator's.
func read(server json.RawMessage) (keys []key, err error) {
	if jsonscan.Kind(server) != '{' {
		return nil, errors.New("server is not an object")
	}
	seen := map[string]bool{}
	var b bytes.Buffer
	if err := json.Compact(&b, server); err != nil {
		return nil, errors.New("server is not JSON")
	}
	err = jsonscan.Members(b.Bytes(), func(name string, value json.RawMessage) error {
		if seen[name] {
			return fmt.Errorf("%s stands twice", quoted(name))
		}
		seen[name] = true
		keys = append(keys, key{name, value})
		var v any
		if err := json.Unmarshal(value, &v); err != nil {
			return fmt.Errorf("%s: not JSON", quoted(name))
		}
		if refers(v) {
			return fmt.Errorf("%s has a reference (${…}), which would hand the server what the operator keeps; only the operator writes one into mcp.json", quoted(name))
		}
		return nil
	})
	return keys, err
}

// refers reports whether a text in v may be a reference to a variable, file or keyring.
func refers(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, "${")
	case []any:
		return slices.ContainsFunc(v, refers)
	case map[string]any:
		for name, value := range v {
			if refers(name) || refers(value) {
				return true
			}
		}
	}
	return false
}

// refused is why an agent may not set a key.
func refused(key string, may []string) error {
	if ours := config.ServerKey(key); slices.Contains(may, ours) {
		return fmt.Errorf("%s: write %s", quoted(key), ours)
	} else if ours != "" {
		return fmt.Errorf("%s is the operator's to set", quoted(key))
	}
	return fmt.Errorf("no key %s; an agent may set %s", quoted(key), strings.Join(may, ", "))
}

// kept refuses a change of what a server runs that leaves what may be a secret of the operator's
// to it. Given are the keys that change.
func kept(entry *hujson.Object, given map[string]bool) error {
	for _, m := range entry.Members {
		own := config.ServerKey(jsonc.Name(m))
		value, err := jsonc.Decoded(m.Value)
		if err != nil {
			return errors.New("its entry cannot be read")
		}
		if own == "" || given[own] || empty(value) {
			continue
		}
		if slices.Contains(secrets, own) || slices.Contains(runs, own) && refers(value) {
			return fmt.Errorf("%s stays as it stands there, and what runs then would get it, with secrets that it may have: give %s too, or null to remove it", quoted(own), own)
		}
	}
	return nil
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case bool:
		return !v
	}
	return v == ""
}
