//go:build !unix

package rpc

// Gone knows nothing here: that whoever reads has gone shows when something is
// written.
func Gone(any) (gone, known bool) { return false, false }
