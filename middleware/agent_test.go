package middleware

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
	for _, who := range []Identity{{Subject: id}, {Session: id}, {Name: id}, {Peer: id}, {}, {Name: strings.Repeat(id, 20)}, {Session: strings.Repeat(id, 20)}} {
		party, _ := partyOf(who, 1)
		if seen[party] {
			t.Errorf("%q stands for two", party)
		}
		seen[party] = true
		if who.Session+who.Name != "" && strings.Contains(party, id) {
			t.Errorf("%q has what lets anybody be it", party)
		}
	}
}
