package main

import (
	"os"
	"runtime/debug"

	"rlmproxy/config"
)

// What the process holds at most, whatever agents do, and with the defaults below
// 1 GB:
//
//	100 MiB  results of the one agent that a pipe has: maxMemoryPerAgent
//	192 MiB  what is derived from them: derivedBytes
//	320 MiB  results that are worked on: workBytes, or a message of maxLineBytes
//	         if that is more, five times over. Their text is decoded, put into
//	         the form that is searched, and answers are encoded
//	108 MiB  o200k's tables, requests, and room for the collector: restBytes
//
// The factor is measured by TestMemory in e2e. jq workers have limits of their own.
const (
	derivedBytes = 192 << 20
	workBytes    = 64 << 20
	restBytes    = 108 << 20
	workFactor   = 5
)

// limitMemory has the collector work harder instead of letting the process grow
// past that sum, unless the environment sets a limit of its own.
func limitMemory(p config.Proxy) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return // the runtime has read it
	}
	kept := min(p.MaxMemoryPerAgent, p.MaxMemory)
	work := workFactor * max(workBytes, int64(p.MaxLineBytes))
	debug.SetMemoryLimit(kept + derivedBytes + work + restBytes)
}
