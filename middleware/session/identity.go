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

// known reports whether an identity is more than that of a connection.
func (i Identity) known() bool {
	return i.Subject != "" || i.Session != "" || i.Name != "" || i.Pipe != "" || i.Peer != ""
}

// Identity is who the client is, as it is on each replica, by the rights of its last request.
// ok is false if nothing but its connection tells it from others.
func (s *Session) Identity() (who Identity, ok bool) {
	who = s.opts.Identity
	who.Who = s.Who()
	return who, who.known()
}

// Guest reports whether another replica has the client, and has handed on one request of it.
func (s *Session) Guest() bool { return s.opts.Guest }

// Everywhere names an MCP session on each replica alike, in 64 letters and digits. It is ""
// for a client without one.
func (s *Session) Everywhere() string {
	if s.opts.Identity.Session == "" {
		return ""
	}
	return hash(s.opts.Identity.Session)
}

// Lasts reports whether somebody may be the agent of this name after a restart.
func Lasts(agent string) bool {
	return !strings.HasPrefix(agent, "session ") && !Local(agent)
}

// Local reports whether the agent of this name is another one in each process.
func Local(agent string) bool { return strings.HasPrefix(agent, "connection-") }

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
