// Command rlmproxy stands between an MCP client and its servers and keeps long
// results out of the agent's context.
package main

import (
	"os"

	"rlmproxy/middleware/upstream/process"
)

func main() {
	if exit, done := process.Adopt(); done {
		os.Exit(exit)
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
