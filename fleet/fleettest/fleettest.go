// Package fleettest starts Redis servers for tests. What is tested has the rights of
// deploy/valkey.rights there, as operators are told to give it.
package fleettest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Server is a Redis or Valkey on a socket of its own, which ends with the test.
type Server struct {
	// URL is for fleet.Options: of a user with the rights that operators give.
	URL string
	// Client is connected to it, and may do everything.
	Client *redis.Client

	t    testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd
}

// Start starts a server, with these further arguments. Without one of Debian's packages
// redis-server or valkey-server the test is skipped, or fails where RLMPROXY_E2E=required.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, "default", args...)
}

// StartLasting starts a server that writes down what it has, as operators are told to have
// it: after a kill it is all there, after the end of the machine all but a second.
func StartLasting(t testing.TB) *Server {
	t.Helper()
	// The file is read with the rights of the user default: with less than all, what scripts
	// have written would be lost.
	return start(t, "rlmproxy", "--appendonly", "yes", "--appendfsync", "everysec", "--user", "default", "off", "~*", "&*", "+@all")
}

// start starts a server whose user of that name has the rights.
func start(t testing.TB, user string, args ...string) *Server {
	t.Helper()
	program := find(t)
	// A socket's path is short. t.TempDir is not.
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	s := &Server{URL: "unix://" + user + ":any@" + path, t: t, dir: dir,
		args: append([]string{program, "--port", "0", "--unixsocket", path, "--dir", dir, "--save", "", "--loglevel", "warning"}, args...)}
	s.args = append(s.args, "--user", "admin", "on", "nopass", "~*", "&*", "+@all", "--user", user, "on", "nopass")
	s.args = append(s.args, Rights(t)...)
	if user == "default" {
		s.URL = "unix://" + path
	}
	s.Client = redis.NewClient(&redis.Options{Network: "unix", Addr: path, Username: "admin", Password: "any"})
	t.Cleanup(func() {
		if t.Failed() {
			denied, _ := s.Client.ACLLog(context.Background(), 10).Result()
			for _, d := range denied {
				t.Logf("the store denied the %s %s: deploy/valkey.rights may lack it", d.Reason, d.Object)
			}
		}
		s.Kill()
		s.Client.Close()
		os.RemoveAll(dir)
	})
	s.Restart()
	return s
}

// AdminURL is for fleet.Options: of a user who may do everything.
func (s *Server) AdminURL() string { return "unix://admin:any@" + s.Client.Options().Addr }

// Sentinel starts a sentinel with a file of its own, at a port of 127.0.0.1.
func Sentinel(t testing.TB, conf, port string) {
	t.Helper()
	s := &Server{t: t, args: []string{find(t), conf, "--sentinel", "--logfile", os.DevNull}}
	s.Client = redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})
	t.Cleanup(func() {
		s.Kill()
		s.Client.Close()
	})
	s.Restart()
}

// find is the program of a server.
func find(t testing.TB) string {
	t.Helper()
	program := ""
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		if os.Getenv("RLMPROXY_E2E") == "required" {
			t.Fatal("redis-server and valkey-server are missing")
		}
		t.Skip("redis-server and valkey-server are missing")
	}
	return program
}

// Kill ends the server as kill -9 does, if it runs.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Until waits for what happens outside of this process, for 20 seconds at most.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 20 seconds: " + what)
		}
	}
}

// Signal sends a signal to the server.
func (s *Server) Signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Restart starts a server that was killed, and returns when it answers. What it had is lost
// unless an argument of Start has it written down.
func (s *Server) Restart() {
	s.t.Helper()
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for s.Client.Ping(ctx).Err() != nil {
		if ctx.Err() != nil {
			s.t.Fatal("the Redis server does not answer")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Rights are those of deploy/valkey.rights: what the user of the store needs that replicas
// share, as rules of an ACL.
func Rights(t testing.TB) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("this test does not run within the module")
		}
		dir = filepath.Dir(dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, "deploy", "valkey.rights"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}
