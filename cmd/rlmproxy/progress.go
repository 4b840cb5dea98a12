package main

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

// progress shows what takes long as the last line of a terminal at stderr: the text, and
// for how many seconds. It is written anew when that changes, and gone when done returns,
// which may be called more than once. Another goroutine calls text; "" shows nothing.
// Elsewhere nothing is written.
func (c *cli) progress(text func() string) (done func()) {
	if !steered(c.stderr) {
		return func() {}
	}
	return c.log.progress(text, func() int { return columns(c.stderr) })
}

// waiting is progress of which there is a line elsewhere too, after quietTime.
func (c *cli) waiting(text func() string) (done func()) {
	if steered(c.stderr) {
		return c.progress(text)
	}
	word := time.AfterFunc(quietTime, func() {
		if now := text(); now != "" {
			fmt.Fprintln(c.log, "rlmproxy:", visible(now), "…")
		}
	})
	return func() { word.Stop() }
}

// progress is that of [cli.progress], on a terminal so many columns wide.
func (l *logWriter) progress(text func() string, width func() int) (done func()) {
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
	line := []rune(oneLine(text))
	return string(line[:max(0, min(len(line), width-1-len([]rune(end))))]) + end
}

// status shows a text after what is written, until more is or the text is "".
func (l *logWriter) status(text string) {
	l.out.Lock()
	defer l.out.Unlock()
	if text != l.shown {
		fmt.Fprint(l.w, erase+text)
		l.shown = text
	}
}
