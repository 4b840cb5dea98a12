// Package guard bounds what agents may take: the bytes of results that calls work on
// at one time.
//
//	Budget.Hold ─► WithHold(ctx) ─► HoldOf(ctx).Take(n) ─► work ─► Release
//
// Sizes are bytes.
package guard
