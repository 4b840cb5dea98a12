package container

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/script"
)

// tarOf is a tar of files, and of what else heads say.
func tarOf(t testing.TB, files map[string]string, heads ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		heads = append(heads, tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))})
	}
	for _, head := range heads {
		if err := w.WriteHeader(&head); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[head.Name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// registry serves the packages tiny and large of npm, and counts what is fetched of tiny.
func registry(t *testing.T) (fetched *atomic.Int32) {
	fetched = new(atomic.Int32)
	files := map[string][]byte{}
	for name, text := range map[string]string{"tiny": "exports.twice = n => 2 * n", "large": "//" + strings.Repeat("x", 3<<20)} {
		manifest := fmt.Sprintf(`{"name":%q,"version":"1.0.0","main":"i.js","scripts":{"postinstall":"node -e 'require(\"fs\").writeFileSync(\"ran\",\"\")'"}}`, name)
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(tarOf(t, map[string]string{"package/package.json": manifest, "package/i.js": text})); err != nil {
			t.Fatal(err)
		}
		w.Close()
		files[name] = b.Bytes()
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, file := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), "-1.0.0.tgz")
		data, ok := files[name]
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":"Not found"}`)
		case file:
			if name == "tiny" {
				fetched.Add(1)
			}
			_, _ = w.Write(data)
		default:
			fmt.Fprintf(w, `{"name":%q,"dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":%[1]q,"version":"1.0.0","hasInstallScript":true,"dist":{"tarball":"%[2]s/%[1]s-1.0.0.tgz","shasum":"%[3]x"}}}}`,
				name, "http://"+r.Host, sha1.Sum(data))
		}
	}))
	t.Cleanup(s.Close)
	t.Setenv(installEnv, s.URL)
	return fetched
}

// TestPackages: packages are installed once, without what they would have run, and programs
// import them without being able to change them.
func TestPackages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "packages")
	e := engine(t, Options{Dir: dir, MaxPackageBytes: 2 << 20})
	fetched := registry(t)
	p := script.Program{Packages: []string{"tiny@1.0.0"}, Source: `
		const fs = require("fs"), tiny = require("tiny"), same = (await import("tiny")).default
		let wrote = false
		try { fs.writeFileSync("/packages/node_modules/tiny/i.js", ""); wrote = true } catch {}
		return [tiny.twice(4), same === tiny, wrote, fs.readdirSync("/packages/node_modules/tiny")]`}
	want := `[8,true,false,["i.js","package.json"]]`
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if out, err := e.Run(t.Context(), p, noHost); err != nil || string(out.Value) != want {
				t.Errorf("%s %v", out.Value, err)
			}
		})
	}
	both.Wait()
	again := New(Options{Image: e.opts.Image, Dir: dir, MaxPackageBytes: 2 << 20})
	defer again.Close()
	if out, err := again.Run(t.Context(), p, noHost); err != nil || string(out.Value) != want {
		t.Errorf("%s %v", out.Value, err)
	}
	if n := fetched.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}

	for _, c := range []struct{ packages, text string }{
		{"none@1.0.0", "npm cannot install none@1.0.0: code E404; "},
		{"tiny@2.0.0", "npm cannot install tiny@2.0.0: code ETARGET; "},
		{"large@1.0.0", "the packages large@1.0.0 cannot be installed: they take more than 2.0 MiB"},
	} {
		err := e.Check(t.Context(), script.Program{Packages: []string{c.packages}, Source: "1"})
		if code(err) != doc.BadArguments || !strings.HasPrefix(err.Error(), c.text) {
			t.Errorf("%s: %v", c.packages, err)
		}
	}
	if _, err := e.Run(t.Context(), script.Program{Source: `require("tiny")`}, noHost); err == nil || !strings.Contains(err.Error(), "Cannot find module 'tiny'") {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "new-*")); err != nil || left != nil {
		t.Error(left, err)
	}
}

// TestNamesOfPackages: only names with exact versions come to npm.
func TestNamesOfPackages(t *testing.T) {
	e := New(Options{Dir: t.TempDir()})
	defer e.Close()
	for _, name := range []string{"", "lodash", "lodash@", "lodash@latest", "lodash@^4.0.0", "lodash@4", "lodash@1.0.0 other@1.0.0", "-g@1.0.0", "--registry=http://x@1.0.0",
		"./x@1.0.0", "../x@1.0.0", "/etc@1.0.0", "file:x@1.0.0", "git+ssh://git@example.com/a.git@1.0.0", "git@1.0.0/x", "user/repo@1.0.0", "https://example.com/x.tgz@1.0.0",
		"a@npm:b@1.0.0", "@/a@1.0.0", "@a@1.0.0", "@a/../b@1.0.0", "a\n@1.0.0", "a@1.0.0\n", "a@1.0.0-", "A@1.0.0", strings.Repeat("a", 300) + "@1.0.0"} {
		if got, err := e.checkPackages([]string{name}); code(err) != doc.BadArguments {
			t.Errorf("%q: %q %v", name, got, err)
		}
	}
	got, err := e.checkPackages([]string{"lodash@4.17.21", "@types/node@22.0.0-rc.1", "lodash@4.17.21"})
	if err != nil || fmt.Sprint(got) != "[@types/node@22.0.0-rc.1 lodash@4.17.21]" {
		t.Errorf("%q %v", got, err)
	}
	var many []string
	for i := range maxPackages + 1 {
		many = append(many, fmt.Sprintf("a%d@1.0.0", i))
	}
	if _, err := e.checkPackages(many); code(err) != doc.BadArguments {
		t.Error(err)
	}
}

