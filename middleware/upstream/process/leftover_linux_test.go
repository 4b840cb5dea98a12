package process

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A test binary with this variable is a proxy with one server, the shell script that is
// its value. It ends the server when its stdin ends.
const testProxy = "TEST_PROXY_OF"

func TestMain(m *testing.M) {
	if script := os.Getenv(testProxy); script != "" {
		p, err := Command{Path: "sh", Args: []string{"-c", script}, Inherit: []string{"MARK"}}.Start(slog.New(slog.DiscardHandler))
		if err != nil {
			fmt.Println(err)
			syscall.Exit(1)
		}
		go func() { _, _ = io.Copy(os.Stdout, p.Stdout) }()
		_, _ = io.Copy(io.Discard, os.Stdin)
		p.Close()
		syscall.Exit(0)
	}
	if work := os.Getenv(testAdopt); work != "" {
		syscall.Exit(adopted(work))
	}
	os.Exit(m.Run())
}

// supervisors are those of this test binary that run.
func supervisors() (n int) {
	self, _ := os.Readlink("/proc/self/exe")
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		exe, _ := os.Readlink(filepath.Join(filepath.Dir(path), "exe"))
		args, _ := os.ReadFile(path)
		if exe == self && strings.Contains(string(args), superviseArg) {
			n++
		}
	}
	return n
}

// marked are the processes whose environment has the variable: all that a proxy of the
// test has started, zombies not counted.
func marked(value string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(environ), "MARK="+value+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestSupervisorIsKilled: the server ends with its supervisor, which somebody has ended,
// and its connection says so.
func TestSupervisorIsKilled(t *testing.T) {
	mark := fmt.Sprint(os.Getpid(), t.Name())
	p, err := Command{Path: "sh", Args: []string{"-c", "sleep 1000 & sleep 1000"}, Env: []string{"MARK=" + mark}}.Start(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	_ = p.family.supervisor.Process.Kill()
	if _, err := io.Copy(io.Discard, p.Stdout); err != nil || p.Exit() != "its supervisor was ended" {
		t.Errorf("%v, %q", err, p.Exit())
	}
	p.Close()
	for begun := time.Now(); len(marked(mark)) > 0; time.Sleep(time.Millisecond) {
		if time.Since(begun) > 5*time.Second {
			t.Fatalf("%v are left", marked(mark))
		}
	}
}

// TestStarter: who was started by a supervisor was started by its proxy.
func TestStarter(t *testing.T) {
	if Starter() != os.Getppid() {
		t.Errorf("%d, want %d", Starter(), os.Getppid())
	}
	t.Setenv(starterEnv, fmt.Sprint(os.Getppid(), " ", 77))
	if Starter() != 77 {
		t.Errorf("%d, want 77", Starter())
	}
	t.Setenv(starterEnv, fmt.Sprint(os.Getppid()+1, " ", 77)) // of a process between
	if Starter() != os.Getppid() {
		t.Errorf("%d, want %d", Starter(), os.Getppid())
	}
}

// TestNothingIsLeft: whatever a server does to outlive the proxy, and however that ends.
// SIGKILL used to leave the first four, and the end of stdin the second and the third.
func TestNothingIsLeft(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	const wait = "; echo ready; "
	servers := map[string]string{
		"does not read":     `sleep 1000 & echo ready; wait`,
		"setsid":            `setsid sh -c 'sleep 1000 & sleep 1000' & sleep 0.1` + wait + `cat >/dev/null`,
		"double fork":       `(setsid sh -c 'sleep 1000 &' &) ; sleep 0.1` + wait + `cat >/dev/null`,
		"ignores SIGTERM":   `trap "" TERM HUP INT; sleep 1000 & echo ready; while :; do sleep 1; done`,
		"ends with stdin":   `echo ready; cat >/dev/null`,
		"a child ignores":   `setsid sh -c 'trap "" TERM; while :; do sleep 1; done' & sleep 0.1` + wait + `cat >/dev/null`,
		"forks all the way": `trap "" TERM; f() { while :; do (sleep 0.02; :) & wait; done; }; f & f & echo ready; cat >/dev/null`,
	}
	ends := map[string]func(p *exec.Cmd, stdin io.Closer) error{
		"SIGKILL":      func(p *exec.Cmd, _ io.Closer) error { return p.Process.Kill() },
		"SIGSEGV":      func(p *exec.Cmd, _ io.Closer) error { return p.Process.Signal(syscall.SIGSEGV) },
		"end of stdin": func(_ *exec.Cmd, stdin io.Closer) error { return stdin.Close() },
	}
	t.Cleanup(func() { // behind all below
		for begun := time.Now(); supervisors() > 0; time.Sleep(10 * time.Millisecond) {
			if time.Since(begun) > 5*time.Second {
				t.Fatalf("%d supervisors are left", supervisors())
			}
		}
	})
	for server, script := range servers {
		for end, how := range ends {
			t.Run(server+"/"+end, func(t *testing.T) {
				t.Parallel()
				mark := fmt.Sprint(os.Getpid(), server, end)
				proxy := exec.Command("/proc/self/exe")
				proxy.Env = append(os.Environ(), testProxy+"="+script, "MARK="+mark)
				stdin, err := proxy.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				stdout, err := proxy.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := proxy.Start(); err != nil {
					t.Fatal(err)
				}
				if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
					t.Fatalf("%q, %v", line, err)
				}
				if n := len(marked(mark)); n < 2 {
					t.Fatalf("%d processes run", n)
				}
				if err := how(proxy, stdin); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				_ = proxy.Wait()
				for len(marked(mark)) > 0 {
					if time.Since(begun) > 20*time.Second {
						t.Errorf("%v are left", marked(mark))
						for _, pid := range marked(mark) {
							_ = syscall.Kill(pid, syscall.SIGKILL)
						}
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
	}
}
