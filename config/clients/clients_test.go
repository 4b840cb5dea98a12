package clients

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

var ann = System{OS: "linux", Home: "/home/ann", Dir: "/home/ann/work", Getenv: func(string) string { return "" }}

var launch = Launch{Command: "/usr/bin/rlmproxy", Args: []string{"serve", "--config", "/home/ann/.config/rlmproxy/x.json"}}

// fixture is the file of c in testdata, and its first place.
func fixture(t *testing.T, c *Client) (Place, []byte) {
	t.Helper()
	p := ann.Places(c, func(string) bool { return false })[0]
	data, err := os.ReadFile(filepath.Join("testdata", c.Name+map[bool]string{true: ".toml", false: ".json"}[c.form == table]))
	if err != nil {
		t.Fatal(err)
	}
	return p, data
}

// connected are the names that the proxy takes over, and data with it in their place.
func connected(t *testing.T, p Place, data []byte) ([]string, []byte) {
	t.Helper()
	servers, err := p.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	var taken []string
	l := launch
	for _, s := range servers {
		if s.Stays == "" && !s.Ours {
			taken = append(taken, s.Name)
			l.Timeout = max(l.Timeout, s.Entry.Timeout)
		}
	}
	out, err := p.Connect(data, taken, l)
	if err != nil {
		t.Fatal(err)
	}
	return taken, out
}

// TestImport: what each client writes becomes mcp.json, and what does not is said.
func TestImport(t *testing.T) {
	for i := range Clients {
		c := &Clients[i]
		t.Run(c.Name, func(t *testing.T) {
			p, data := fixture(t, c)
			servers, err := p.Read(data)
			if err != nil {
				t.Fatal(err)
			}
			var found []Found
			var notes strings.Builder
			for _, s := range servers {
				found = append(found, Found{Server: s, Place: p})
				if s.Stays != "" {
					fmt.Fprintf(&notes, "%s stays: %s\n", s.Name, s.Stays)
				}
				if s.Ours {
					fmt.Fprintf(&notes, "%s is ours\n", s.Name)
				}
				for _, name := range s.Secrets {
					fmt.Fprintf(&notes, "%s needs the secret %s\n", s.Name, name)
				}
				for _, n := range s.Notes {
					fmt.Fprintf(&notes, "%s: %s\n", s.Name, n)
				}
			}
			got, err := Add("mcp.json", nil, Merge(found))
			if err != nil {
				t.Fatal(err)
			}
			_, after := connected(t, p, data)
			golden(t, c.Name, fmt.Sprintf("%s-- notes --\n%s-- connected --\n%s", got, notes.String(), after))
			again, err := Add("mcp.json", got, Merge(found))
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("added once more: %v\n%s", err, cmp.Diff(string(got), string(again)))
			}
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// TestUndo: disconnecting gives the bytes back, also where something else of the file has
// changed since, or a server was added.
func TestUndo(t *testing.T) {
	for i := range Clients {
		c := &Clients[i]
		p, data := fixture(t, c)
		change := func(b []byte) []byte {
			return bytes.Replace(b, []byte("before-the-change"), []byte("since"), 1)
		}
		for _, crlf := range []bool{false, true} {
			data := data
			if crlf {
				data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
			}
			_, after := connected(t, p, data)
			if bytes.Equal(after, data) || crlf != bytes.Contains(after, []byte("\r\n")) || crlf && bytes.Count(after, []byte("\r\n")) != bytes.Count(after, []byte("\n")) {
				t.Errorf("%s: connected, crlf %v:\n%q", c.Name, crlf, after)
			}
			if got, err := p.Undo(after, data); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %v\n%s", c.Name, err, cmp.Diff(string(data), string(got)))
			}
			got, err := p.Undo(change(after), data)
			if c.form == table { // whose tables come back at the end
				sameTOML(t, change(data), got)
			} else if !bytes.Equal(got, change(data)) {
				t.Errorf("%s, changed: %v\n%s", c.Name, err, cmp.Diff(string(change(data)), string(got)))
			}
			if _, err := p.Undo(data, data); !errors.Is(err, ErrNotConnected) {
				t.Errorf("%s, not connected: %v", c.Name, err)
			}
		}
	}
}

func sameTOML(t *testing.T, want, got []byte) {
	t.Helper()
	w, err1 := decodeTOML("", want)
	g, err2 := decodeTOML("", got)
	if err1 != nil || err2 != nil || !cmp.Equal(w, g) {
		t.Error(err1, err2, cmp.Diff(w, g))
	}
	for line := range strings.Lines(string(want)) {
		if strings.HasPrefix(line, "#") && !bytes.Contains(got, []byte(line)) {
			t.Errorf("the comment %q is lost", line)
		}
	}
}
