package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestWrapSendsHeaders: --header reaches the server with its variables replaced,
// and no log.
func TestWrapSendsHeaders(t *testing.T) {
	var right, wrong atomic.Int64
	asked := make(chan struct{}, 100)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer sesame" && r.Header.Get("X-Two") == "2" {
			right.Add(1)
		} else {
			wrong.Add(1)
		}
		w.WriteHeader(http.StatusUnauthorized)
		asked <- struct{}{}
	}))
	defer web.Close()
	t.Setenv("WRAP_TOKEN", "sesame")
	stdin, end := io.Pipe()
	go func() {
		select {
		case <-asked:
		case <-time.After(20 * time.Second):
		}
		fmt.Fprint(end, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`+"\n")
		end.Close()
	}()
	var stdout, stderr strings.Builder
	args := []string{"wrap", "--log-level", "debug", "--url", web.URL + "/mcp", "--header", "Authorization: Bearer ${WRAP_TOKEN}", "--header", "X-Two: 2"}
	if code := run(args, stdin, &stdout, &stderr); code != exitOK || right.Load() == 0 || wrong.Load() > 0 {
		t.Errorf("exit code %d, %d requests with the headers, %d without: %s", code, right.Load(), wrong.Load(), stderr.String())
	}
	if strings.Contains(stderr.String(), "sesame") {
		t.Errorf("the log has the value: %s", stderr.String())
	}
}
