package main

import (
	"bytes"
	"net"
	"strings"
	"testing"
)

// TestPortInUse: what was wrong, with which flag, and what to do; nothing is started.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out, log bytes.Buffer
	code := run([]string{"wrap", "--http", l.Addr().String(), "--", "false"}, strings.NewReader(""), &out, &log)
	said := log.String()
	if code != exitUsage || !strings.Contains(said, "error: --http: ") || !strings.Contains(said, "hint: ") || strings.Contains(said, "listening") {
		t.Errorf("%d %s", code, said)
	}
}
