package terminal

import (
	"fmt"
	"sync"
	"time"
)

const (
	// redraw is how often a line of progress is looked at; what takes less has none.
	redraw = 200 * time.Millisecond
	// quietTime is how long who reads no terminal waits without a word.
	quietTime = time.Second
	// erase takes the line away that the cursor is in.
	erase = "\r\x1b[K"
)

// Progress shows what takes long as the last line, if l writes to a terminal: the text, and
// for how many seconds. It is written anew when that changes, and gone when done returns,
// which may be called more than once. Another goroutine calls text; "" shows nothing.
// Elsewhere nothing is written.
func (l *Log) Progress(text func() string) (done func()) {
	if !steered(l.w) {
		return func() {}
	}
	return l.progress(text, func() int { return columns(l.w) })
}

// Waiting is Progress of which there is a line elsewhere too, after quietTime.
func (l *Log) Waiting(text func() string) (done func()) {
	if steered(l.w) {
		return l.Progress(text)
	}
	word := time.AfterFunc(quietTime, func() {
		if now := text(); now != "" {
			fmt.Fprintln(l, "rlmproxy:", Visible(now), "…")
		}
	})
	return func() { word.Stop() }
}

// progress is Progress on a terminal so many columns wide.
func (l *Log) progress(text func() string, width func() int) (done func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	begun := time.Now()
	go func() {
		defer close(ended)
		defer l.status("")
		tick := time.NewTicker(redraw)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				l.status(statusLine(text(), time.Since(begun), width()))
			case <-stop:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-ended
	})
}

// statusLine is text and a time in a line that is narrower than width.
func statusLine(text string, took time.Duration, width int) string {
	if text == "" {
		return ""
	}
	end := " …"
	if s := int(took.Seconds()); s > 0 {
		end = fmt.Sprintf(" … %d s", s)
	}
	line := []rune(OneLine(text))
	return string(line[:max(0, min(len(line), width-1-len([]rune(end))))]) + end
}

// status shows a text after what is written, until more is or the text is "".
func (l *Log) status(text string) {
	l.out.Lock()
	defer l.out.Unlock()
	if text != l.shown {
		fmt.Fprint(l.w, erase+text)
		l.shown = text
	}
}
