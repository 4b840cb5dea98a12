package process

import (
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stderrOf is what is logged of a server that does what write does.
func stderrOf(write func(w io.Writer)) string {
	r, w := io.Pipe()
	var log strings.Builder
	go func() {
		write(w)
		w.Close()
	}()
	logLines(r, slog.New(slog.NewTextHandler(&log, nil)), &missing{}, &tail{})
	return log.String()
}

// TestStderrFlood: a server that writes without end filled the log, at whatever speed it
// could write.
func TestStderrFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := strings.Repeat("x", 99) + "\n"
		log := stderrOf(func(w io.Writer) {
			for range 100 { // 10 s, 10 MB
				io.WriteString(w, strings.Repeat(line, 1000))
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(time.Minute)
			io.WriteString(w, "it flows again\n")
		})
		if most := 3 * (stderrBurst + 10*stderrRate); len(log) > most {
			t.Errorf("%d bytes of log, want at most %d", len(log), most)
		}
		logged, dropped := strings.Count(log, "xxx\n"), 0
		for _, m := range regexp.MustCompile(`dropped.* lines=(\d+) bytes=\d+`).FindAllStringSubmatch(log, -1) {
			n := 0
			fmt.Sscan(m[1], &n)
			dropped += n
		}
		if logged+dropped != 100_000 || logged < 10_000 {
			t.Errorf("%d lines logged and %d dropped, of 100,000", logged, dropped)
		}
		if n := strings.Count(log, "dropped"); n > 12 {
			t.Errorf("it was said %d times", n)
		}
		if !strings.HasSuffix(log, "line=\"it flows again\"\n") {
			t.Errorf("the last line is missing: %s", log[len(log)-200:])
		}
	})
}

// TestStderrLines: one line of the server is one of the log, whatever is in it.
func TestStderrLines(t *testing.T) {
	for _, c := range []struct{ written, want string }{
		{"plain\n", "msg=stderr line=plain\n"},
		{"no end", `msg=stderr line="no end"` + "\n"},
		{"\r\n\n \n", "msg=stderr line=\" \"\n"},
		{"\x1b[2J\x1b]0;title\a\rlevel=ERROR\x00\u202e\x9b\n", `msg=stderr line="\x1b[2J\x1b]0;title\a\rlevel=ERROR\x00\u202e�"` + "\n"},
		{strings.Repeat("y", 1<<20) + "\n", "msg=stderr line=" + strings.Repeat("y", stderrLine) + " cut_bytes=1044481\n"},
	} {
		log := stderrOf(func(w io.Writer) { io.WriteString(w, c.written) })
		if _, got, _ := strings.Cut(log, "level=INFO "); got != c.want {
			t.Errorf("%.60q:\n%.200q, want\n%.200q", c.written, got, c.want)
		}
	}
}

// TestTail: of stderr the last is kept, and nothing of a time before that which is asked for:
// what a server wrote in a good hour is not why it ended.
func TestTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept tail
		kept.keep("listening")
		time.Sleep(time.Hour)
		before := time.Now()
		kept.keep("out of memory \xff")
		if got := kept.since(before); got != "out of memory \ufffd\n" {
			t.Errorf("%q", got)
		}
		for range 100 {
			kept.keep(strings.Repeat("x", 4<<10))
		}
		if n := len(kept.since(time.Time{})); n > tailBytes+tailLines {
			t.Errorf("%d bytes are kept", n)
		}
	})
}

// TestMasker: an agent that reads why a server has ended reads no secret that it was given.
func TestMasker(t *testing.T) {
	mask := masker([]string{"GITHUB_TOKEN=ghp_0123456789", "HOME=/home/somebody"}, []string{"KEY=sk-123456", "LONG=sk-123456789", "N=1"}, []string{"GITHUB_*"})
	for _, tt := range []struct{ text, want string }{
		{"invalid key sk-123456!", "invalid key $KEY!"},
		{"invalid key sk-123456789", "invalid key $LONG"},
		{"1 of ghp_0123456789 in /home/somebody", "1 of $GITHUB_TOKEN in /home/somebody"},
		{"no route to postgres://me:pass@db:5432/x", "no route to postgres://…@db:5432/x"},
	} {
		if got := mask(tt.text); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.text, got, tt.want)
		}
	}
}