// TestExtract: a hostile tar makes nothing outside of its folder, no links, and no more than it may.
func TestExtract(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		err  string
	}{
		{"files", tarOf(t, map[string]string{"m/a": "a", "./m/b": "b"}), ""},
		{"nothing", nil, errNothing.Error()},
		{"above", tarOf(t, map[string]string{"../x": "x"}), `a file has the name "../x"`},
		{"above, hidden", tarOf(t, map[string]string{"m/../../x": "x"}), `a file has the name`},
		{"absolute", tarOf(t, map[string]string{"/tmp/x": "x"}), `a file has the name`},
		{"links", tarOf(t, nil, tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc"}, tar.Header{Typeflag: tar.TypeLink, Name: "h", Linkname: "/etc/passwd"},
			tar.Header{Typeflag: tar.TypeFifo, Name: "f"}, tar.Header{Typeflag: tar.TypeChar, Name: "d"}), ""},
		{"cut", tarOf(t, map[string]string{"a": strings.Repeat("x", 5000)})[:3000], "unexpected EOF"},
		{"large", tarOf(t, map[string]string{"a": strings.Repeat("x", 1<<20)}), "they take more than 512 KiB"},
		{"a file in place of a folder", tarOf(t, map[string]string{}, tar.Header{Name: "a"}, tar.Header{Name: "a/b"}), "a"},
		{"no tar", bytes.Repeat([]byte("x"), 2000), "reading them: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			above := t.TempDir()
			to := filepath.Join(above, "to")
			if err := os.Mkdir(to, 0o755); err != nil {
				t.Fatal(err)
			}
			err := extract(bytes.NewReader(c.data), to, 512<<10)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Error(err)
			}
			if all, _ := os.ReadDir(above); len(all) != 1 {
				t.Errorf("%v", all)
			}
			all, _ := os.ReadDir(to)
			for _, f := range all {
				if !f.IsDir() && !f.Type().IsRegular() {
					t.Errorf("%v", f)
				}
			}
			if b, err := os.ReadFile(filepath.Join(to, "m", "b")); c.name == "files" && (err != nil || string(b) != "b") {
				t.Errorf("%q %v", b, err)
			}
		})
	}
}

// TestRoom: folders that nobody has used for an hour make room, the oldest first; others stay.
func TestRoom(t *testing.T) {
	e := New(Options{Dir: t.TempDir(), MaxPackageBytes: 1000})
	defer e.Close()
	kept := func(n int, bytes int, age time.Duration) string {
		t.Helper()
		folder := filepath.Join(e.opts.Dir, fmt.Sprintf("%032x", n))
		at := time.Now().Add(-age)
		if err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, "f"), make([]byte, bytes), 0o600), os.Chtimes(folder, at, at)); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	is := func(folder string) bool { _, err := os.Stat(folder); return err == nil }
	const block = 100_000 // beside which a folder itself is little
	e.opts.MaxPackageBytes = block
	oldest, old, recent := kept(1, 4*block, 3*time.Hour), kept(2, 2*block, 2*time.Hour), kept(3, 3*block, time.Minute)
	if err := e.makeRoom(); err != nil || is(oldest) || !is(old) || !is(recent) {
		t.Error(err, is(oldest), is(old), is(recent))
	}
	new := kept(4, 5*block, 0)
	if err := e.makeRoom(); code(err) != doc.BadArguments || is(old) || !is(recent) || !is(new) {
		t.Error(err, is(old), is(recent), is(new))
	}
}

// FuzzMessage: whatever a container writes, reading it does not fail, and no value in it is deeper
// than the proxy reads.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{`{"begun":true}`, `{"call":1,"function":"call","arguments":["t",{}]}`, `{"print":"x"}`, `{"done":true,"value":[1]}`, `{"error":{"text":"x","line":-1,"column":9}}`, `{`, `[]`, `null`, `{"done":1}`} {
		f.Add([]byte(s), "let a\nb")
	}
	f.Fuzz(func(t *testing.T, line []byte, source string) {
		m, ok := parse(line)
		if !ok {
			return
		}
		if m.Value != nil && !json.Valid(m.Value) {
			t.Errorf("%q", m.Value)
		}
		if m.Error != nil {
			if err := m.Error.of(script.Program{Source: source}); code(err) != doc.BadProgram {
				t.Error(err)
			}
		}
	})
}
