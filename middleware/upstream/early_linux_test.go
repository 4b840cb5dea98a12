package upstream

import (
	"context"
	"strings"
	"testing"
	"time"

	"rlmproxy/middleware/upstream/transport"
)

// TestEndsEarly: how a server ended is told, whatever was found closed first.
func TestEndsEarly(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`exec 0<&-; sleep 0.1; exit 3`, "the server ended during the handshake (exit status 3)"},
		{`read x; exit 3`, "the server ended during the handshake (exit status 3)"},
		{`exec 0<&-; sleep 3`, "the server ended during the handshake (connection closed: write |1: broken pipe)"},
		{`read x; echo '{"jsonrpc":"2.0","id":"rlm-1","result":{"protocolVersion":"2025-11-25","capabilities":{}}}'; read x; read x; exit 4`,
			"the server ended before it had listed what it offers (exit status 4)"},
	} {
		command := Command{Path: "sh", Args: []string{"-c", c.script}}
		dial := dialer(func(_ context.Context, opts transport.Options) (conn, error) {
			c, err := transport.Start(command, opts)
			time.Sleep(50 * time.Millisecond) // what it closes is closed
			return c, err
		})
		u := New(Options{Name: "s", Dial: dial, MinBackoff: time.Hour})
		u.Settled(t.Context())
		_, err := u.State()
		u.Close()
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s:\n%v, want\n%s", c.script, err, c.want)
		}
	}
}
