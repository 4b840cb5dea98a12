// Package revision names the revisions of the Model Context Protocol that are not alike.
//
// What differs is done in few places. Towards clients: session (handshake.go, request.go,
// result.go) and web (headers.go, post.go). Towards servers: upstream (handshake.go,
// choose.go) and its transport (paramheaders.go). Between the two: deferred, and input.go
// of relay. Which revisions there are at all says the SDK.
package revision

const (
	// Stateless has neither handshake nor sessions: each request says what a handshake
	// would have said (SEP-2575).
	Stateless = "2026-07-28"
	// LastWithHandshake is the last one before. Servers of every age answer its
	// handshake.
	LastWithHandshake = "2025-11-25"
	// Resumable is from where on a stream over HTTP begins with an event without data, by
	// which it can be resumed (SEP-1699).
	Resumable = "2025-11-25"
	// Unbatched is from where on a message stands alone.
	Unbatched = "2025-06-18"
	// Unnamed is what a request over HTTP is of that names none.
	Unnamed = "2025-03-26"
)
