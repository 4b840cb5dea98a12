package terminal

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLogWriterKeepsOrder(t *testing.T) {
	var out bytes.Buffer
	l := NewLog(&out)
	for _, line := range []string{"a\n", "b\n", "c\n"} {
		io.WriteString(l, line)
	}
	l.Close()
	l.Close()
	if out.String() != "a\nb\nc\n" {
		t.Errorf("wrote %q", out.String())
	}
}

// TestLogWriterNeverWaits: a log that nobody reads once froze the whole proxy.
func TestLogWriterNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := NewLog(w)
		begun := time.Now()
		for range 3 * logBacklog {
			io.WriteString(l, "line\n")
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("writing waited for %v", took)
		}
		l.Close()
		if took := time.Since(begun); took != logFlush {
			t.Errorf("Close took %v, want %v", took, logFlush)
		}
		var all []byte
		read := make(chan struct{})
		go func() {
			all, _ = io.ReadAll(r)
			close(read)
		}()
		<-l.ended
		w.Close()
		<-read
		if !strings.Contains(string(all), "lines of the log were dropped") {
			t.Errorf("the log does not say that lines are missing: %.100s", all)
		}
	})
}
