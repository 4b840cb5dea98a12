package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// TestGoneClientIsNoFault: a client that goes while its call runs is no fault of
// ours for the log. The cause of its call's end is that of its connection, EOF.
func TestGoneClientIsNoFault(t *testing.T) {
	f := server(nil, "t")
	begun := make(chan bool)
	f.call = func(ctx context.Context, _ toolCall) (json.RawMessage, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	var log bytes.Buffer
	s, err := New(Options{Store: newStore(t), Upstreams: []Upstream{{Name: "s", Conn: f}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, w := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, r, nowhere{}) }()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`,
	} {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-begun
	w.Close()
	stop()
	<-served
	if strings.Contains(log.String(), "internal error") {
		t.Error(log.String())
	}
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Close() error                { return nil }
