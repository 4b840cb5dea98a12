package audit

import (
	"bytes"
	"encoding/json"
	"errors"
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

	"rlmproxy/middleware/observe"
	"rlmproxy/private"
)

func call(n int) *observe.Call {
	return &observe.Call{
		Number: int64(n), Begun: time.Date(2026, 11, 22, 10, 5, 6, 123456789, time.UTC), Took: 1234567 * time.Nanosecond,
		Agent: "subject :ann", Client: "prog 1\x1b[2J", Method: "tools/call", Server: "s", Name: "get", Known: true,
		Arguments: json.RawMessage(`{"q":1,"password":"hunter2"}`), Result: json.RawMessage(`{"content":[{"type":"text","text":"{\"api_key\":\"hunter2\"}"}]}`),
		Outcome: observe.OK, TokensIn: 9, TokensOut: 8,
	}
}

// TestLine: what a line has, and that it has content on demand only, and masked.
func TestLine(t *testing.T) {
	for _, tt := range []struct {
		content Content
		want    string
	}{
		{"", ``},
		{ContentArguments, `,"arguments":{"q":1,"password":"(masked)"}`},
		{ContentAll, `,"arguments":{"q":1,"password":"(masked)"},"result":{"content":[{"type":"text","text":"{\"api_key\":\"(masked)\"}"}]}`},
	} {
		var out bytes.Buffer
		l, err := New(Options{Stderr: &out, Key: []byte("k"), Content: tt.content})
		if err != nil {
			t.Fatal(err)
		}
		l.process = "p"
		l.Called(call(1))
		l.Close()
		want := `{"time":"2026-11-22T10:05:06.123Z","id":"p-1","agent":"subject :ann","client":"prog 1\u001b[2J","method":"tools/call","server":"s","tool":"get",` +
			`"args_hash":"` + l.hash(call(1).Arguments) + `","outcome":"ok","ms":1.234,"tokens_in":9,"tokens_out":8` + tt.want + "}\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.content, diff)
		}
	}
	one, other := &Log{opts: Options{Key: []byte("k")}}, &Log{opts: Options{Key: []byte("l")}}
	if a, b := one.hash([]byte("{}")), other.hash([]byte("{}")); a == b || len(a) != 32 {
		t.Errorf("hashes %s and %s of two keys", a, b)
	}
	long := &Log{opts: Options{Content: ContentAll, Redact: Mask}}
	if got := string(long.content(bytes.Repeat([]byte(" "), maxContent+1))); got != `"(65537 bytes, too long for this log)"` {
		t.Error(got)
	}
}

