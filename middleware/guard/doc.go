// Package guard has calls wait for their turn while others work on large results: what it
// bounds is bytes, over all agents.
//
//	Budget.Hold ─► WithHold(ctx) ─► HoldOf(ctx).Take(n) ─► work ─► Release
//
// Other bounds are where what they count is: requests of one peer in rpc/backlog.go,
// sessions over HTTP in web, connections of single agents in isolation, results in
// cache. Sizes are bytes.
package guard
