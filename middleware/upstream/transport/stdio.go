package transport

import (
	"context"
	"net"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/middleware/rpc"
	"rlmproxy/middleware/upstream/process"
)

// Stdio is a connection over a pair of byte streams.
type Stdio struct {
	*rpc.Conn
	proc *process.Process // nil for a server inside our own process
	end  func()           // ends the far side
}

// Start starts a command and connects with its standard streams.
func Start(c process.Command, opts Options) (*Stdio, error) {
	p, err := c.Start(opts.Logger)
	if err != nil {
		return nil, err
	}
	return &Stdio{rpc.NewConn(p.Stdout, p.Stdin, opts.ConnOptions), p, p.Close}, nil
}

// InProcess connects with a server inside our own process.
func InProcess(s *mcp.Server, opts Options) (*Stdio, error) {
	near, far := net.Pipe()
	ss, err := s.Connect(context.Background(), &mcp.IOTransport{Reader: far, Writer: far, MaxLineLength: -1}, nil)
	if err != nil {
		return nil, err
	}
	return &Stdio{rpc.NewConn(near, near, opts.ConnOptions), nil, func() { near.Close(); ss.Close() }}, nil
}

// Exit says how the server ended, or is empty if it has not, or nobody knows.
func (s *Stdio) Exit() string {
	if s.proc == nil {
		return ""
	}
	return s.proc.Exit()
}

// Stderr is what the server wrote there since then, see [process.Process.Stderr].
func (s *Stdio) Stderr(since time.Time) string {
	if s.proc == nil {
		return ""
	}
	return s.proc.Stderr(since)
}

// Close ends the server and the connection.
func (s *Stdio) Close() {
	s.end()
	s.Conn.Close()
}
