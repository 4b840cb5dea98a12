package terminal

import (
	"os"

	"golang.org/x/term"
)

// Is reports whether stream, our stdin, stdout or stderr, is a terminal.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// steered reports whether stream is a terminal that obeys escape sequences.
func steered(stream any) bool {
	return Is(stream) && os.Getenv("TERM") != "dumb" && obeys(stream.(*os.File))
}

// Coloured reports whether colours may be written to stream. No other place decides that.
func Coloured(stream any) bool { return steered(stream) && os.Getenv("NO_COLOR") == "" }

// columns is the width of a terminal, 80 where it does not say.
func columns(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}
