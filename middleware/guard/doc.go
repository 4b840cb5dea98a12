// Package guard keeps one agent from taking what others need.
//
//	Budget    turns to compute, and memory for results, round the agents ─► Hold
//	Turns     calls that run at one time, round the agents
//	Calls     calls of one agent, that run and that begin in a minute
//	Accounts  bytes that are held for one agent, and for all
//
// Who waits for a turn waits behind those of agents that have less. Who is over a limit
// is told so at once, by a [BusyError] or a [RateError]. An agent is the party of a
// session here, whether or not agents share what is kept. Replicas count Calls together,
// in their store ([Calls.Share]); the rest is each one's own.
//
// Other bounds are where what they count is: sessions over HTTP in web, connections of
// single agents in isolation, results in cache. Sizes are bytes.
package guard
