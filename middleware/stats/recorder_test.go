package stats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/middleware/observe"
	"rlmproxy/pipeline/tokens"
)

var (
	conf  = strings.Repeat("a", 32)
	conf2 = strings.Repeat("b", 32)
)

// a call of 100 tokens, of which the agent reads 10.
func aCall() *observe.Call {
	return &observe.Call{Begun: time.Now(), Method: "tools/call", Server: "fs", Name: "fs_read", Known: true, Outcome: observe.OK, TokensIn: 100, TokensOut: 10, Cut: true}
}

// sure is what was counted, all of which can be read.
func sure(t *testing.T, dir, configuration string) *Report {
	t.Helper()
	r, err := Read(dir, configuration)
	if err != nil {
		t.Error(err)
	}
	return r
}

// TestWritten: a process that is killed has lost what the last two seconds had, one that
// ends has lost nothing; the next one adds to it.
func TestWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := New(Options{Folder: dir, Configuration: conf})
		r.Serve(Source{})
		for n := range int64(5) {
			time.Sleep(time.Duration(n) * 700 * time.Millisecond)
			r.Called(aCall())
			time.Sleep(writeTime)
			synctest.Wait()
			if got := sure(t, dir, conf).Total.Calls; got != n+1 {
				t.Errorf("%d calls after two seconds, want %d", got, n+1)
			}
		}
		r.Listed([]string{"a tool"})
		r.Called(aCall())
		if got := r.Report().Total; got.Calls != 6 || got.Schemas == 0 {
			t.Errorf("what is not written yet is not in %+v", got)
		}
		r.Close()
		r.Close()
		next := New(Options{Folder: dir, Configuration: conf})
		next.Called(aCall())
		next.Close() // though it was never served
		cost, _ := tokens.Count([]byte("a tool"))
		want := Sums{Calls: 7, Cut: 7, TokensIn: 700, TokensOut: 70, Schemas: int64(cost), Saved: 630 - int64(cost)}
		if diff := cmp.Diff(want, sure(t, dir, conf).Total); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(next.Report().Tools, sure(t, dir, "").Tools); diff != "" {
			t.Error(diff)
		}
		if got := sure(t, dir, conf2).Total; got != (Sums{}) {
			t.Errorf("another configuration has %+v", got)
		}
	})
}

// TestNothingHappens: without a call nothing is written again and again but what says that
// the process runs.
func TestNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := New(Options{Folder: dir, Configuration: conf})
		r.Serve(Source{})
		time.Sleep(time.Minute)
		r.Close()
		if _, err := os.Stat(filepath.Join(dir, "stats", conf+".json")); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}

// TestSeveralProcesses: of what several add at once to one file nothing is lost.
func TestSeveralProcesses(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	const processes, calls = 4, 40
	for range processes {
		all.Go(func() {
			r := New(Options{Folder: dir, Configuration: conf})
			var writers sync.WaitGroup
			for range 2 {
				writers.Go(func() {
					for range calls / 2 {
						r.Called(aCall())
						r.write()
						if got := r.Report().Total.Calls; got == 0 {
							t.Error("a call is lost between memory and file")
						}
					}
				})
			}
			writers.Wait()
			r.Close()
		})
	}
	all.Wait()
	if got := sure(t, dir, conf).Total; got.Calls != processes*calls || got.Saved != processes*calls*90 {
		t.Errorf("%+v", got)
	}
}

