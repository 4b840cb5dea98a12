package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "jq-worker" { // as the proxy starts its own binary
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 3 && os.Args[1] == "counter" { // as TestIsolation starts a server
		os.Exit(counter(os.Args[2]))
	}
	if os.Getenv("RLMPROXY_TEST_RUN") != "" { // as it starts the proxy
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(m, map[string]func(){
		"rlmproxy": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs testdata/*.txtar: each holds one behaviour of the command
// line, silence included.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata"})
}
