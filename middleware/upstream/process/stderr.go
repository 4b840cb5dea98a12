package process

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// What a server may write to stderr before lines of it are dropped: a stack trace of
// every goroutine fits, and no server fills a disk.
const (
	stderrRate  = 64 << 10 // bytes a second
	stderrBurst = 1 << 20
	// stderrLine is how much is logged of one line.
	stderrLine = 4 << 10
)

// logLines logs what a server writes to stderr, line by line.
func logLines(r io.ReadCloser, logger *slog.Logger, m *missing) {
	defer r.Close()
	l := &stderrLog{logger: logger, missing: m, limit: rate.NewLimiter(stderrRate, stderrBurst)}
	defer l.report()
	br := bufio.NewReaderSize(r, stderrLine)
	for {
		head, err := br.ReadSlice('\n')
		line, rest := strings.TrimRight(string(head), "\r\n"), 0
		for errors.Is(err, bufio.ErrBufferFull) {
			head, err = br.ReadSlice('\n')
			rest += len(head)
		}
		if line != "" {
			l.log(line, rest)
		}
		if err != nil {
			return
		}
	}
}

// A stderrLog is the log of one server's stderr.
type stderrLog struct {
	logger  *slog.Logger
	missing *missing
	limit   *rate.Limiter

	lines, bytes int // dropped since the last report
}

// log logs a line of which rest bytes are left off, or drops it. Once lines are dropped,
// they are until a second's worth may come again.
func (l *stderrLog) log(line string, rest int) {
	now := time.Now()
	if l.lines > 0 && l.limit.TokensAt(now) < stderrRate || !l.limit.AllowN(now, len(line)) {
		l.lines++
		l.bytes += len(line) + rest
		return
	}
	l.report()
	attrs := []any{"line", strings.ToValidUTF8(line, "\uFFFD")}
	if rest > 0 {
		attrs = append(attrs, "cut_bytes", rest)
	}
	l.logger.Info("stderr", attrs...)
	l.missing.read(line)
}

// report says what was dropped, if anything was.
func (l *stderrLog) report() {
	if l.lines > 0 {
		l.logger.Warn("lines of stderr were dropped: there were too many at a time", "lines", l.lines, "bytes", l.bytes)
		l.lines, l.bytes = 0, 0
	}
}
