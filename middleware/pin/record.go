package pin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"rlmproxy/middleware/upstream"
	"rlmproxy/private"
)

// A Record is what a file holds: the tools of one server.
type Record struct {
	Version int              `json:"version"`
	Server  string           `json:"server"` // its name
	Tools   map[string]*Tool `json:"tools"`

	path    string
	changed bool // since it was loaded
}

// A Tool is one that a server has offered, its definitions canonical.
type Tool struct {
	// Pinned is what agents get, nil if nobody has accepted one yet.
	Pinned json.RawMessage `json:"pinned,omitempty"`
	// Seen is another one that the server offers by now, held back; or nil.
	Seen json.RawMessage `json:"seen,omitempty"`
}

const (
	version = 1
	// Bounds on what one server can have us keep; a server lists no more at once.
	maxTools = 10000
	maxBytes = 64 << 20
)

// load reads a file. One that is not there is an empty record.
func load(path string) (*Record, error) {
	r := &Record{path: path}
	data, err := private.Read(path, 2*maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return &Record{Version: version, Tools: map[string]*Tool{}, path: path}, nil
	}
	if err != nil {
		return nil, err
	}
	switch err := json.Unmarshal(data, r); {
	case err != nil:
		return nil, fmt.Errorf("%s is not in rlmproxy's format: %w", path, err)
	case r.Version != version || r.Tools == nil:
		return nil, fmt.Errorf("%s is not in this rlmproxy's format: version %d", path, r.Version)
	}
	for name, t := range r.Tools {
		if t == nil || t.Pinned == nil && t.Seen == nil {
			return nil, fmt.Errorf("%s is not in rlmproxy's format: the tool %q has no definition", path, name)
		}
		t.Pinned, t.Seen = canonical(t.Pinned), canonical(t.Seen)
	}
	return r, nil
}

// save writes the file anew, as a whole or not at all.
func (r *Record) save() error {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(r); err != nil {
		return err
	}
	return private.Replace(r.path, data.Bytes())
}

// see compares tools with the record, which it changes: what is new is pinned, or with
// quarantine waits, and so does what has changed.
func (r *Record) see(tools []upstream.Tool, offers func(string) bool, quarantine bool) sight {
	seen := sight{held: map[string]string{}, raw: map[string][]byte{}, first: len(r.Tools) == 0}
	size := 0
	for _, t := range r.Tools {
		size += len(t.Pinned) + len(t.Seen)
	}
	for _, tool := range tools {
		if !offers(tool.Name) {
			continue
		}
		key := strings.ToValidUTF8(tool.Name, "\uFFFD") // as JSON has it
		def := canonical(tool.Raw)
		t := r.Tools[key]
		switch {
		case t != nil && bytes.Equal(t.Pinned, def):
			r.changed = r.changed || t.Seen != nil
			t.Seen = nil
			continue
		case t == nil && len(r.Tools) == maxTools, size+len(def) > maxBytes:
			seen.held[tool.Name] = "too many tools of this server are pinned already"
			continue
		case t == nil:
			t = &Tool{}
			r.Tools[key] = t
		}
		seen.raw[tool.Name] = def
		if t.Pinned == nil && !quarantine {
			t.Pinned, t.Seen, r.changed = def, nil, true
			size += len(def)
			seen.added = append(seen.added, tool.Name)
			continue
		}
		if !bytes.Equal(t.Seen, def) {
			t.Seen, r.changed = def, true
			size += len(def)
		}
		seen.held[tool.Name] = t.Change()
	}
	return seen
}

// Change says in a few words why a tool is held back.
func (t *Tool) Change() string {
	if t.Pinned == nil {
		return "it is new, and in quarantine"
	}
	members := differing(t.Pinned, t.Seen)
	return fmt.Sprintf("its definition has changed since it was pinned (%s)", strings.Join(members, ", "))
}

// Names are those of all tools, sorted.
func (r *Record) Names() []string { return slices.Sorted(maps.Keys(r.Tools)) }

// Held are the names of the tools that are held back, sorted.
func (r *Record) Held() []string {
	var names []string
	for _, name := range r.Names() {
		if r.Tools[name].Seen != nil {
			names = append(names, name)
		}
	}
	return names
}

// Accept pins what is held back of a tool.
func (r *Record) Accept(tool string) {
	t := r.Tools[tool]
	t.Pinned, t.Seen, r.changed = t.Seen, nil, true
}
