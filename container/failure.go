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

// of is a failure of the program, with its line:
//
//	mine: TypeError: rows.maps is not a function (line 2, column 6)
//	    rows.maps(r => r.id)
//	         ^
//
// Where it was, the program says itself, so it is held against the source.
func (f *failure) of(p script.Program) error {
	text := show.ClipBytes(strings.ToValidUTF8(f.Text, "�"), 500)
	lines := strings.Split(p.Source, "\n")
	line, column := f.Line, f.Column
	if line > len(lines) { // of what closes the function around it
		line, column = len(lines), len(lines[len(lines)-1])+1
		text = "SyntaxError: a bracket, brace or parenthesis is missing, or one too many"
	}
	text = p.Name + ": " + text
	if line > 0 {
		before := len(strings.Join(lines[:line-1], "\n"))
		if line > 1 {
			before++
		}
		column = min(max(column, 1), len(lines[line-1])+1)
		text += fmt.Sprintf(" (line %d, column %d)\n%s", line, column, show.Caret(p.Source, before+column-1))
	}
	return &script.Error{Code: doc.BadProgram, Text: text}
}

// ended is why a container ended before its program was done.
func (e *Engine) ended(ctx context.Context, p script.Program, b *box, begun bool) error {
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
	return &script.Error{Code: doc.BadProgram, Text: fmt.Sprintf("%s: the process ended with exit code %d before the program returned", p.Name, b.code)}
}

// killedBySystem is the exit code of a container whose process got SIGKILL.
const killedBySystem = 128 + 9
