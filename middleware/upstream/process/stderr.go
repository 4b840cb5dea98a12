package process

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
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
func logLines(r io.ReadCloser, logger *slog.Logger, m *missing, t *tail) {
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
			t.keep(line)
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

// What is kept of stderr, to say why a server has ended.
const (
	tailLines = 40
	tailBytes = 32 << 10
)

// A tail is the last that a process wrote to stderr.
type tail struct {
	mu    sync.Mutex // guards the fields below
	lines []tailLine
	bytes int // of lines
}

type tailLine struct {
	text string
	at   time.Time
}

func (t *tail) keep(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, tailLine{line, time.Now()})
	t.bytes += len(line)
	for len(t.lines) > tailLines || t.bytes > tailBytes {
		t.bytes -= len(t.lines[0].text)
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
}

// since are the lines that came then or later.
func (t *tail) since(then time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, l := range t.lines {
		if !l.at.Before(then) {
			b.WriteString(strings.ToValidUTF8(l.text, "\uFFFD") + "\n")
		}
	}
	return b.String()
}

// userinfo is that of a URL, which may be a password.
var userinfo = regexp.MustCompile(`://[^\s/@]+@`)

// masker returns what replaces the values of variables that the operator has given a server
// by their names, since some of them are secrets and the lines reach agents. Values of
// less than 8 bytes are no secrets.
func masker(environ, own, inherit []string) func(text string) string {
	var pairs []string
	variables := slices.Clone(own)
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); names(inherit, name) {
			variables = append(variables, kv)
		}
	}
	value := func(kv string) string { _, v, _ := strings.Cut(kv, "="); return v }
	slices.SortStableFunc(variables, func(a, b string) int { return len(value(b)) - len(value(a)) }) // one may have another in it
	for _, kv := range variables {
		if name, v, _ := strings.Cut(kv, "="); len(v) >= 8 {
			pairs = append(pairs, v, "$"+name)
		}
	}
	all := strings.NewReplacer(pairs...)
	return func(text string) string { return userinfo.ReplaceAllString(all.Replace(text), "://…@") }
}
