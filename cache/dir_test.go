package cache

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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// files are the names of what is in a folder, but for the key.
func files(tb testing.TB, path string) (names []string) {
	tb.Helper()
	all, err := os.ReadDir(path)
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range all {
		if f.Name() != keyFile {
			names = append(names, f.Name())
		}
	}
	return names
}

// onlyFile is the path of the only entry there.
func onlyFile(tb testing.TB, path string) string {
	tb.Helper()
	names := files(tb, path)
	if len(names) != 1 {
		tb.Fatalf("%d files: %v", len(names), names)
	}
	return filepath.Join(path, names[0])
}

// TestDir: what was handed out answers in the next process, which may know no more than
// the folder: the first one is not closed, as one that is killed is not.
func TestDir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := Options{Dir: Dir{Path: filepath.Join(t.TempDir(), "a", "b"), Config: "c",
			Lasts: func(agent string) bool { return agent != "session" }}, MaxEntriesPerAgent: 3, TTL: time.Hour}
		var stores []*Store
		begin := func() *Store {
			s := open(t, opts)
			stores = append(stores, s)
			return s
		}
		s := begin()
		evicted := put(t, s, "ann", "the oldest")
		time.Sleep(time.Minute)
		type kept struct {
			agent  string
			origin Origin
			data   string
			id     ID
		}
		all := []kept{
			{agent: "ann", origin: Origin{Tool: "t", Arguments: json.RawMessage("{ \"a\": \"<\xff>\" }"), ReadOnly: true, NoModel: true}, data: strings.Repeat("row\n", 100_000)},
			{agent: "ann", origin: Origin{Tool: "t"}},
			{agent: "ann", data: "\x00"},
			{agent: "bob", origin: Origin{Tool: "t"}, data: "bob's"},
		}
		for i := range all {
			var err error
			if all[i].id, err = s.Put(all[i].agent, all[i].origin, []byte(all[i].data)); err != nil {
				t.Fatal(err)
			}
		}
		session, forgotten := put(t, s, "session", "not for long"), put(t, s, "eve", "revoked")
		s.Forget("eve")
		info, err := os.Stat(opts.Dir.Path)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("the folder: %v, %v", info.Mode(), err)
		}
		names := files(t, opts.Dir.Path)
		if len(names) != len(all)+1 { // the evicted one is a file too
			t.Errorf("%d entries and one that was evicted are %d files", len(all), len(names))
		}
		for _, name := range append(names, keyFile) {
			if info, err := os.Stat(filepath.Join(opts.Dir.Path, name)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
		for round := range 2 {
			next := begin()
			for _, k := range all {
				e, err := next.Get(k.agent, k.id)
				if err != nil {
					t.Fatalf("round %d: %s: %v", round, k.id, err)
				}
				if diff := cmp.Diff(&Entry{ID: k.id, Agent: k.agent, Origin: k.origin, Data: []byte(k.data)}, e, cmp.Transformer("nil", func(b []byte) string { return string(b) })); diff != "" {
					t.Errorf("round %d: %s", round, diff)
				}
				if again, err := next.Put(k.agent, k.origin, []byte(k.data)); again != k.id || err != nil {
					t.Errorf("the same again is %s, %v, was %s", again, err, k.id)
				}
				if got := answer(next, "eve", k.id); got != "unknown" {
					t.Errorf("another agent reads %q", got)
				}
			}
			var gone *GoneError
			if _, err := next.Get("ann", evicted); !errors.As(err, &gone) || gone.Reason != Evicted || gone.Origin.Tool != "fs_read" {
				t.Errorf("the evicted one: %v %+v", err, gone)
			}
			for agent, id := range map[string]ID{"session": session, "eve": forgotten} {
				if got := answer(next, agent, id); got != "evicted" {
					t.Errorf("%s's answers %q", agent, got)
				}
			}
		}

		// What was read is kept for another hour, what was not says what it was.
		time.Sleep(40 * time.Minute)
		answer(s, "ann", all[0].id)
		time.Sleep(40 * time.Minute)
		next := begin()
		if got := answer(next, "ann", all[0].id); got != all[0].data {
			t.Errorf("what was read since answers %.50q", got)
		}
		var gone *GoneError
		if _, err := next.Get("bob", all[3].id); !errors.As(err, &gone) || gone.Reason != Expired || gone.Origin.Tool != "t" {
			t.Errorf("the expired one: %v %+v", err, gone)
		}
		for _, s := range stores { // or their clocks tick all week
			s.Close()
		}
		time.Sleep(goneAge)
		begin().Close()
		next = begin()
		if got := answer(next, "bob", all[3].id); got != "evicted" || len(files(t, opts.Dir.Path)) != 1 {
			t.Errorf("after a week it answers %q, and there are %v", got, files(t, opts.Dir.Path))
		}
	})
}

