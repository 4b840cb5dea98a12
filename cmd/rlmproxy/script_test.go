package main

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/zalando/go-keyring"
)

func TestMain(m *testing.M) {
	keyring.MockInitWithError(errors.New("none for tests"))            // nobody's own is touched
	if len(os.Args) == 2 && strings.HasSuffix(os.Args[1], "-worker") { // as the proxy starts its own binary
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	// Servers end by syscall.Exit: with -race, os.Exit takes a second more, where no GORACE
	// says otherwise, and servers do not get that.
	if len(os.Args) == 3 && os.Args[1] == "counter" { // as TestIsolation starts a server
		syscall.Exit(counter(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == "listed" { // as TestTrust does
		syscall.Exit(listed(os.Args[2]))
	}
	if len(os.Args) == 2 && os.Args[1] == "rows" { // as TestKilled does
		syscall.Exit(rows())
	}
	if os.Getenv("RLMPROXY_TEST_RUN") != "" { // as it starts the proxy
		os.Unsetenv("RLMPROXY_TEST_RUN") // which is no setting
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(stateless{m}, map[string]func(){
		"rlmproxy": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// noSleep has processes that are built with -race end as quickly as others.
const noSleep = "atexit_sleep_ms=0"

// A stateless run of the tests leaves the state folder of whoever runs them alone.
type stateless struct{ m *testing.M }

func (s stateless) Run() int {
	dir, err := os.MkdirTemp("", "rlmproxy-state")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("RLMPROXY_STATE_DIR", dir)
	os.Setenv("XDG_STATE_HOME", dir) // for tests with an environment of their own
	os.Setenv("GORACE", noSleep)
	return s.m.Run()
}

// TestScripts runs testdata/*.txtar: each holds one behaviour of the command
// line, silence included.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", Setup: func(env *testscript.Env) error {
		env.Setenv("RLMPROXY_STATE_DIR", env.WorkDir+"/state")
		env.Setenv("GORACE", noSleep)
		return nil
	}})
}
