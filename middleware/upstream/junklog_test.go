package upstream

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestJunkLog: however much comes that is no message, little of it is logged, and
// how much more there was.
func TestJunkLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lockedBuffer{}
		j := &junkLog{logger: slog.New(slog.NewTextHandler(log, nil))}
		for i := range 1000 {
			j.add("i", i)
		}
		time.Sleep(junkTime + time.Second)
		j.add("i", "next")
		if got := log.String(); strings.Count(got, "i=") != maxJunk+1 || strings.Count(got, fmt.Sprintf("count=%d", 1000-maxJunk)) != 1 {
			t.Errorf("logged %s", got)
		}
		j.add("i", "last")
		j.end()
		if got := log.String(); !strings.Contains(got, "i=last") || strings.Count(got, "count=") != 1 {
			t.Errorf("logged %s", got)
		}
	})
}

// TestLongNumbers: an error's number is as long as its server likes, and stands in
// no log at that length.
func TestLongNumbers(t *testing.T) {
	s := newRawServer(t)
	digits := strings.Repeat("9", 1<<20)
	s.tool = func(w http.ResponseWriter, _ *http.Request, m rawMessage) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"m"}}`, m.ID, digits)
	}
	u := s.connect(Options{})
	if _, err := call(t, u, "x", "{}"); err == nil || len(err.Error()) > 2000 || !strings.Contains(err.Error(), "error object") {
		t.Errorf("an error of %d bytes: %.300v", len(fmt.Sprint(err)), err)
	}
}
