package session

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"rlmproxy/middleware/rights"
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
	// Pipe names the configuration whose client speaks over stdin and stdout, if its agent
	// is to be the same in the next process of that configuration.
	Pipe string
	// Peer is whatever else tells clients without session apart: where they come
	// from and which program they are.
	Peer string
	// Replica is the name of this process, where the agents of several are kept together: a
	// connection is one agent among those of all.
	Replica string
	// Who is what is known for the operator's rules. It may change from one request to
	// the next, see [Session.Who].
	Who rights.Who
}

// Party names whoever is behind the nth connection, see [Session].
func (i Identity) Party(n int) string {
	name, _ := i.agent(n)
	return name
}

// agent names the agent behind the nth connection. If ends is set, nobody can be that
// agent in this process once the connection has ended. The log has these names, so they do not show
// what lets anybody be an agent.
func (i Identity) agent(n int) (name string, ends bool) {
	switch {
	case i.Subject != "":
		return "subject " + short(i.Subject), false
	case i.Session != "":
		return "session #" + hash(i.Session), true
	case i.Name != "":
		return "name #" + hash(i.Name), false
	case i.Pipe != "":
		return "pipe #" + hash(i.Pipe), true
	case i.Peer != "":
		return "peer " + short(i.Peer), false
	}
	if i.Replica != "" {
		return "connection-" + i.Replica + "-" + strconv.Itoa(n), true
	}
	return "connection-" + strconv.Itoa(n), true
}

// Lasts reports whether somebody may be the agent of this name after a restart.
func Lasts(agent string) bool {
	return !strings.HasPrefix(agent, "session ") && !strings.HasPrefix(agent, "connection-")
}

// short bounds a name that a client may have chosen. The hash of a long one does
// not begin as the others do.
func short(name string) string {
	if len(name) <= 128 {
		return ":" + name
	}
	return "#" + hash(name)
}

func hash(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
