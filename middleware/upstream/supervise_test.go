package upstream

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestForgottenSoon: a session that is forgotten before MinBackoff has passed is
// replaced at once. It used to count as a failed attempt, so that calls failed.
func TestForgottenSoon(t *testing.T) {
	s := newRawServer(t)
	var forget atomic.Int64
	s.first = func(w http.ResponseWriter, _ *http.Request, m rawMessage) bool {
		if m.Method != "tools/call" || forget.Add(-1) < 0 {
			return false
		}
		w.WriteHeader(http.StatusNotFound)
		return true
	}
	u := s.connect(Options{MinBackoff: time.Hour})
	for range 3 {
		forget.Store(1)
		if _, err := call(t, u, "x", `{}`); err != nil {
			t.Fatal(err)
		}
	}
	// Whoever forgets each is not asked for ever.
	forget.Store(1000)
	var err error
	for range 10 {
		_, err = call(t, u, "x", `{}`)
	}
	var down *UnavailableError
	if !errors.As(err, &down) || down.Lost || !strings.Contains(err.Error(), "no longer knows the session") {
		t.Errorf("%v", err)
	}
	if n := s.count("initialize"); n != 1+maxRestarts {
		t.Errorf("%d sessions, want %d", n, 1+maxRestarts)
	}
}
