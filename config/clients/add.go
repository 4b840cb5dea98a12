package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/tailscale/hujson"

	"rlmproxy/config"
	"rlmproxy/config/jsonc"
)

// An Outcome is what became of a server when it was added to mcp.json.
type Outcome int

const (
	Added   Outcome = iota
	Present         // it was there already
	Differs         // another one of that name was there, and stays
)

// A Found is a server with where it was found.
type Found struct {
	Server
	Place Place
	// As is its name in mcp.json, and Outcome what became of it there.
	As      string
	Outcome Outcome
	// wait is how long the clients wait for a call that have the server by that name.
	wait time.Duration
}

// Merge names servers of several places: those that are alike have one name, others of the
// same name that of their client besides. It leaves those out that stay, and ours.
func Merge(found []Found) []*Found {
	var all []*Found
	first := map[string]*Found{}
	for i := range found {
		f := &found[i]
		if f.Stays != "" || f.Ours {
			continue
		}
		f.As = f.Name
		for n := 1; first[f.As] != nil && !reflect.DeepEqual(first[f.As].Entry, f.Entry); n++ {
			f.As = f.Name + "-" + f.Place.Client.Name
			if n > 1 {
				f.As = fmt.Sprintf("%s-%s-%d", f.Name, f.Place.Client.Name, n)
			}
		}
		if first[f.As] == nil {
			first[f.As] = f
		}
		first[f.As].wait = max(first[f.As].wait, f.Place.Client.patience)
		all = append(all, f)
	}
	return all
}

// Add is mcp.json at path with the servers, and says in each what became of it. data nil is
// no file yet. What stands there already stays as it is. A server without a timeout gets that
// of its client, where the client waits longer than the proxy would.
func Add(path string, data []byte, servers []*Found) ([]byte, error) {
	if data == nil {
		data = []byte("{\n  \"mcpServers\": {}\n}\n")
	}
	d, err := jsonc.Parse(path, data)
	if err != nil {
		return nil, err
	}
	limit := time.Minute // of a file that has a fault, and is refused below
	if cfg, _ := config.Parse(path, data); cfg != nil {
		limit = cfg.Proxy.CallTimeout
	}
	keys := []string{"mcpServers"}
	obj, err := d.Object(keys, true)
	if err != nil {
		return nil, err
	}
	for _, s := range servers {
		at := jsonc.Index(obj, s.As)
		if other := jsonc.Index(obj, s.Name+"-"+s.Place.Client.Name); at >= 0 && !covers(obj.Members[at].Value, s.Entry) && other >= 0 {
			s.As, at = jsonc.Name(obj.Members[other]), other
		}
		switch {
		case at < 0:
			s.Outcome = Added
			entry := s.Entry
			if entry.Timeout == 0 && s.wait > limit {
				entry.Timeout = Seconds(s.wait.Seconds())
			}
			if err := d.Put(obj, keys, len(obj.Members), s.As, entry); err != nil {
				return nil, err
			}
		case covers(obj.Members[at].Value, s.Entry):
			s.Outcome = Present
		default:
			s.Outcome = Differs
		}
	}
	out := d.Bytes()
	if len(obj.Members) > 0 {
		if _, err := config.Parse(path, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// covers reports whether the entry v says what e says, whatever else the operator set there.
func covers(v hujson.Value, e Entry) bool {
	there, err := jsonc.Decoded(v)
	entry, ok := there.(map[string]any)
	if err != nil || !ok {
		return false
	}
	text, err := json.Marshal(e)
	if err != nil {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var want map[string]any
	if dec.Decode(&want) != nil {
		return false
	}
	for key, value := range entry {
		if key == "timeout" && want[key] == nil { // ours, by the client's patience
			continue
		}
		if slices.Contains(entryKeys, key) && !reflect.DeepEqual(value, want[key]) {
			return false
		}
	}
	for key := range want {
		if entry[key] == nil {
			return false
		}
	}
	return true
}