// TestDirTorn: a file that was cut or changed at any byte is none, and never other data.
func TestDirTorn(t *testing.T) {
	opts := Options{Dir: Dir{Path: t.TempDir()}}
	s := open(t, opts)
	d := s.index.(*local).backing.(*dir)
	id, err := s.Put("a", Origin{Tool: "t", Arguments: json.RawMessage(`{"a":1}`)}, []byte("data and more data and more data"))
	if err != nil {
		t.Fatal(err)
	}
	path := onlyFile(t, opts.Dir.Path)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	frame := bytes.LastIndexByte(whole[:len(whole)-1], '\n') // the data may have more behind the lines
	check := func(what string, at int, file []byte) {
		t.Helper()
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := d.get(keyOf("a"), id)
		if err == nil && (e.gone != "" || string(e.data) != "data and more data and more data") {
			t.Fatalf("%s at %d: reads %q", what, at, e.data)
		}
		if err == nil && at < frame-1 || err != nil && len(d.sweep(time.Now())) != 0 {
			t.Errorf("%s at %d: %v", what, at, err)
		}
	}
	for i := range whole {
		check("cut", i, whole[:i])
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		check("changed", i, changed)
	}
	check("longer", 0, append(bytes.Clone(whole), 'x'))

	// A frame of more than the head says is not read to its end.
	bomb := &stored{agent: keyOf("a"), id: id, origin: Origin{Tool: "t"}, data: make([]byte, 8<<20)}
	top, packed := d.encode(bomb)
	bomb.data = nil
	top = bytes.Replace(top, []byte(`"size":8388608`), []byte(`"size":1`), 1)
	line := bytes.Split(top, []byte("\n"))[1]
	check("a bomb", 0, fmt.Appendf(nil, "%s%s\n%x\n%s", fileMagic, line, d.sum(line), packed))
}

