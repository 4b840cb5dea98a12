package upstream

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestEndsEarly: how a server ended is told, whatever was found closed first.
func TestEndsEarly(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`exec 0<&-; sleep 0.1; exit 3`, "the server ended during the handshake (exit status 3)"},
		{`read x; exit 3`, "the server ended during the handshake (exit status 3)"},
		{`exec 0<&-; sleep 1`, "the server closed a pipe during the handshake: connection closed: write |1: broken pipe"},
		{`read x; echo '{"jsonrpc":"2.0","id":"rlm-1","result":{"protocolVersion":"2025-11-25","capabilities":{}}}'; read x; read x; exit 4`,
			"the server ended before it had said what it offers (exit status 4)"},
	} {
		command := Command{Path: "sh", Args: []string{"-c", c.script}}
		dial := func(ctx context.Context, h hooks) (link, error) {
			return dialStream(ctx, h, func() (io.ReadCloser, io.WriteCloser, *process, func(), error) {
				p, err := command.start(slog.New(slog.DiscardHandler))
				if err != nil {
					return nil, nil, nil, nil, err
				}
				time.Sleep(50 * time.Millisecond) // what it closes is closed
				return p.stdout, p.stdin, p, p.close, nil
			})
		}
		u := New(Options{Name: "s", Dial: dial, MinBackoff: time.Hour})
		u.Settled(t.Context())
		_, err := u.State()
		u.Close()
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s:\n%v, want\n%s", c.script, err, c.want)
		}
	}
}
