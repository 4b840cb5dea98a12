package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// obeys reports whether a console obeys escape sequences, which it may have to be told to.
func obeys(f *os.File) bool {
	const vt = windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
	console := windows.Handle(f.Fd())
	var mode uint32
	return windows.GetConsoleMode(console, &mode) == nil && (mode&vt != 0 || windows.SetConsoleMode(console, mode|vt) == nil)
}
