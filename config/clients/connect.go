package clients

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"rlmproxy/config/jsonc"
)

// maxServers bounds those of one file.
const maxServers = 1000

// ErrNotConnected means that a file has no entry of ours.
var ErrNotConnected = errors.New("rlmproxy is not in it")

// Read gives the servers that data, the file of p, has, in its order.
func (p Place) Read(data []byte) ([]Server, error) {
	var servers []Server
	if p.Client.form == table {
		tree, err := decodeTOML(p.Path, data)
		if err != nil {
			return nil, err
		}
		if _, ok := tree[p.keys[0]].(map[string]any); !ok && tree[p.keys[0]] != nil {
			return nil, fmt.Errorf("%s: %s is not a table", p.Path, p.keys[0])
		}
		entries := serversIn(tree, p.keys[0])
		all, err := expressions(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		seen := map[string]bool{}
		if err := p.bounded(len(entries)); err != nil {
			return nil, err
		}
		for _, e := range all {
			if name := e.serverOf(p.keys[0]); name != "" && !seen[name] {
				seen[name] = true
				servers = append(servers, p.read(name, entries[name]))
			}
		}
		// What is written in one line, as mcp_servers = {…}, stays.
		return servers, nil
	}
	d, err := jsonc.Parse(p.Path, data)
	if err != nil {
		return nil, err
	}
	obj, err := p.object(d, false)
	if err != nil || obj == nil {
		return nil, err
	}
	for _, m := range obj.Members {
		raw, err := jsonc.Decoded(m.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		servers = append(servers, p.read(jsonc.Name(m), raw))
	}
	p.excluded(d, servers)
	p.general(d, servers)
	p.switchedOff(d, servers)
	return servers, nil
}

// object is that of the servers in d, or nil.
func (p Place) object(d *jsonc.Document, create bool) (*hujson.Object, error) {
	obj, err := d.Object(p.keys, create)
	if err == nil && obj != nil {
		err = p.bounded(len(obj.Members))
	}
	return obj, err
}

func (p Place) bounded(n int) error {
	if n > maxServers {
		return fmt.Errorf("%s: it has %d servers; %d are allowed", p.Path, n, maxServers)
	}
	return nil
}

// excluded disables those that Gemini CLI does not start ("mcp": {"excluded": […]}).
func (p Place) excluded(d *jsonc.Document, servers []Server) {
	obj, err := d.Object([]string{"mcp"}, false)
	if p.Client.Name != "gemini" || err != nil || obj == nil {
		return
	}
	for _, m := range obj.Members {
		v, _ := jsonc.Decoded(m.Value)
		list, _ := v.([]any)
		for i := range servers {
			if on := slices.Contains(list, any(servers[i].Name)); jsonc.Name(m) == "excluded" && on || jsonc.Name(m) == "allowed" && len(list) > 0 && !on {
				servers[i].Entry.Disabled = true
			}
		}
		if jsonc.Name(m) == "allowed" && len(list) > 0 && !slices.Contains(list, any(Ours)) && len(servers) > 0 {
			servers[0].Notes = append(servers[0].Notes, fmt.Sprintf("mcp.allowed of %s must name %q, or the client does not start it", p.Path, Ours))
		}
	}
}

// general gives servers without a timeout the one that the client's file has for them.
func (p Place) general(d *jsonc.Document, servers []Server) {
	path := p.Client.timeout
	if path == nil {
		return
	}
	last := len(path) - 1
	obj, err := d.Object(path[:last], false)
	if err != nil || obj == nil || jsonc.Index(obj, path[last]) < 0 {
		return
	}
	v, _ := jsonc.Decoded(obj.Members[jsonc.Index(obj, path[last])].Value)
	for i := range servers {
		if s := &servers[i]; s.Stays == "" && !s.Ours && s.Entry.Timeout == 0 {
			reading{p, s}.timeout(strings.Join(path, "."), v)
		}
	}
}

// A Launch is how a client starts the proxy.
type Launch struct {
	Command string
	Args    []string
	// Timeout is the longest that the client's file gives a server behind it, or 0.
	Timeout Seconds
}

// timeout is that of our entry in the unit of c, or 0: the client has to wait for us as long
// as it did for any server.
func (l Launch) timeout(c *Client) int {
	enough := c.patience
	if c.listing > 0 {
		enough = c.listing
	}
	if c.unit == 0 || l.Timeout <= Seconds(enough.Seconds()) {
		return 0
	}
	longest := max(float64(l.Timeout), c.patience.Seconds())
	return int(math.Ceil(longest / c.unit.Seconds()))
}

// entry is our entry in the form of c.
func (l Launch) entry(c *Client) any {
	type form struct {
		Type    string `json:"type,omitempty"`
		Command any    `json:"command"`
		Args    any    `json:"args,omitempty"`
		Enabled bool   `json:"enabled,omitempty"`
		Timeout int    `json:"timeout,omitempty"`
	}
	timeout := l.timeout(c)
	switch c.form {
	case list:
		return form{Type: "local", Command: append([]string{l.Command}, l.Args...), Enabled: true, Timeout: timeout}
	case typed:
		return form{Type: "stdio", Command: l.Command, Args: l.Args, Timeout: timeout}
	}
	return form{Command: l.Command, Args: l.Args, Timeout: timeout}
}

// Connect is data without the servers that are taken, and with the proxy.
func (p Place) Connect(data []byte, taken []string, l Launch) ([]byte, error) {
	gone := func(name string) bool { return name == Ours || slices.Contains(taken, name) }
	if p.Client.form == table {
		return cutTOML(p.Path, data, p.keys[0], gone, l.toml(p.Client))
	}
	return p.edit(data, gone, func(d *jsonc.Document, obj *hujson.Object) error {
		return d.Put(obj, p.keys, 0, Ours, l.entry(p.Client))
	})
}

// edit puts our entry first and takes members out.
func (p Place) edit(data []byte, gone func(string) bool, put func(*jsonc.Document, *hujson.Object) error) ([]byte, error) {
	d, err := jsonc.Parse(p.Path, data)
	if err != nil {
		return nil, err
	}
	obj, err := p.object(d, true)
	if err != nil {
		return nil, err
	}
	if err := put(d, obj); err != nil {
		return nil, err
	}
	for i := len(obj.Members) - 1; i > 0; i-- {
		if gone(jsonc.Name(obj.Members[i])) {
			jsonc.Remove(obj, i)
		}
	}
	return d.Bytes(), nil
}

// Undo is data without the proxy and with the servers that were taken from backup, which may
// be nil. If nothing but our part has changed since, it is backup, byte for byte.
func (p Place) Undo(data, backup []byte) ([]byte, error) {
	if p.Client.form == table {
		return p.undoTOML(data, backup)
	}
	d, err := jsonc.Parse(p.Path, data)
	if err != nil {
		return nil, err
	}
	obj, err := p.object(d, false)
	if err != nil {
		return nil, err
	}
	if obj == nil || jsonc.Index(obj, Ours) < 0 {
		return nil, fmt.Errorf("%s: %w", p.Path, ErrNotConnected)
	}
	if backup == nil {
		jsonc.Remove(obj, jsonc.Index(obj, Ours))
		return d.Bytes(), nil
	}
	past, err := jsonc.Parse(p.Backup(), backup)
	if err != nil {
		return nil, err
	}
	was, err := p.object(past, false)
	if err != nil {
		return nil, err
	}
	at := jsonc.Index(obj, Ours)
	ours := obj.Members[at]
	again, err := p.edit(backup, func(key string) bool { return jsonc.Index(obj, key) < 0 || key == Ours }, func(d *jsonc.Document, obj *hujson.Object) error {
		d.Insert(obj, 0, len(p.keys), Ours, hujson.Value{Value: ours.Value.Value})
		return nil
	})
	if err == nil && bytes.Equal(again, data) {
		return backup, nil
	}
	jsonc.Remove(obj, at)
	p.restore(d, obj, was)
	return d.Bytes(), nil
}

// restore puts back what was and is not there any more.
func (p Place) restore(d *jsonc.Document, obj, was *hujson.Object) {
	if was == nil {
		if len(obj.Members) == 0 { // our own
			parent, _ := d.Object(p.keys[:len(p.keys)-1], false)
			jsonc.Remove(parent, jsonc.Index(parent, p.keys[len(p.keys)-1]))
		}
		return
	}
	untouched := true
	for _, m := range obj.Members {
		at := jsonc.Index(was, jsonc.Name(m))
		untouched = untouched && at >= 0 && jsonc.Same(m.Value, was.Members[at].Value)
	}
	if untouched {
		*obj = *was
		return
	}
	comma := jsonc.Trailing(obj)
	jsonc.SetTrailing(obj, false)
	back := was.Members[:len(was.Members):len(was.Members)]
	for i := range back {
		if at := jsonc.Index(obj, jsonc.Name(back[i])); at >= 0 {
			back[i] = obj.Members[at]
			obj.Members = slices.Delete(obj.Members, at, at+1)
		} else {
			back[i].Value.AfterExtra = nil
		}
	}
	obj.Members = append(back, obj.Members...)
	jsonc.SetTrailing(obj, comma)
}

// undoTOML is Undo for TOML.
func (p Place) undoTOML(data, backup []byte) ([]byte, error) {
	key := p.keys[0]
	now, err := decodeTOML(p.Path, data)
	if err != nil {
		return nil, err
	}
	ours := func(name string) bool { return name == Ours }
	if serversIn(now, key)[Ours] == nil {
		return nil, fmt.Errorf("%s: %w", p.Path, ErrNotConnected)
	}
	if backup == nil {
		return cutTOML(p.Path, data, key, ours, nil)
	}
	gone := func(name string) bool { return name == Ours || name != "" && serversIn(now, key)[name] == nil }
	_, entry, err := split(data, key, ours)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	again, err := cutTOML(p.Path, backup, key, gone, entry)
	if err == nil && bytes.Equal(again, data) {
		return backup, nil
	}
	_, back, err := split(backup, key, gone)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Backup(), err)
	}
	return cutTOML(p.Path, data, key, ours, back)
}
