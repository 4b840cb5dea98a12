package container

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/script"
	"rlmproxy/pipeline/show"
)

// BadProgram is the code of an error in a program.
const BadProgram = "bad_code"

// of is a failure of the program, with its line:
//
//	line 2, column 5: TypeError: rows.maps is not a function
//	    rows.maps(r => r.id)
//	         ^
//
// Where it was, the program says itself, so it is held against the source.
func (f *failure) of(source string) error {
	text := show.ClipBytes(strings.ToValidUTF8(f.Text, "�"), 2000)
	lines := strings.Split(source, "\n")
	if f.Line > len(lines) { // a bracket is open
		f.Line, f.Column, text = len(lines), len(lines[len(lines)-1])+1, "SyntaxError: the program ends before all brackets are closed"
	}
	if f.Line < 1 {
		return &script.Error{Code: BadProgram, Text: text}
	}
	line := []rune(strings.ReplaceAll(strings.TrimRight(strings.ToValidUTF8(lines[f.Line-1], "�"), "\r"), "\t", " "))
	at := min(max(f.Column-1, 0), len(line))
	text = fmt.Sprintf("line %d, column %d: %s", f.Line, at+1, text)
	if at > 60 {
		line = append([]rune("…"), line[at-59:]...)
		at = 60
	}
	line = line[:min(len(line), at+40)]
	return &script.Error{Code: BadProgram, Text: fmt.Sprintf("%s\n    %s\n    %s^", text, string(line), strings.Repeat(" ", at))}
}

// ended is why a container ended before its program was done.
func (e *Engine) ended(ctx context.Context, b *box, begun bool) error {
	select {
	case <-b.exited:
	case <-ctx.Done():
		return limited(ctx, "the time limit passed before the program was done")
	}
	stderr := b.errs.String()
	memory := humanize.IBytes(uint64(e.opts.Memory))
	switch {
	case !begun && b.code != killedBySystem:
		e.unprepared(nil) // the image may be gone, say
		err := b.program.failure("run", stderr, fmt.Errorf("exit code %d", b.code))
		e.opts.Logger.Warn("a container cannot run", "error", err, "stderr", show.Clip(stderr, 2000))
		return unavailable(err.Error(), err)
	case strings.Contains(stderr, "heap out of memory"), b.code == killedBySystem && time.Since(b.began) < e.opts.Compute:
		return &script.Error{Code: doc.LimitMemory, Text: fmt.Sprintf("the program needed more memory than the %s of its container", memory)}
	case b.code == killedBySystem:
		return &script.Error{Code: doc.LimitTime, Text: fmt.Sprintf("the program computed for longer than %s, or needed more memory than %s", e.opts.Compute, memory)}
	}
	return &script.Error{Code: BadProgram, Text: fmt.Sprintf("the program's process ended with exit code %d before the program returned", b.code)}
}

// killedBySystem is the exit code of a container whose process got SIGKILL.
const killedBySystem = 128 + 9
