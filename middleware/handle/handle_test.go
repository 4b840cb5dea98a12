package handle

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func task(id string) Handle { return Handle{"s", Task, id} }

// TestTable: a handle is of whom it was given to, until its time has passed or its party
// has gone.
func TestTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table Table
		check := func(party string, h Handle, want bool) {
			t.Helper()
			if got := table.Has(party, h); got != want {
				t.Errorf("%s has %v: %v", party, h, got)
			}
		}
		check("alice", task("1"), false)
		table.Give("alice", task("1"), 0)
		table.Give("alice", task("2"), time.Second)
		table.Give("bob", task("3"), time.Hour)
		check("alice", task("1"), true)
		check("bob", task("1"), false)
		check("alice", Handle{"other", Task, "1"}, false)
		check("alice", Handle{"s", Elicitation, "1"}, false)
		check("alice", Handle{"sT", "ask", "1"}, false)
		time.Sleep(time.Second + grace)
		check("alice", task("2"), true)
		time.Sleep(time.Nanosecond)
		check("alice", task("2"), false)
		table.Give("bob", task("3"), time.Minute) // counted from when it was given
		time.Sleep(time.Minute)
		check("bob", task("3"), false)
		check("alice", task("1"), true)
		table.Give("bob", task("1"), 0)
		if n := len(table.Owners(task("1"))); n != 2 {
			t.Errorf("%d owners", n)
		}
		table.Forget("alice")
		check("alice", task("1"), false)
		check("bob", task("1"), true)
		table.Forget("bob")
		if table.Len() != 0 || len(table.given) != 0 || len(table.parties) != 0 {
			t.Errorf("%d are left", table.Len())
		}
	})
}

// TestBounds: a party, and all together, have so many handles; the oldest go first.
func TestBounds(t *testing.T) {
	var table Table
	for i := range maxOfParty + 1 {
		table.Give("alice", task(fmt.Sprint(i)), 0)
	}
	if table.Len() != maxOfParty || table.Has("alice", task("0")) || !table.Has("alice", task("1")) {
		t.Errorf("%d", table.Len())
	}
	for i := range maxOfAll {
		table.Give(fmt.Sprint("party", i/10), task(fmt.Sprint(i)), 0)
	}
	if table.Len() != maxOfAll || len(table.Owners(task("1"))) != 1 || table.Has("alice", task("1")) {
		t.Errorf("%d", table.Len())
	}
}

// TestNews: whoever waits hears of the next handle.
func TestNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table Table
		_, news := table.Watch(task("1"))
		go table.Give("alice", task("1"), 0)
		<-news
		if owners := table.Owners(task("1")); len(owners) != 1 || owners[0] != "alice" {
			t.Error(owners)
		}
	})
}
