package process

import (
	"os/exec"
	"testing"
	"time"
)

// TestZombiesAreGone: who has ended need not be waited for by anybody. They used
// to be told to terminate, and killed, for three seconds.
func TestZombiesAreGone(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read x")
	ownGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Skip(err)
	}
	p := &Process{cmd: cmd}
	if !p.groupAlive() {
		t.Error("a process that waits counts as gone")
	}
	stdin.Close()
	if !p.gone(10 * time.Second) {
		t.Error("a process that is not waited for counts as alive")
	}
	if err := cmd.Wait(); err == nil || p.groupAlive() {
		t.Errorf("%v", err)
	}
}