// TestBroken: a file that cannot be read is kept under another name, and said to be.
func TestBroken(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		stays      bool // of a version that others read
		warns      string
	}{
		{"cut off", `{"version":1,"tools":[{"serv`, false, "begins anew"},
		{"empty", ``, false, "begins anew"},
		{"of others", `{"version":1,"tools":{"a":1}}`, false, "begins anew"},
		{"with null", `{"version":1,"tools":[null]}`, false, "begins anew"},
		{"without version", `{}`, false, "begins anew"},
		{"too long", `{"version":1}` + strings.Repeat(" ", maxBytes), false, "begins anew"},
		{"newer", `{"version":2,"tools":{"a":1}}`, true, "newer rlmproxy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "stats", conf+".json")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(dir, ""); err == nil || !strings.Contains(err.Error(), path) {
				t.Error("read:", err)
			}
			var log bytes.Buffer
			r := New(Options{Folder: dir, Configuration: conf, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			for range 3 {
				r.Called(aCall())
				r.write()
			}
			if got := r.Report().Total.Calls; got != 3 {
				t.Errorf("%d calls are reported", got)
			}
			r.Close()
			if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), tt.warns) {
				t.Errorf("log: %s", &log)
			}
			if tt.stays {
				path = strings.TrimSuffix(path, ".broken")
			} else {
				if got := sure(t, dir, conf).Total.Calls; got != 3 {
					t.Errorf("%d calls are written", got)
				}
				path += ".broken"
			}
			if data, err := os.ReadFile(path); err != nil || string(data) != tt.file {
				t.Errorf("%s has %.100q, %v", path, data, err)
			}
		})
	}
}

// TestNoFolder: where nothing can be written it is counted in memory, which is said once;
// when it can, all is written.
func TestNoFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		r := New(Options{Folder: dir, Configuration: conf, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		r.Serve(Source{})
		for range 3 {
			r.Called(aCall())
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
		if strings.Count(log.String(), "level=WARN") != 1 {
			t.Errorf("log: %s", &log)
		}
		if got := r.Report(); got.Total.Calls != 3 || len(got.Recent) != 3 || len(got.Proxies) != 1 {
			t.Errorf("%+v", got)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := sure(t, dir, conf); got.Total.Calls != 3 || len(got.Proxies) != 1 {
			t.Errorf("%+v", got)
		}
		r.Close()
	})
}

// TestMemory: without a folder all is counted, and nothing written.
func TestMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	r := New(Options{})
	r.Serve(Source{URL: "http://127.0.0.1:1/mcp", Look: func() ([]Server, int) { return []Server{{"fs", "ready"}}, 2 }})
	r.Called(aCall())
	got := r.Report()
	if got.Total.Saved != 90 || len(got.Proxies) != 1 || got.Proxies[0].Clients != 2 || got.Proxies[0].Servers[0].State != "ready" {
		t.Errorf("%+v", got)
	}
	r.Close()
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	var none *Recorder // of a command
	none.Called(aCall())
	none.Listed([]string{"x"})
	none.Serve(Source{})
	none.Close()
}

// TestRunning: a process that runs is there with its state of the last two seconds, until
// it ends or half a minute after it was killed.
func TestRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var mu sync.Mutex
		state, clients := "connecting", 0
		set := func(s string, n int) {
			mu.Lock()
			defer mu.Unlock()
			state, clients = s, n
		}
		r := New(Options{Folder: dir, Configuration: conf, Config: "/a/mcp.json", Version: "v1"})
		r.Serve(Source{URL: "http://127.0.0.1:1/mcp", Look: func() ([]Server, int) {
			mu.Lock()
			defer mu.Unlock()
			return []Server{{"fs", state}, {"web", "disabled"}}, clients
		}})
		seen := func(configuration string) (all []string) {
			for _, p := range sure(t, dir, configuration).Proxies {
				all = append(all, strings.TrimSpace(fmt.Sprintln(p.Config, p.Version, p.URL, p.Clients, p.Servers, p.PID == os.Getpid())))
			}
			return all
		}
		check := func(want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, seen(conf)); diff != "" {
				t.Error(diff)
			}
		}
		synctest.Wait()
		check("/a/mcp.json v1 http://127.0.0.1:1/mcp 0 [{fs connecting} {web disabled}] true")
		set("ready", 3)
		time.Sleep(writeTime)
		synctest.Wait()
		check("/a/mcp.json v1 http://127.0.0.1:1/mcp 3 [{fs ready} {web disabled}] true")
		time.Sleep(time.Hour)
		check("/a/mcp.json v1 http://127.0.0.1:1/mcp 3 [{fs ready} {web disabled}] true")

		killed := New(Options{Folder: dir, Configuration: conf2})
		killed.write()
		if got := seen(""); len(got) != 2 || len(seen(conf2)) != 1 {
			t.Error(got)
		}
		time.Sleep(goneTime)
		if got := seen(""); len(got) != 1 || len(seen(conf2)) != 0 {
			t.Error(got)
		}
		time.Sleep(aliveTime)
		synctest.Wait()
		if names, err := killed.files.list(ofRunning); len(names) != 1 || err != nil {
			t.Error("what was killed has left", names, err)
		}
		r.Close()
		check()
		if names, err := killed.files.list(ofRunning); len(names) != 0 || err != nil {
			t.Error("what has ended has left", names, err)
		}
	})
}

