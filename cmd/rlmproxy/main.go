// Command rlmproxy stands between an MCP client and its servers and keeps long
// results out of the agent's context.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
