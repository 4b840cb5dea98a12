package main

import (
	"os"
	"runtime/debug"

	"rlmproxy/config"
)

// What the process holds at most, whatever agents do, and with the defaults below
// 1 GB:
//
//	over a pipe  over HTTP
//	    100 MiB    320 MiB  results: maxMemoryPerAgent of the one agent that a pipe
//	                        has, maxMemory of all that come over HTTP
//	    192 MiB     96 MiB  what is derived from them
//	    320 MiB    200 MiB  results that are worked on: workBytes, five times over.
//	                        Their text is decoded, put into the form that is
//	                        searched, and answers are encoded
//	                32 MiB  what clients may ask for again: replayBytes
//	                24 MiB  what the page /ui has cut of its answers: deskBytes
//	    108 MiB    108 MiB  o200k's tables, stacks, and room for the collector
//	     64 MiB    128 MiB  requests that wait and answers that nobody has read:
//	                        maxBytesPerAgent, for all agents twice. The collector is
//	                        told nothing of these and works harder for them: few
//	                        agents come near
//
// The factor is measured by TestMemory in e2e. A message of more than workBytes has
// its turn alone: over HTTP, where so much is kept for others, the collector works
// harder for one of more than 40 MiB. jq workers have limits of their own.
const (
	workFactor  = 5
	replayBytes = 32 << 20 // as package web has it
	deskBytes   = 24 << 20
	restBytes   = 108 << 20
)

func (a audience) derivedBytes() int64 {
	if a == manyClients {
		return 96 << 20
	}
	return 192 << 20
}

// workBytes bounds the results of a mebibyte and more that are worked on at one
// time. With many clients, there are three of 12 MB: on two cores more would be
// no faster, and take as much memory as all that is kept.
func (a audience) workBytes() int64 {
	if a == manyClients {
		return 40 << 20
	}
	return 64 << 20
}

// limitMemory has the collector work harder instead of letting the process grow
// past that sum, unless the environment sets a limit of its own.
func limitMemory(p config.Proxy, who audience) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return // the runtime has read it
	}
	kept := min(p.MaxMemoryPerAgent, p.MaxMemory)
	if who == manyClients {
		kept = p.MaxMemory + replayBytes + deskBytes
	}
	work := who.workBytes()
	if line := int64(p.MaxLineBytes); line > 64<<20 { // the default is in the sum
		work = max(work, line)
	}
	work *= workFactor
	debug.SetMemoryLimit(kept + who.derivedBytes() + work + restBytes)
}
