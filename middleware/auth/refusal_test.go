package auth

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestManyRefusals: strangers do not fill the log, and hide no other reason.
func TestManyRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g, err := New(Options{Tokens: []Token{{"alice", secret}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		for range 5000 {
			ask(g, request())
		}
		ask(g, request("Authorization: Basic x"))
		time.Sleep(2 * time.Minute)
		ask(g, request())
		if n := lines(&log, "http request refused"); n != 10+1+1 {
			t.Errorf("%d lines", n)
		}
	})
}
