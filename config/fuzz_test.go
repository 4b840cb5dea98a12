package config

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// FuzzLoad holds loading to its promises: no file makes it panic, what it
// accepts is usable and the same each time, and what it refuses has a place
// in the file.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, file := range append(files, "../mcp.json.example") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("\xef\xbb\xbf{\"mcpServers\": {\"a\": {\"url\": \"${U:-http://h}\"}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := Options{Environ: []string{"HOME=/home", "A=1", "EMPTY="}}
		c, err := load("mcp.json", "/etc/mcp.json", data, opts)
		if err != nil {
			checkMistakes(t, data, err)
			return
		}
		again, err := load("mcp.json", "/etc/mcp.json", data, opts)
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Errorf("loads differ (%v):\n%+v\n%+v", err, c, again)
		}
		checkConfig(t, c)
	})
}

func checkMistakes(t *testing.T, data []byte, err error) {
	list, ok := errors.AsType[ErrorList](err)
	if !ok || len(list) == 0 {
		t.Fatalf("error %T %v, want an ErrorList", err, err)
	}
	lines := 1 + strings.Count(string(data), "\n")
	for _, m := range list {
		if m.Text == "" || m.Line > lines || (m.Line > 0) != (m.Column > 0) {
			t.Errorf("mistake %+v in %d lines", m, lines)
		}
	}
	// A key of each nested object is up to 64 characters, for at most 5 levels.
	if text := list.Error(); len(text) > 100_000 {
		t.Errorf("an error of %d bytes", len(text))
	}
}

func checkConfig(t *testing.T, c *Config) {
	if len(c.Servers) == 0 {
		t.Error("no servers")
	}
	names := map[string]bool{}
	for _, s := range c.Servers {
		if s.Name == "" || len([]rune(s.Name)) > 64 || names[s.Name] {
			t.Errorf("server name %q", s.Name)
		}
		names[s.Name] = true
		if (s.Command == "") == (s.URL == "") || (s.Type == "stdio") != (s.Command != "") || s.Timeout <= 0 || s.MaxResponseTokens < 0 {
			t.Errorf("server %+v", s)
		}
		for _, glob := range append(append(s.Allow, s.Deny...), s.FreshCalls...) {
			if _, err := path.Match(glob, "x"); err != nil {
				t.Errorf("glob %q", glob)
			}
		}
	}
	p := c.Proxy
	if (p.MaxResponseTokens > 0) == (p.MaxResponseSize > 0) || p.CacheTTL <= 0 || p.MaxEntriesPerAgent <= 0 || p.MaxMemory <= 0 || p.MaxLineBytes <= 0 {
		t.Errorf("proxy %+v", p)
	}
}
