package worker

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
)

// TestWorkerEnvironment: a worker, in which an agent's program runs, gets none of our
// variables, as another user of this process sees it.
func TestWorkerEnvironment(t *testing.T) {
	t.Setenv("SOME_SECRET", "hunter2")
	w, err := start(Options{Command: func() (*exec.Cmd, error) { return exec.Command("cat"), nil }, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for len(got) == 0 && err == nil { // the kernel lays it out a moment after the start
		got, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", w.cmd.Process.Pid))
	}
	w.kill()
	<-w.exited
	if want := "GOTRACEBACK=none\x00"; err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
