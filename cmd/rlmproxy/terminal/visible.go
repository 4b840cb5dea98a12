// Package terminal writes for people: what servers say without what steers a terminal, a log
// that waits for nobody, and a line about what takes long.
package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Visible is text of a server as a terminal may be given it. What would steer the terminal
// or turn the order of letters round is written out, as \u001b; a byte that is no UTF-8 as
// \x9b. Inside the strings of JSON this is the same JSON.
func Visible(text string) string {
	var b strings.Builder
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case steers(r) && !strings.HasPrefix(text[i:], "\r\n"):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[i : i+size])
		}
	}
	return b.String()
}

// steers reports whether a terminal does something else with r than show it: C0 but for
// line ends and tabs, DEL, C1, and what sets the direction of letters.
func steers(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || 0x7f <= r && r <= 0x9f || r == 0x061c ||
		0x200e <= r && r <= 0x200f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

// OneLine is text that others may have written, for a line of ours.
func OneLine(text string) string { return strings.ReplaceAll(Visible(text), "\n", `\n`) }

// For is text for a stream: for a person at a terminal visible, and for a program behind a
// pipe as it is.
func For(stream any, text string) string {
	if Is(stream) {
		return Visible(text)
	}
	return text
}
