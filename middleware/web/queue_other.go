//go:build !unix

package web

import "net"

// waiting reports whether a client has connected that has not been accepted yet. It is not
// known here.
func waiting(net.Listener) bool { return false }
