package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A test binary with this variable is a program as main is, whose work the value names.
const testAdopt = "TEST_ADOPT"

// adopted is that program. It returns its exit code.
func adopted(work string) int {
	if exit, done := Adopt(); done {
		return exit
	}
	switch work {
	case "orphans":
		out, err := exec.Command("sh", "-c", "(true & echo $!)").Output()
		pid, _ := strconv.Atoi(strings.TrimSpace(string(out)))
		for begun := time.Now(); err == nil && pid > 0; time.Sleep(time.Millisecond) {
			if syscall.Kill(pid, 0) != nil { // not there as a zombie either
				return 7
			}
			if time.Since(begun) > 10*time.Second {
				break
			}
		}
	case "signal":
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		fmt.Println("ready")
		<-signals
		return 8
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return 1
}

// TestFirstProcess: as the first process of a container the proxy waits for orphans,
// which were zombies for as long as it ran, and is otherwise as it is elsewhere.
func TestFirstProcess(t *testing.T) {
	for work, want := range map[string]int{"orphans": 7, "signal": 8, "killed": 128 + 9} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), testAdopt+"="+work)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
		if os.Getuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		}
		stdout, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Skip(err)
		}
		if work == "signal" {
			_, _ = bufio.NewReader(stdout).ReadString('\n')
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != want {
			t.Errorf("%s: %v, want %d", work, err, want)
		}
	}
}
