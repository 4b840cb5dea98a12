//go:build unix

package process

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A family is a server with all that it started, below its supervisor.
type family struct {
	supervisor *exec.Cmd
	server     int      // its process, which leads a group
	life       *os.File // the supervisor reads its end when we close it, or end
	reports    *os.File
	said       *json.Decoder // of reports
	once       sync.Once
	gone       chan struct{} // closed when the supervisor has ended
}

// An order is what the supervisor is to start.
type order struct {
	Path string
	Args []string // the name it is called by first
	Env  []string
	Dir  string
}

// A report is what the supervisor says: first the pid, or why there is none, then how
// the server has ended.
type report struct {
	PID   int    `json:",omitempty"`
	Error string `json:",omitempty"`
	Exit  string `json:",omitempty"`
}

// ownBinary is the one that runs, on Linux even if another has taken its place on disk.
func ownBinary() (string, error) {
	self, err := os.Executable()
	if err == nil && runtime.GOOS == "linux" {
		self = "/proc/self/exe"
	}
	return self, err
}

// spare is a supervisor that is being started ahead of its server, and nil when it is
// taken.
var spare atomic.Pointer[starting]

type starting struct {
	done       chan struct{} // closed when the fields below are set
	supervisor *supervisor
	err        error
}

// Prepare starts a supervisor ahead of the first server, which then starts some
// milliseconds sooner. It does not wait.
func Prepare() {
	next := &starting{done: make(chan struct{})}
	if !spare.CompareAndSwap(nil, next) {
		return
	}
	go func() {
		next.supervisor, next.err = newSupervisor()
		close(next.done)
	}()
}

// takeSupervisor returns the spare one, or starts another.
func takeSupervisor() (*supervisor, error) {
	next := spare.Swap(nil)
	if next == nil {
		return newSupervisor()
	}
	<-next.done
	return next.supervisor, next.err
}

// A supervisor is a process that has been started and waits for its order.
type supervisor struct {
	cmd     *exec.Cmd
	pipes   *pipes
	life    *os.File
	reports *os.File
}

func newSupervisor() (*supervisor, error) {
	self, err := ownBinary()
	if err != nil {
		return nil, err
	}
	p, err := newPipes()
	if err != nil {
		return nil, err
	}
	theirLife, life, err := os.Pipe()
	if err != nil {
		p.close()
		return nil, err
	}
	defer theirLife.Close()
	reports, theirReports, err := os.Pipe()
	if err != nil {
		p.close()
		life.Close()
		return nil, err
	}
	defer theirReports.Close()
	s := &supervisor{pipes: p, life: life, reports: reports, cmd: &exec.Cmd{
		Path: self,
		Args: []string{"rlmproxy", superviseArg},
		// Nothing that is meant for the server changes how the supervisor runs, which
		// has little to do.
		Env:         []string{"GOMAXPROCS=1"},
		Stderr:      p.theirStderr,
		ExtraFiles:  []*os.File{p.theirStdin, p.theirStdout, theirLife, theirReports},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}, // a terminal's signals are for the proxy
	}}
	if err := s.cmd.Start(); err != nil {
		p.close()
		life.Close()
		reports.Close()
		return nil, err
	}
	p.handedOver()
	return s, nil
}

// discard ends a supervisor that has nothing to do.
func (s *supervisor) discard() {
	s.pipes.close()
	s.life.Close()
	s.reports.Close()
	_ = s.cmd.Wait()
}

// start has a supervisor start server.
func start(server *exec.Cmd) (*family, *pipes, error) {
	s, err := takeSupervisor()
	if err != nil {
		return nil, nil, err
	}
	f := &family{supervisor: s.cmd, life: s.life, reports: s.reports, said: json.NewDecoder(s.reports), gone: make(chan struct{})}
	if server.Env == nil {
		server.Env = []string{} // none, where package exec takes ours
	}
	var first report
	dir := server.Dir
	if dir == "" {
		dir, _ = os.Getwd() // the supervisor may have been started in another one
	}
	err = json.NewEncoder(s.life).Encode(order{server.Path, server.Args, server.Environ(), dir})
	if err == nil {
		err = f.said.Decode(&first)
	}
	if err == nil && first.Error != "" {
		err = errors.New(first.Error)
	}
	if err != nil {
		s.discard()
		return nil, nil, err
	}
	f.server = first.PID
	go func() {
		_ = s.cmd.Wait() // how it ended is not how the server did
		close(f.gone)
	}()
	return f, s.pipes, nil
}

// wait returns when the server's own process has ended, and says how.
func (f *family) wait() string {
	defer f.reports.Close()
	var last report
	if err := f.said.Decode(&last); err != nil {
		// Nobody else ends the supervisor, but the system can. The server goes with it.
		f.killGroup()
		return "its supervisor was ended"
	}
	return last.Exit
}

// end has the supervisor end all that is left, gently and then for sure. It returns when
// nothing is left.
func (f *family) end() {
	f.once.Do(func() {
		f.life.Close()
		select {
		case <-f.gone:
		case <-time.After(2*termGrace + time.Second): // something cannot be ended
			_ = f.supervisor.Process.Kill()
			f.killGroup()
			<-f.gone
		}
	})
}

func (f *family) killGroup() {
	if f.server > 0 {
		_ = syscall.Kill(-f.server, syscall.SIGKILL) // there may be none left
	}
}
