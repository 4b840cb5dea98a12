package container

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Bounds of all containers, beside those of [Options].
const (
	maxProcesses = 64 // and threads, of which Node has ten
	maxTempBytes = 64 << 20
)

// user is nobody, by number: images need not know the name.
const user = "65534:65534"

// A box is a container that runs, or is about to.
type box struct {
	program *program
	name    string
	in      io.WriteCloser
	out     *os.File
	errs    tail // what it and its program wrote to stderr

	cmd    *exec.Cmd
	began  time.Time
	exited chan struct{} // closed when the command has ended, and the container with it
	code   int           // of the command's exit, -1 if it was killed; read after exited
}

// closed are flags of every container: no rights, nothing to write to but /tmp, and bounds.
func closed(p *program, name string, memory int64, cpus string, processes int, tempBytes int64) []string {
	flags := []string{"run", "--rm", "--interactive", "--name", name, "--label", label + "=" + machine(), "--pull", "never",
		"--log-driver", "none", "--no-healthcheck", "--hostname", "tool", "--ipc", "none",
		"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", user,
		"--memory", fmt.Sprint(memory), "--memory-swap", fmt.Sprint(memory), "--cpus", cpus, "--pids-limit", strconv.Itoa(processes),
		"--tmpfs", fmt.Sprintf("/tmp:rw,size=%d,mode=1777,nosuid,nodev,noexec", tempBytes),
		"--env", "HOME=/tmp", "--entrypoint", "sh"}
	if p.name == "podman" {
		flags = append(flags, "--read-only-tmpfs=false", "--env-host=false")
	}
	return flags
}

// withoutProxies has variables of the proxy's environment empty that both programs hand on to
// containers: they may hold passwords.
func withoutProxies() (flags []string) {
	for _, name := range []string{"http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy"} {
		flags = append(flags, "--env", name+"=", "--env", strings.ToUpper(name)+"=")
	}
	return flags
}

// start starts a container by the arguments of run.
func start(p *program, name string, args []string) (*box, error) {
	b := &box{program: p, name: name, began: time.Now(), exited: make(chan struct{})}
	out, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b.out = out
	b.cmd = exec.Command(p.path, args...)
	b.cmd.Dir = os.TempDir()
	isolate(b.cmd)
	b.cmd.Stdout, b.cmd.Stderr, b.cmd.WaitDelay = write, &b.errs, time.Second
	if b.in, err = b.cmd.StdinPipe(); err == nil {
		err = b.cmd.Start()
	}
	write.Close()
	if err != nil {
		out.Close()
		return nil, err
	}
	go func() {
		_ = b.cmd.Wait()
		b.code = b.cmd.ProcessState.ExitCode()
		close(b.exited)
	}()
	return b, nil
}

// How long a container may take to end: by itself, when killed, and from one attempt to the next.
const (
	endTime  = 2 * time.Second
	killTime = 30 * time.Second
	again    = 200 * time.Millisecond
)

// close ends the container if it does not end by itself, and returns when it is gone.
func (b *box) close() {
	b.in.Close()
	go b.drain()
	select {
	case <-b.exited:
	case <-time.After(endTime):
		b.kill()
	}
	b.out.Close()
}

// endWith has the container killed when ctx ends. The function it returns ends that, and waits for
// a kill that has begun.
func (b *box) endWith(ctx context.Context) (release func()) {
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		b.kill()
	})
	return func() {
		if !stop() {
			<-killed
		}
	}
}

// drain reads what nobody else will: the command does not end before it has written all. It returns
// when the command has ended, or b is closed.
func (b *box) drain() { _, _ = io.Copy(io.Discard, b.out) }

// kill ends the container, and returns when it is gone. It may not be there yet, so kill tries again.
func (b *box) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	go b.drain()
	for ctx.Err() == nil {
		_, _ = b.program.output(ctx, "kill", "--signal", "KILL", b.name)
		select {
		case <-b.exited:
			return
		case <-time.After(again):
		}
	}
	_ = b.cmd.Process.Kill()
	ctx, cancel = context.WithTimeout(context.Background(), killTime)
	defer cancel()
	_, _ = b.program.output(ctx, "rm", "--force", b.name)
	<-b.exited
}