// TestDirForeign: what is not the cache's stays as it is, and what is broken goes; it is
// said once.
func TestDirForeign(t *testing.T) {
	path := t.TempDir()
	other := open(t, Options{Dir: Dir{Path: t.TempDir()}}) // of another key
	put(t, other, "a", "foreign")
	stranger, err := os.ReadFile(onlyFile(t, other.opts.Dir.Path))
	if err != nil {
		t.Fatal(err)
	}
	name := func(letter string) string { return strings.Repeat(letter, 32) + ".entry" }
	long := time.Now().Add(-2 * tmpAge)
	for _, f := range []struct {
		name, text string
		old        bool
	}{
		{"notes.txt", "mine", true},
		{"entry.tmp", "mine", true},
		{name("a"), "", false},
		{name("b"), string(stranger), false},
		{name("c"), "rlmproxy cache 2\nwhatever is next", false},
		{"entry-1.tmp", "begun", true},
		{"entry-2.tmp", "begun", false},
	} {
		file := filepath.Join(path, f.name)
		if err := os.WriteFile(file, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if f.old {
			if err := os.Chtimes(file, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(path, name("d")), 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := open(t, Options{Dir: Dir{Path: path}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	put(t, s, "a", "as ever")
	want := []string{name("c"), name("d"), "entry-2.tmp", "entry.tmp", "notes.txt", ""}
	got := files(t, path)
	for i, name := range got {
		if !strings.HasPrefix(strings.Join(want, " "), name) && entryName.MatchString(name) && name != want[0] && name != want[1] {
			got[i] = "" // the new one
		}
	}
	seen := map[string]bool{}
	for _, name := range got {
		seen[name] = true
	}
	for _, name := range want {
		if !seen[name] || len(got) != len(want) {
			t.Fatalf("there are %q, want %q", got, want)
		}
	}
	if said := log.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, `broken_and_removed=3 foreign_and_left_alone=4 first=`+name("a")) {
		t.Errorf("logged: %s", said)
	}
}

// TestDirRefused: a folder that others can write to, or a key that they can read, is an
// error at the start.
func TestDirRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are not there")
	}
	for _, tt := range []struct {
		name string
		make func(path string) error
		want string
	}{
		{"shared", func(path string) error { return os.Chmod(path, 0o777) }, "can be written by others"},
		{"readable key", func(path string) error { return os.WriteFile(filepath.Join(path, keyFile), nil, 0o644) }, "can be read or written by others"},
		{"no key", func(path string) error { return os.WriteFile(filepath.Join(path, keyFile), []byte("x\n"), 0o600) }, "does not hold a key"},
		{"a file", func(path string) error { os.Remove(path); return os.WriteFile(path, nil, 0o600) }, "not a directory"},
		{"fine", func(path string) error { return os.Chmod(path, 0o755) }, ""},
	} {
		path := t.TempDir()
		if err := tt.make(path); err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{Dir: Dir{Path: path}})
		if err == nil {
			s.Close()
		}
		if got := fmt.Sprint(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// TestDirTerms: with other fields hidden, what was kept before is gone, and so are its data.
// Another configuration's entries stay until their time has passed.
func TestDirTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		var stores []*Store
		with := func(config, terms string) *Store {
			s := open(t, Options{TTL: time.Hour, Terms: terms, Dir: Dir{Path: path, Config: config}})
			stores = append(stores, s)
			return s
		}
		running := with("c", "")
		id := put(t, running, "a", "the salary is 1")
		for _, tt := range []struct{ config, terms, want string }{
			{"d", "", "evicted"},
			{"c", "", "the salary is 1"},
			{"c", "salary", "expired"},
			{"c", "", "expired"},
		} {
			if got := answer(with(tt.config, tt.terms), "a", id); got != tt.want {
				t.Errorf("configuration %q, terms %q: %q, want %q", tt.config, tt.terms, got, tt.want)
			}
		}
		// One that is kept beside a store that began before is looked at, too.
		strict := with("c", "salary")
		id = put(t, running, "a", "the salary is 2")
		if got := answer(strict, "a", id); got != "expired" {
			t.Errorf("a store of other terms answers %q", got)
		}
		// So is what a store has itself, when its terms change.
		id = put(t, strict, "a", "*** is 4")
		strict.SetTerms("salary")
		before := answer(strict, "a", id)
		strict.SetTerms("salary, iban")
		if now := answer(strict, "a", id); before != "*** is 4" || now != "expired" {
			t.Errorf("answers %q, and on other terms %q", before, now)
		}
		// The result of a call that began on other terms is gone when it comes, for the next
		// process too; what they leave as it is stays.
		old := Origin{Tool: "t", Terms: "salary"}
		id, err := strict.Put("a", old, []byte("the iban is 5"))
		for _, s := range []*Store{strict, with("c", "salary, iban"), with("c", "salary")} {
			if got := answer(s, "a", id); err != nil || got != "expired" {
				t.Errorf("a result on other terms: %v, a store of %q answers %q", err, s.Terms(), got)
			}
		}
		_, err = strict.Put("a", Origin{Tool: "t", Terms: strict.Terms()}, []byte("plain"))
		if id, again := strict.Put("a", old, []byte("plain")); err != nil || again != nil || answer(strict, "a", id) != "plain" {
			t.Errorf("a result that is the same on both terms: %v, %v, answers %q", err, again, answer(strict, "a", id))
		}
		put(t, running, "a", "the salary is 3")
		for _, s := range stores { // which would see themselves what has expired
			s.Close()
		}
		time.Sleep(time.Hour)
		with("d", "")
		if names := files(t, path); len(names) != 4 { // those that are gone
			t.Errorf("another configuration leaves %v", names)
		}
	})
}

// A full backing takes nothing.
type full struct {
	backing
	full bool
}

func (f *full) put(e *stored) error {
	if f.full {
		return errors.New("no space left on device")
	}
	return f.backing.put(e)
}

// TestDirFull: a disk that takes nothing fails no call, and is logged once; what comes again
// when there is room is kept.
func TestDirFull(t *testing.T) {
	var log bytes.Buffer
	opts := Options{Dir: Dir{Path: t.TempDir()}, MaxEntriesPerAgent: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s := open(t, opts)
	before := put(t, s, "a", "before")
	l := s.index.(*local)
	f := &full{l.backing, true}
	l.backing = f
	var ids []ID
	for i := range 3 {
		ids = append(ids, put(t, s, "a", fmt.Sprint(i)))
	}
	if got := answer(s, "a", ids[2]); got != "2" {
		t.Errorf("answers %q", got)
	}
	if n := strings.Count(log.String(), "no space left"); n != 1 {
		t.Errorf("logged %d times: %s", n, log.String())
	}
	if got := answer(open(t, opts), "a", before); got != "evicted" || len(files(t, opts.Dir.Path)) != 0 {
		t.Errorf("what was evicted meanwhile answers %q, and there are %v", got, files(t, opts.Dir.Path))
	}
	f.full = false
	put(t, s, "a", "2")
	if got := answer(open(t, opts), "a", ids[2]); got != "2" {
		t.Errorf("after it was called for again: %q", got)
	}
}

// TestTwoStores: two processes on one folder answer for each other's ids, with what was kept
// or why it is gone, while both keep, read and evict.
func TestTwoStores(t *testing.T) {
	opts := Options{Dir: Dir{Path: t.TempDir()}, MaxEntriesPerAgent: 8, MaxBytes: 2000}
	stores := []*Store{open(t, opts), open(t, opts)}
	var mu sync.Mutex
	issued := map[ID]string{}
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			s, agent := stores[n%2], "a"
			for i := range 60 {
				text := fmt.Sprintf("%d %s", i*7%40, strings.Repeat("x", i*13%90))
				id, err := s.Put(agent, Origin{Tool: "t"}, []byte(text))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				issued[id] = text
				var one ID
				for one = range issued {
					break
				}
				want := issued[one]
				mu.Unlock()
				if got := answer(stores[i%2], agent, one); got != want && got != "evicted" {
					t.Errorf("%q, want %q", got, want)
				}
			}
		})
	}
	wg.Wait()
	last := put(t, stores[0], "a", "the last")
	if got := answer(stores[1], "a", last); got != "the last" {
		t.Errorf("the other store answers %q", got)
	}
	stores = append(stores, open(t, opts))
	for id, want := range issued {
		for n, s := range stores {
			if got := answer(s, "a", id); got != want && got != "evicted" {
				t.Errorf("store %d: %q, want %q", n, got, want)
			}
			if got := answer(s, "b", id); got != "unknown" {
				t.Errorf("store %d: another agent reads %q", n, got)
			}
		}
	}
}

