package upstream

import (
	"encoding/json"
	"os"
	"syscall"
	"testing"
	"time"
)

// A server of this name joins the group of who started it.
func init() {
	if os.Getenv(testServer) == "mover" {
		group, err := syscall.Getpgid(os.Getppid())
		if err == nil {
			err = syscall.Setpgid(0, group)
		}
		if err != nil {
			panic(err)
		}
	}
}

// TestCloseEndsWhoLeftTheGroup: a server that is in our group, and goes on without
// its stdin, ends all the same.
func TestCloseEndsWhoLeftTheGroup(t *testing.T) {
	u := run(t, "mover", Options{})
	raw, err := call(t, u, "pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ PID int }
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		t.Fatal(err)
	}
	closed := make(chan bool, 1)
	go func() { u.Close(); closed <- true }()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("Close does not return")
		_ = syscall.Kill(r.PID, syscall.SIGKILL)
		<-closed
	}
	if alive(r.PID) {
		t.Errorf("process %d is left", r.PID)
	}
}