func TestMask(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"a":1.0,"Password":"x","list":[{"apiKey":{"k":"x"}},"y"]}`, `{"a":1.0,"Password":"(masked)","list":[{"apiKey":"(masked)"},"y"]}`},
		{`{"access_token":"x","githubToken":7,"client-secret":["x"],"Authorization":"Bearer x","set-cookie":"x","db_pwd":"x","pin":1}`,
			`{"access_token":"(masked)","githubToken":"(masked)","client-secret":"(masked)","Authorization":"(masked)","set-cookie":"(masked)","db_pwd":"(masked)","pin":"(masked)"}`},
		{`{"author":"ann","max_tokens":5,"keyboard":"x","passenger":"x","token":null,"spin":1}`, `{"author":"ann","max_tokens":5,"keyboard":"x","passenger":"x","token":null,"spin":1}`},
		{`{"t":" {\"token\":\"x\"}"}`, `{"t":"{\"token\":\"(masked)\"}"}`},
		{`{"t":"{not json, token: x"}`, `{"t":"{not json, token: x"}`},
		{`"plain"`, `"plain"`},
		{`7`, `7`},
		{``, ``},
	} {
		if got := string(Mask(json.RawMessage(tt.in))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.in, got, tt.want)
		}
	}
	deep := `{"token":"hunter2"}`
	for range 8 {
		b, _ := json.Marshal(map[string]string{"t": deep})
		deep = string(b)
	}
	if got := string(Mask(json.RawMessage(deep))); strings.Contains(got, "hunter2") {
		t.Error(got)
	}
}

// TestRotation: files are renamed at their size, so many are kept, and no line is lost or
// split. Two write to one file.
func TestRotation(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that another has open cannot be renamed")
	}
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	var files [2]*file
	for i := range files {
		var err error
		if files[i], err = openFile(path, 1000, 3, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		for j, f := range files {
			f.looked = time.Time{} // a second has passed
			if _, err := f.Write(fmt.Appendf(nil, "%d/%02d %s\n", j, i, strings.Repeat("x", 93))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, f := range files {
		f.Close()
	}
	var text []byte
	for _, name := range []string{".3", ".2", ".1", ""} {
		b, err := os.ReadFile(path + name)
		if err != nil || len(b) > 1000 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
		if info, err := os.Stat(path + name); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		text = append(text, b...)
	}
	if _, err := os.Stat(path + ".4"); err == nil {
		t.Error("a fourth is kept")
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, line := range lines {
		n := 100 - len(lines) + i
		if want := fmt.Sprintf("%d/%02d ", n%2, n/2); !strings.HasPrefix(line, want) || len(line) != 98 {
			t.Errorf("line %d: %s, want %s…", i, line, want)
		}
	}
	if len(lines) < 31 {
		t.Errorf("%d lines are kept", len(lines))
	}
}

// TestOpen: what cannot be a log stops the start, and a new file is its owner's.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, bad := range []string{dir, filepath.Join(dir, "no", "a"), os.DevNull} {
		if l, err := New(Options{File: bad, MaxBytes: 1 << 20}); err == nil {
			t.Errorf("%s was opened", bad)
			l.Close()
		}
	}
	path := filepath.Join(dir, "a")
	l, err := New(Options{File: path, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestMoved: a file that somebody renames or deletes is not written to any more.
func TestMoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be renamed")
	}
	path := filepath.Join(t.TempDir(), "a")
	f, err := openFile(path, 1<<20, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	f.looked = time.Time{}
	if _, err := f.Write([]byte("x\n")); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); string(b) != "x\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// A disk is full until it has room, or hangs.
type disk struct {
	bytes.Buffer
	full bool
	hang chan struct{}
}

func (d *disk) Write(p []byte) (int, error) {
	if d.hang != nil {
		<-d.hang
	}
	if d.full {
		return 0, errors.New("no space left on device")
	}
	return d.Buffer.Write(p)
}

// TestLost: a full disk costs lines and no call; it is logged once, and the log says how
// many are missing.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		d := &disk{full: true}
		l, err := New(Options{Stderr: d, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			l.Called(call(i + 1))
			synctest.Wait()
		}
		d.full = false
		l.Called(call(11))
		synctest.Wait()
		l.Close()
		lines := strings.Split(strings.TrimSpace(d.String()), "\n")
		if len(lines) != 2 || !strings.HasSuffix(lines[0], `"lost":10}`) || !strings.Contains(lines[1], `-11"`) {
			t.Error(d.String())
		}
		if s := said.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "no space left") || !strings.Contains(s, "lost=10") {
			t.Error(s)
		}
	})
}

// TestHangingDisk: calls do not wait for a disk that hangs, what waits is bounded, and the
// end waits for two seconds.
func TestHangingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		d := &disk{hang: make(chan struct{})}
		l, err := New(Options{Stderr: d, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		if err != nil {
			t.Fatal(err)
		}
		big := call(1)
		big.Agent = strings.Repeat("a", 1<<20)
		begun := time.Now()
		for range 20 {
			l.Called(big)
		}
		if took := time.Since(begun); took != 0 || l.bytes > maxQueued {
			t.Errorf("%v, %d bytes", took, l.bytes)
		}
		l.Close()
		if took := time.Since(begun); took != closeTime {
			t.Errorf("the end took %v", took)
		}
		if s := said.String(); !strings.Contains(s, "too slow") || !strings.Contains(s, "lines were lost") {
			t.Error(s)
		}
		close(d.hang)
		<-l.ended
	})
}

// TestTorn: half a line that a full disk leaves does not spoil the next.
func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f, err := openFile(path, 1<<20, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, _ = f.f.Write([]byte(`{"half":`))
	f.torn = true
	for range 2 {
		if _, err := f.Write([]byte("{}\n")); err != nil {
			t.Fatal(err)
		}
	}
	if b, _ := os.ReadFile(path); string(b) != "{\"half\":\n{}\n{}\n" {
		t.Errorf("%q", b)
	}
}

// TestKey: it is one for the installation, and nobody else's.
func TestKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	a, err := Key(dir)
	if err != nil || len(a) != private.KeyBytes {
		t.Fatal(a, err)
	}
	if b, err := Key(dir); !bytes.Equal(a, b) {
		t.Error("another key at the second time", err)
	}
	path := filepath.Join(dir, "audit.key")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Key(dir); err == nil || !strings.Contains(err.Error(), "does not hold a key") {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Key(dir); err == nil || !strings.Contains(err.Error(), "can be read or written by others") {
		t.Error(err)
	}
}
