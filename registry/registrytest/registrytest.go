// Package registrytest starts PostgreSQL for tests.
package registrytest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Password is that of the user in [Server.URL]: nothing is ever to show it.
const Password = "pw-7f3c-never-shown"

// A Server is a PostgreSQL at a port of 127.0.0.1, which ends with the test.
type Server struct {
	URL string // of its owner, with the password

	t       testing.TB
	bin     string // the folder of its programs
	dir     string
	port    string
	said    bytes.Buffer
	process *exec.Cmd
}

// Start starts a server with an empty database. Without Debian's package postgresql the test is
// skipped, or fails where RLMPROXY_E2E=required.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, bin: find(t)}
	dir, err := os.MkdirTemp("", "postgres")
	if err != nil {
		t.Fatal(err)
	}
	s.dir = filepath.Join(dir, "data")
	t.Cleanup(func() {
		s.Kill()
		os.RemoveAll(dir)
	})
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(Password+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := give(dir); err != nil {
		t.Fatal(err)
	}
	initdb := s.command("initdb", "-D", s.dir, "-U", "owner", "-A", "scram-sha-256", "--pwfile", password, "--no-sync", "-E", "UTF8", "--locale", "C")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, s.port, _ = net.SplitHostPort(listener.Addr().String())
	listener.Close()
	s.URL = fmt.Sprintf("postgres://owner:%s@127.0.0.1:%s/postgres", Password, s.port)
	s.Restart()
	return s
}

// find is the folder of the programs of the latest PostgreSQL.
func find(t testing.TB) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // where Debian has them
	slices.Sort(found)
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		if os.Getenv("RLMPROXY_E2E") == "required" {
			t.Fatal("postgresql is missing")
		}
		t.Skip("postgresql is missing")
	}
	return filepath.Dir(found[len(found)-1])
}

// command is one of a program that does not run as root.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = filepath.Dir(s.dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	asOther(cmd)
	return cmd
}

// Restart starts the server again after Kill, at the same port, and waits until it answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.process = s.command("postgres", "-D", s.dir, "-p", s.port, "-k", filepath.Dir(s.dir), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=50")
	s.process.Stderr = &s.said
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		conn, err := pgx.Connect(context.Background(), s.URL)
		if err == nil {
			conn.Close(context.Background())
			return
		}
		if time.Now().After(deadline) {
			s.Kill()
			s.t.Fatalf("postgres does not answer: %v\n%s", err, s.said.String())
		}
		time.Sleep(20 * time.Millisecond) // nothing tells of it
	}
}

// Kill ends the server and all its connections at once, if it runs.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(immediate)
	_ = s.process.Wait()
	s.process = nil
}

// Do runs SQL as the owner.
func (s *Server) Do(sql string, args ...any) {
	s.t.Helper()
	conn, err := pgx.Connect(context.Background(), s.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), sql, args...); err != nil {
		s.t.Fatal(err)
	}
}
