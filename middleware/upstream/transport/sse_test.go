package transport

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestNoEndpoint: a server of streamable HTTP answers GET by a stream that says
// nothing. Where its URL was tried as SSE, since its handshake had failed, that took
// until the whole attempt was given up.
func TestNoEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet, w := io.Pipe()
		defer w.Close()
		client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: quiet}, nil
		})}
		begun := time.Now()
		_, err := OpenSSE(context.Background(), "http://127.0.0.1/mcp", client, Options{})
		if took := time.Since(begun); err == nil || !strings.Contains(err.Error(), "names no endpoint within 5s") || took != endpointWait {
			t.Errorf("%v after %v", err, took)
		}
	})
}