// Whatever is done to the folder between two processes, and by whom, an id that was handed
// out answers with its own bytes or why they are gone; without damage or a lack of room or
// time, with its bytes.
func TestDirModel(t *testing.T) {
	type bare struct{ rapid.TB }
	folders := t.TempDir()
	n := 0
	property := func(rt *rapid.T) {
		n++
		opts := Options{Key: []byte("sixteen bytes!!!"), Dir: Dir{Path: filepath.Join(folders, fmt.Sprint(n))}, MaxEntriesPerAgent: 5, MaxBytes: 400, TTL: time.Hour}
		begin := func() *Store {
			s, err := New(opts)
			if err != nil {
				rt.Fatal(err)
			}
			return s
		}
		s := begin()
		defer func() { s.Close() }()
		var second *Store // for two at once
		type item struct {
			agent string
			id    ID
			text  string
		}
		var issued []item
		safe := true // nothing that may cost an entry has happened
		agents := rapid.SampledFrom([]string{"a", "b"})
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				agent, text := agents.Draw(rt, "agent"), strings.Repeat("d", rapid.IntRange(0, 60).Draw(rt, "size"))
				id, err := s.Put(agent, Origin{Tool: "t"}, []byte(text))
				if err != nil {
					rt.Fatal(err)
				}
				issued = append(issued, item{agent, id, text})
				safe = safe && len(issued) <= 5
			},
			"kill": func(rt *rapid.T) {
				s.Close() // which writes nothing
				s = begin()
			},
			"beside": func(rt *rapid.T) {
				if second != nil {
					second.Close()
				}
				second, s = s, begin()
			},
			"wait": func(rt *rapid.T) {
				time.Sleep(time.Duration(rapid.IntRange(1, 40).Draw(rt, "minutes")) * time.Minute)
				safe = false
			},
			"damage": func(rt *rapid.T) {
				names, err := filepath.Glob(filepath.Join(opts.Dir.Path, "*.entry"))
				if err != nil || len(names) == 0 {
					return
				}
				safe = false
				name := rapid.SampledFrom(names).Draw(rt, "file")
				text, err := os.ReadFile(name)
				if err != nil {
					rt.Fatal(err)
				}
				at := rapid.IntRange(0, len(text)).Draw(rt, "at")
				switch rapid.IntRange(0, 3).Draw(rt, "how") {
				case 0:
					err = os.Remove(name)
				case 1:
					err = os.WriteFile(name, text[:at], 0o600)
				case 2:
					if at < len(text) {
						text[at]++
					}
					err = os.WriteFile(name, text, 0o600)
				case 3:
					err = os.Rename(name, rapid.SampledFrom(names).Draw(rt, "onto"))
				}
				if err != nil {
					rt.Fatal(err)
				}
			},
			"": func(rt *rapid.T) {
				for _, it := range issued {
					got := answer(s, it.agent, it.id)
					if got != it.text && (safe || got != "evicted" && got != "expired") {
						rt.Fatalf("%s: %q, want %q", it.id, got, it.text)
					}
				}
			},
		})
		if second != nil {
			second.Close()
		}
	}
	synctest.Test(t, func(t *testing.T) { rapid.Check(bare{t}, property) })
}
