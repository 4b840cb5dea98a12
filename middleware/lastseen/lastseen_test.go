package lastseen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/middleware/upstream"
)

// seen is what a server with these tools offers. Its bytes are not as an encoder writes them.
func seen(names ...string) (o upstream.Offers) {
	o.Info = &upstream.Info{ProtocolVersion: "2025-11-25", Instructions: "Be <kind>.", Declared: json.RawMessage(`{"tools":{ },"future":{"x":1.0}}`)}
	_ = json.Unmarshal(o.Info.Declared, &o.Info.Capabilities)
	for _, name := range names {
		raw := fmt.Sprintf("{ \"name\":%q,\n\"inputSchema\":{\"type\":\"object\",\"max\":9007199254740993,\"a\":\"<\\u003c\"}}", name)
		o.Tools = append(o.Tools, upstream.Tool{Name: name, Raw: json.RawMessage(raw)})
	}
	o.Prompts = []upstream.Tool{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}
	o.LeftOut = upstream.LeftOut{N: 1, Names: []string{"bad"}, Why: "no name"}
	return o
}

// TestFile: what was kept is there the next time, byte for byte; of two proxies of one
// configuration each writes what it has seen; what is configured no more goes.
func TestFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		open := func(servers ...string) *File {
			f, err := Open(dir, "c", false, logger)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range servers {
				f.Last(s)
			}
			return f
		}
		check := func(server string, want upstream.Offers, vain bool) {
			t.Helper()
			f, err := Open(dir, "c", true, logger)
			if err != nil {
				t.Fatal(err)
			}
			got, gotVain := f.Last(server)
			if diff := cmp.Diff(want, got); diff != "" || vain != gotVain {
				t.Errorf("%s: vain %t, -want +got:\n%s", server, gotVain, diff)
			}
			f.Keep(server, seen("nothing is written"))
			f.Close()
		}
		one, two := open("a", "b"), open("a", "b")
		one.Keep("a", seen("x"))
		two.Keep("b", seen("y", "z"))
		one.Close()
		two.Close()
		check("a", seen("x"), false)
		check("b", seen("y", "z"), false)
		check("c", upstream.Offers{}, false)

		f := open("a", "c")
		time.Sleep(time.Second)
		f.Keep("a", seen("x", "more"))
		time.Sleep(writeDelay)
		synctest.Wait()
		check("a", seen("x", "more"), false) // before the end
		check("c", upstream.Offers{}, false)
		check("b", upstream.Offers{}, false)
		time.Sleep(vainTime)
		synctest.Wait()
		check("c", upstream.Offers{}, true)
		f.Close()
		f.Keep("a", seen("too late"))
		time.Sleep(time.Minute)
		check("a", seen("x", "more"), false)
		f = open("a", "c") // c is not there, and was never
		f.Close()
		check("c", upstream.Offers{}, true)
		if log.Len() > 0 {
			t.Error(&log)
		}
		path := filepath.Join(dir, "lists", "c.json")
		for path, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			if info, err := os.Stat(path); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != want) {
				t.Errorf("%s: %v %v", path, info.Mode(), err)
			}
		}
	})
}

// TestForeignFiles: a file that is not as it should be is as if it were not there, which is
// told of once, and replaced.
func TestForeignFiles(t *testing.T) {
	whole := `{"version":1,"servers":{"a":` + string(seen("x").Encode()) + `}}`
	for _, tt := range []struct{ name, content, want string }{
		{"whole", whole, ""},
		{"torn", whole[:len(whole)/2], "is not in rlmproxy's format"},
		{"empty", "", "is not in rlmproxy's format"},
		{"another version", `{"version":2,"servers":{}}`, "version 2"},
		{"another shape", `{"version":1,"servers":{"a":[1]}}`, "cannot be used"},
		{"no tool", `{"version":1,"servers":{"a":{"info":{},"tools":[{"name":"x"}]}}}`, "inputSchema does not have"},
		{"two tools", `{"version":1,"servers":{"a":{"info":{},"tools":[{"name":"x","inputSchema":{"type":"object"}},{"name":"x","inputSchema":{"type":"object"}}]}}}`, "another one has the same name"},
		{"long", `{"version":1,"servers":{"a":{"info":{},"tools":[{"name":"x","inputSchema":{"type":"object","x":"` + strings.Repeat("x", 200<<10) + `"}}]}}}`, "a definition of more than"},
		{"nothing known", `{"version":1}`, ""},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "lists", "c.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		f, err := Open(dir, "c", false, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := f.Last("a")
		if known := got.Info != nil; known != (tt.name == "whole") || strings.Count(log.String(), "\n") != len(tt.want[:min(1, len(tt.want))]) || !strings.Contains(log.String(), tt.want) {
			t.Errorf("%s: known %t, %s", tt.name, known, &log)
		}
		f.Keep("a", seen("new"))
		f.Close()
		if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), `"new"`) {
			t.Errorf("%s: not replaced: %v", tt.name, err)
		}
	}
}

// TestFolder: it does not grow without end, and one that others can write to is not used.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for i := range maxFiles + 5 {
		f, err := Open(dir, fmt.Sprint(i), false, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		f.Last("a")
		f.Keep("a", seen())
		f.Close()
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "lists", "*.json")); len(files) != maxFiles {
		t.Errorf("%d files", len(files))
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(filepath.Join(dir, "lists"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "c", false, nil); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Error(err)
	}
}
