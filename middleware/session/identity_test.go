package session

import (
	"strings"
	"testing"
)

// TestAgentNames: two clients that are known in different ways are two agents, and
// the name of neither has the id of a session, or what a client calls itself, with
// which anybody could go on as that agent: the log names agents.
func TestAgentNames(t *testing.T) {
	const id = "JBSWY3DPEHPK3PXP"
	seen := map[string]bool{}
	for _, who := range []Identity{{Subject: id}, {Session: id}, {Name: id}, {Peer: id}, {Pipe: id}, {}, {Name: strings.Repeat(id, 20)}, {Session: strings.Repeat(id, 20)}} {
		party, _ := who.agent(1)
		if seen[party] {
			t.Errorf("%q stands for two", party)
		}
		seen[party] = true
		if who.Session+who.Name != "" && strings.Contains(party, id) {
			t.Errorf("%q has what lets anybody be it", party)
		}
	}
}

// TestWhoCounts holds the order of docs/http.md and docs/architecture.md: whoever has a
// token is one agent in all sessions, and a name counts without session only.
func TestWhoCounts(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b Identity
		same bool
	}{
		{"two sessions of a token", Identity{Subject: "ann", Session: "1"}, Identity{Subject: "ann", Session: "2"}, true},
		{"a session of a token and a request of it", Identity{Subject: "ann", Session: "1"}, Identity{Subject: "ann", Name: "n", Peer: "p"}, true},
		{"two tokens under one name", Identity{Subject: "ann", Name: "n"}, Identity{Subject: "bob", Name: "n"}, false},
		{"two sessions under one name", Identity{Session: "1", Name: "n"}, Identity{Session: "2", Name: "n"}, false},
		{"one name from two addresses", Identity{Name: "n", Peer: "p"}, Identity{Name: "n", Peer: "q"}, true},
		{"two names from one address", Identity{Name: "n", Peer: "p"}, Identity{Name: "m", Peer: "p"}, false},
		{"one address", Identity{Peer: "p"}, Identity{Peer: "p"}, true},
		{"one configuration over a pipe", Identity{Pipe: "c"}, Identity{Pipe: "c"}, true},
		{"two configurations over pipes", Identity{Pipe: "c"}, Identity{Pipe: "d"}, false},
		{"two connections", Identity{}, Identity{}, false},
	} {
		a, aEnds := tt.a.agent(1)
		b, _ := tt.b.agent(2)
		if (a == b) != tt.same {
			t.Errorf("%s: %q and %q", tt.name, a, b)
		}
		if tt.a.Subject != "" && aEnds {
			t.Errorf("%s: the agent ends with its session", tt.name)
		}
	}
}

// TestLasts: who has a name of its own may come again after a restart, and what a session
// or a connection alone tells apart may not.
func TestLasts(t *testing.T) {
	for _, tt := range []struct {
		who  Identity
		want bool
	}{
		{Identity{Subject: "ann"}, true},
		{Identity{Name: "n"}, true},
		{Identity{Peer: "p"}, true},
		{Identity{Pipe: "c"}, true},
		{Identity{Session: "1"}, false},
		{Identity{}, false},
		{Identity{Replica: "r"}, false},
	} {
		if name := tt.who.Party(1); Lasts(name) != tt.want {
			t.Errorf("%s: %t", name, !tt.want)
		}
	}
	if one, other := (Identity{Replica: "a"}).Party(1), (Identity{Replica: "b"}).Party(1); one == other || one == (Identity{}).Party(1) {
		t.Errorf("the first connections of two replicas are %s and %s", one, other)
	}
	if !Lasts(sharedAgent) {
		t.Error("all together do not last")
	}
}
