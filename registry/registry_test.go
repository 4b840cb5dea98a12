package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/registry/registrytest"
)

func tool(name string) Tool {
	return Tool{Name: name, Description: "Adds two numbers.", InputSchema: json.RawMessage(`{"type":"object","b":1,"a":2}`), Language: JavaScript,
		Program: "return args.a + args.b // <é>", Enabled: true, Changed: time.Date(2026, 11, 23, 4, 5, 6, 0, time.UTC), By: "alice"}
}

// each has f test both stores. Another opens one more on the same, as another process does.
func each(t *testing.T, f func(t *testing.T, s Store, another func() Store)) {
	t.Run("folder", func(t *testing.T) {
		dir := t.TempDir()
		open := func() Store {
			s, err := OpenFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		f(t, open(), open)
	})
	t.Run("postgres", func(t *testing.T) {
		server := registrytest.Start(t)
		open := func() Store { return openPostgres(t, server) }
		f(t, open(), open)
	})
}

func openPostgres(t *testing.T, server *registrytest.Server) *Postgres {
	t.Helper()
	s, err := OpenPostgres(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// follow follows a store until the test ends, and returns what tells of changes.
func follow(t *testing.T, s Store) <-chan struct{} {
	ctx, cancel := context.WithCancel(context.Background())
	changed, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		s.Follow(ctx, func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return changed
}

// TestStore: what is put is there as it was, for every process that has the store; each change
// has a revision of its own, and one that means another is refused.
func TestStore(t *testing.T) {
	each(t, func(t *testing.T, s Store, another func() Store) {
		ctx := context.Background()
		if all, err := s.List(ctx); err != nil || all == nil || len(all) > 0 {
			t.Fatalf("an empty store: %v, %v", all, err)
		}
		first, err := s.Put(ctx, tool("add"), 0)
		if err != nil || first.Revision < 1 {
			t.Fatal(first.Revision, err)
		}
		if _, err := s.Put(ctx, tool("add"), 0); !errors.Is(err, ErrExists) {
			t.Errorf("a second of one name: %v", err)
		}
		if _, err := s.Put(ctx, tool("sub"), 7); !errors.Is(err, ErrUnknown) {
			t.Errorf("a change of none: %v", err)
		}
		changed := first
		changed.Program = "return 1"
		second, err := another().Put(ctx, changed, first.Revision)
		if err != nil || second.Revision <= first.Revision {
			t.Fatal(second.Revision, err)
		}
		var stale *StaleError
		if _, err := s.Put(ctx, first, first.Revision); !errors.As(err, &stale) || stale.Last != second.Revision {
			t.Errorf("a stale change: %v", err)
		}
		if err := s.Delete(ctx, "add", first.Revision); !errors.As(err, &stale) {
			t.Errorf("a stale deletion: %v", err)
		}
		sub, err := s.Put(ctx, tool("a-sub"), 0)
		if err != nil {
			t.Fatal(err)
		}
		all, err := another().List(ctx)
		if diff := cmp.Diff([]Tool{sub, second}, all); diff != "" || err != nil {
			t.Errorf("another process reads otherwise: %v\n%s", err, diff)
		}
		if err := s.Delete(ctx, "add", second.Revision); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(ctx, "add", second.Revision); !errors.Is(err, ErrUnknown) {
			t.Errorf("a second deletion: %v", err)
		}
		// What was deleted is not what is there under its name by now.
		again, err := s.Put(ctx, tool("add"), 0)
		if err != nil || again.Revision <= second.Revision {
			t.Errorf("made again with revision %d, after %d: %v", again.Revision, second.Revision, err)
		}
	})
}

// TestConcurrent: of those who change one revision at the same time, one does, whatever process
// they are; and no more tools are made than are allowed.
func TestConcurrent(t *testing.T) {
	each(t, func(t *testing.T, s Store, another func() Store) {
		ctx := context.Background()
		stores := []Store{s, another(), another()}
		last, err := s.Put(ctx, tool("counted"), 0)
		if err != nil {
			t.Fatal(err)
		}
		const rounds, tries = 4, 9
		for range rounds {
			results := make([]error, tries)
			var wg sync.WaitGroup
			for i := range tries {
				wg.Go(func() { _, results[i] = stores[i%len(stores)].Put(ctx, last, last.Revision) })
			}
			wg.Wait()
			won := 0
			for _, err := range results {
				var stale *StaleError
				if err == nil {
					won++
				} else if !errors.As(err, &stale) {
					t.Error(err)
				}
			}
			all, err := s.List(ctx)
			if won != 1 || err != nil || len(all) != 1 || all[0].Revision <= last.Revision {
				t.Fatalf("%d of %d have changed it: %v, %v", won, tries, all, err)
			}
			last = all[0]
		}
		var wg sync.WaitGroup
		for i, s := range stores {
			wg.Go(func() {
				for n := range 35 {
					if _, err := s.Put(ctx, tool(fmt.Sprintf("t%d_%d", i, n)), 0); err != nil && !errors.Is(err, ErrFull) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if all, err := s.List(ctx); len(all) != MaxTools || err != nil {
			t.Errorf("%d tools, %v", len(all), err)
		}
	})
}

// TestFollow: another process hears within a second of what is put, and of what is deleted.
func TestFollow(t *testing.T) {
	each(t, func(t *testing.T, s Store, another func() Store) {
		ctx := context.Background()
		changed := follow(t, another())
		<-changed // at once
		made, err := s.Put(ctx, tool("add"), 0)
		if err != nil {
			t.Fatal(err)
		}
		hears(t, changed)
		if err := s.Delete(ctx, "add", made.Revision); err != nil {
			t.Fatal(err)
		}
		hears(t, changed)
	})
}

func hears(t *testing.T, changed <-chan struct{}) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(time.Second):
		t.Fatal("nothing is heard of a change within a second")
	}
}

// TestAway: a database that is away refuses what is asked of it, without its password; who follows
// it hears when it is back, and of changes from then on.
func TestAway(t *testing.T) {
	server := registrytest.Start(t)
	s := openPostgres(t, server)
	ctx := context.Background()
	made, err := s.Put(ctx, tool("add"), 0)
	if err != nil {
		t.Fatal(err)
	}
	changed := follow(t, s)
	<-changed
	server.Kill()
	var away *AwayError
	if _, err := s.Put(ctx, made, made.Revision); !errors.As(err, &away) {
		t.Errorf("put: %v", err)
	}
	if _, err := s.List(ctx); !errors.As(err, &away) || strings.Contains(err.Error(), registrytest.Password) {
		t.Errorf("list: %v", err)
	}
	server.Restart()
	select {
	case <-changed:
	case <-time.After(2 * lastRetry):
		t.Fatal("nobody hears that the database is back")
	}
	if _, err := openPostgres(t, server).Put(ctx, made, made.Revision); err != nil {
		t.Fatal(err)
	}
	hears(t, changed)
}

// TestPostgresRefuses: a wrong password, a database that there is not, a URL that is none: none of
// it shows a password. A user who may not make tables can use those that are there.
func TestPostgresRefuses(t *testing.T) {
	server := registrytest.Start(t)
	ctx := context.Background()
	for _, url := range []string{
		strings.Replace(server.URL, registrytest.Password, "other-secret", 1),
		strings.Replace(server.URL, "/postgres", "/none", 1),
		strings.Replace(server.URL, "@", "@%zz", 1),
	} {
		s, err := OpenPostgres(url, nil)
		if err == nil {
			_, err = s.List(ctx)
			s.Close()
		}
		if err == nil || strings.Contains(err.Error(), registrytest.Password) || strings.Contains(err.Error(), "other-secret") {
			t.Errorf("%v", err)
		}
	}
	if _, err := openPostgres(t, server).List(ctx); err != nil {
		t.Fatal(err)
	}
	server.Do(`CREATE ROLE limited LOGIN PASSWORD 'x'; REVOKE CREATE ON SCHEMA public FROM PUBLIC;
		GRANT SELECT, INSERT, UPDATE, DELETE ON rlmproxy_tools TO limited; GRANT USAGE ON rlmproxy_tools_revision TO limited`)
	s, err := OpenPostgres(strings.Replace(server.URL, "owner:"+registrytest.Password, "limited:x", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Put(ctx, tool("add"), 0); err != nil {
		t.Error(err)
	}
}

// TestHostile: what is no tool is left out and told of, whoever wrote it, and all others are there.
func TestHostile(t *testing.T) {
	good := tool("good")
	good.Revision = 3
	with := func(f func(*Tool)) string {
		t := tool("x")
		t.Revision = 4
		f(&t)
		raw, _ := json.Marshal(t)
		return string(raw)
	}
	plain := with(func(*Tool) {})
	bad := map[string]string{
		"proxy_run":       with(func(t *Tool) { t.Name = "proxy_run" }),
		"Proxy_tools":     with(func(t *Tool) { t.Name = "Proxy_tools" }),
		"proxy/filter":    with(func(t *Tool) { t.Name = "proxy/filter" }),
		"another name":    plain,
		"no revision":     strings.Replace(plain, `"revision":4`, `"revision":0`, 1),
		"a large program": with(func(t *Tool) { t.Program = strings.Repeat("a", MaxProgram+1) }),
		"a huge tool":     with(func(t *Tool) { t.Program = strings.Repeat("a", maxTool) }),
		"a deep schema": with(func(t *Tool) {
			t.InputSchema = json.RawMessage(`{"type":"object","x":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + "}")
		}),
		"a flag of npm":    with(func(t *Tool) { t.Engine, t.Packages = Container, []string{"--registry=http://x@1.0.0"} }),
		"a number":         `7`,
		"another type":     `{"name":["x"]}`,
		"another language": with(func(t *Tool) { t.Language = "python" }),
	}
	check := func(t *testing.T, s Store) {
		t.Helper()
		all, err := s.List(context.Background())
		if len(all) != 1 || all[0].Name != "good" || err == nil {
			t.Errorf("%d tools, %v", len(all), err)
		}
		if err != nil && len(err.Error()) > 2000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		if _, err := s.Put(context.Background(), tool("another"), 0); err != nil {
			t.Errorf("others cannot be made: %v", err)
		}
	}
	raw, _ := json.Marshal(good)
	t.Run("folder", func(t *testing.T) {
		s, err := OpenFolder(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		content := file{Version: fileVersion, Tools: []json.RawMessage{raw, raw}} // one twice
		for _, one := range bad {
			if one != plain {
				content.Tools = append(content.Tools, json.RawMessage(one))
			}
		}
		data, _ := json.Marshal(content)
		if err := os.WriteFile(s.path(), data, 0o600); err != nil {
			t.Fatal(err)
		}
		check(t, s)
		for text, want := range map[string]string{"{": "damaged", `{"version":9}`: "version 9", "[]": "damaged"} {
			if err := os.WriteFile(s.path(), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var away *AwayError
			if _, err := s.List(context.Background()); !errors.As(err, &away) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
			// It is not written over.
			if _, err := s.Put(context.Background(), tool("another"), 0); !errors.As(err, &away) {
				t.Errorf("%s: %v", text, err)
			}
		}
		if err := os.Chmod(s.path(), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := s.List(context.Background()); err == nil || !strings.Contains(err.Error(), "others") {
			t.Errorf("a file that others can read: %v", err)
		}
		if err := os.Chmod(filepath.Dir(s.path()), 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenFolder(filepath.Dir(filepath.Dir(s.path()))); err == nil {
			t.Error("a folder that others can write to is used")
		}
	})
	t.Run("postgres", func(t *testing.T) {
		server := registrytest.Start(t)
		s := openPostgres(t, server)
		if _, err := s.List(context.Background()); err != nil { // makes the table
			t.Fatal(err)
		}
		insert := `INSERT INTO rlmproxy_tools VALUES ($1, $2, $3)`
		server.Do(insert, "good", 3, string(raw))
		for name, one := range bad {
			server.Do(insert, name, 4, one)
		}
		server.Do(insert, "x", 5, plain)                       // another revision inside
		server.Do(insert, strings.Repeat("n", 2000), 4, plain) // a long name
		check(t, s)
	})
}

// TestCheck: what a maker says wrong has an error that names it.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		change func(*Tool)
		want   string
	}{
		{func(t *Tool) {}, ""},
		{func(t *Tool) { t.Name = "" }, "name"},
		{func(t *Tool) { t.Name = "a b" }, "name"},
		{func(t *Tool) { t.Name = strings.Repeat("a", 65) }, "name"},
		{func(t *Tool) { t.Name = "PROXY_x" }, "proxy_"},
		{func(t *Tool) { t.Description = " " }, "description"},
		{func(t *Tool) { t.Description = "\xff" }, "UTF-8"},
		{func(t *Tool) { t.Program = "a\x00" }, "U+0000"},
		{func(t *Tool) { t.InputSchema = nil }, "input_schema"},
		{func(t *Tool) { t.InputSchema = json.RawMessage(`{"type":"string"}`) }, "input_schema"},
		{func(t *Tool) { t.Language = "" }, "language"},
		{func(t *Tool) { t.Engine = "vm" }, "engine"},
		{func(t *Tool) { t.Engine, t.Language = Container, JQ }, "engine"},
		{func(t *Tool) { t.Program = "" }, "program"},
		{func(t *Tool) { t.Call = &Call{Tool: "x"} }, "call"},
		{func(t *Tool) { t.Language, t.Call = JQ, &Call{} }, "call.tool"},
		{func(t *Tool) { t.Language, t.Call = JQ, &Call{Tool: "fs_read", Arguments: "{path: .p}"} }, ""},
		{func(t *Tool) { t.Packages = []string{"lodash@4.17.21"} }, "packages"},
		{func(t *Tool) { t.Engine, t.Packages = Container, []string{"lodash@4.17.21", "@a/b@1.0.0-rc.1"} }, ""},
		{func(t *Tool) { t.Engine, t.Packages = Container, []string{"lodash"} }, "lodash"},
		{func(t *Tool) { t.Engine, t.Packages = Container, []string{"../x@1.0.0"} }, "../x"},
		{func(t *Tool) { t.Engine, t.Packages = Container, []string{"x@git+https://h/x"} }, "git"},
		{func(t *Tool) { t.Engine, t.Packages = Container, []string{"x@1.0.0\n--flag"} }, "package"},
	} {
		one := tool("add")
		tt.change(&one)
		err := one.Check()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("want %q: %v", tt.want, err)
		}
	}
}
