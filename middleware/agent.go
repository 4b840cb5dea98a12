package middleware

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// An Identity is what a transport knows of who speaks. The first field that is
// set counts; with none, each connection is somebody else.
type Identity struct {
	// Subject was authenticated. It is the same agent whichever way it comes.
	Subject string
	// Session is the id of an MCP session, which nobody else knows.
	Session string
	// Name is what a client without session calls itself. Whoever says the same
	// name is the same agent.
	Name string
	// Peer is whatever else tells clients without session apart: where they come
	// from and which program they are.
	Peer string
}

// sharedAgent is everybody, where the operator turned isolation off.
const sharedAgent = "shared"

// agentOf names the agent behind the nth connection. If ends is set, nobody can
// be that agent once the connection has ended.
func (s *Server) agentOf(who Identity, n int) (agent string, ends bool) {
	if s.opts.SharedCache {
		return sharedAgent, false
	}
	return partyOf(who, n)
}

// partyOf is agentOf whether or not the cache is shared: what servers ask and tell
// is not for everybody.
func partyOf(who Identity, n int) (party string, ends bool) {
	switch {
	case who.Subject != "":
		return "subject " + short(who.Subject), false
	// The log names agents: not by what lets anybody be one.
	case who.Session != "":
		return "session #" + digest(who.Session), true
	case who.Name != "":
		return "name #" + digest(who.Name), false
	case who.Peer != "":
		return "peer " + short(who.Peer), false
	}
	return "connection-" + strconv.Itoa(n), true
}

// short bounds a name that a client may have chosen. The hash of a long one does
// not begin as the others do.
func short(name string) string {
	if len(name) <= 128 {
		return ":" + name
	}
	return "#" + digest(name)
}

func digest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