// TestManyConfigurations: those that were not used for the longest time are put together,
// and all still adds up.
func TestManyConfigurations(t *testing.T) {
	dir := t.TempDir()
	for i := range maxFiles + 20 {
		name := fmt.Sprintf("%032x", i+1)
		r := New(Options{Folder: dir, Configuration: name})
		r.Called(aCall())
		r.Close()
		at := time.Now().Add(time.Duration(i-1000) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, "stats", name+".json"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	names, err := openFolder(dir).list(ofCounts)
	if err != nil || len(names) != maxFiles+1 {
		t.Errorf("%d files, %v", len(names), err)
	}
	if got := sure(t, dir, "").Total.Calls; got != maxFiles+20 {
		t.Errorf("%d calls", got)
	}
	if got := sure(t, dir, fmt.Sprintf("%032x", maxFiles+20)).Total.Calls; got != 1 {
		t.Errorf("the newest has %d calls", got)
	}
	if got := sure(t, dir, rest).Total.Calls; got != 20 {
		t.Errorf("the oldest have %d calls", got)
	}
}

// TestForm: the JSON of a report.
func TestForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := New(Options{Folder: dir, Configuration: conf, Config: "/a/mcp.json", Version: "v1"})
		r.Listed([]string{"a tool"})
		c := aCall()
		c.Agent, c.Client, c.CacheID, c.Took = "subject :ann", "editor 1.2", "k3v9x2m8q4t1w6za", 1500*time.Microsecond
		r.Called(c)
		r.Called(&observe.Call{Begun: c.Begun.Add(time.Second), Method: "tools/call", Name: "proxy_filter", Known: true, Agent: c.Agent, Client: c.Client,
			ReadID: c.CacheID, Outcome: observe.Error, Error: "bad_jq", TokensOut: 12, Took: 400 * time.Microsecond})
		r.Serve(Source{URL: "http://127.0.0.1:8080/mcp", Look: func() ([]Server, int) { return []Server{{"fs", "ready"}}, 1 }})
		synctest.Wait()
		got, err := json.MarshalIndent(sure(t, dir, conf), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = bytes.ReplaceAll(append(got, '\n'), fmt.Appendf(nil, `"pid": %d`, os.Getpid()), []byte(`"pid": 1234`))
		want, err := os.ReadFile("testdata/report.json")
		if diff := cmp.Diff(string(want), string(got)); err != nil || diff != "" {
			t.Error(err, diff, "as a whole:\n"+string(got))
		}
		empty, err := json.Marshal((&counts{}).report())
		if want := `{"since":"0001-01-01T00:00:00Z","total":{"calls":0,"errors":0,"cut":0,"tokens_in":0,"tokens_out":0,"saved":0},"tools":[],"hours":[],"recent":[],"proxies":[]}`; err != nil || string(empty) != want {
			t.Errorf("%s, %v", empty, err)
		}
		r.Close()
	})
}
