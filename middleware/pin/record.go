package pin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rlmproxy/middleware/upstream"
)

// A Record is the tools of one server, as a file or an entry of a store has it.
type Record struct {
	Version int              `json:"version"`
	Server  string           `json:"server"` // its name
	Tools   map[string]*Tool `json:"tools"`

	name     string // on the shelf
	revision string
	changed  bool // since it was loaded
	gone     bool // it was forgotten
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

// parse reads a record, nil data being an empty one. At is where it is, for people.
func parse(data []byte, at string) (*Record, error) {
	r := &Record{}
	if data == nil {
		return &Record{Version: version, Tools: map[string]*Tool{}}, nil
	}
	switch err := json.Unmarshal(data, r); {
	case err != nil:
		return nil, fmt.Errorf("%s is not in rlmproxy's format: %w", at, err)
	case r.Version != version || r.Tools == nil:
		return nil, fmt.Errorf("%s is not in this rlmproxy's format: version %d", at, r.Version)
	}
	for name, t := range r.Tools {
		if t == nil || t.Pinned == nil && t.Seen == nil {
			return nil, fmt.Errorf("%s is not in rlmproxy's format: the tool %q has no definition", at, name)
		}
		t.Pinned, t.Seen = canonical(t.Pinned), canonical(t.Seen)
	}
	return r, nil
}

// encode is what parse reads.
func (r *Record) encode() ([]byte, error) {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(r)
	return data.Bytes(), err
}

// see compares tools with the record, which it changes: what is new is pinned, or with
// quarantine waits, and so does what has changed. Of a list that was seen before, what others
// have seen since stays: with different lists, two proxies would write by turns without end.
func (r *Record) see(tools []upstream.Tool, offers func(string) bool, quarantine, again bool) sight {
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
			if t.Seen != nil && !again {
				t.Seen, r.changed = nil, true
			}
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
		if !bytes.Equal(t.Seen, def) && (t.Seen == nil || !again) {
			t.Seen, r.changed = def, true
			size += len(def)
		}
		seen.held[tool.Name] = change(t.Pinned, def)
	}
	return seen
}

// Change says in a few words why a tool is held back.
func (t *Tool) Change() string { return change(t.Pinned, t.Seen) }

func change(pinned, seen json.RawMessage) string {
	if pinned == nil {
		return "it is new, and in quarantine"
	}
	members := differing(pinned, seen)
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
