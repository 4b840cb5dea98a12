package process

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// A family is a server with all that it started.
type family struct {
	cmd    *exec.Cmd
	once   sync.Once
	exited chan struct{} // closed when the server's own process has ended
	how    string        // it ended; read after exited
}

// start starts server.
func start(server *exec.Cmd) (*family, *pipes, error) {
	p, err := newPipes()
	if err != nil {
		return nil, nil, err
	}
	server.Stdin, server.Stdout, server.Stderr = p.theirStdin, p.theirStdout, p.theirStderr
	server.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	if err := server.Start(); err != nil {
		p.close()
		return nil, nil, err
	}
	p.handedOver()
	f := &family{cmd: server, exited: make(chan struct{}), how: "exit status 0"}
	go func() {
		if err := server.Wait(); err != nil {
			f.how = err.Error()
		}
		close(f.exited)
	}()
	return f, p, nil
}

// wait returns when the server's own process has ended, and says how.
func (f *family) wait() string {
	<-f.exited
	return f.how
}

// end ends the process tree of a server that still runs; Windows has no gentle way that
// reaches console programs without a console. What a server left behind that ended by
// itself ends with the proxy, see [Adopt].
func (f *family) end() {
	f.once.Do(func() {
		select {
		case <-f.exited:
			return
		default:
		}
		_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(f.cmd.Process.Pid)).Run() // it may have ended
		select {
		case <-f.exited:
		case <-time.After(termGrace):
			_ = f.cmd.Process.Kill()
		}
	})
}

// Starter is the process that started us.
func Starter() int { return os.Getppid() }

// Prepare does nothing here, where no server has a supervisor.
func Prepare() {}
