// Package show is how numbers and pieces of data stand in a line that an agent
// reads.
//
//	1204 → 1,204    1 items → 1 item    a long text → a long te…
//
// Data may be anything, and in a reply it must be valid UTF-8, on one line, and
// not long. Widths are in runes unless a name says bytes. What is cut ends
// in …, so that nobody takes it for whole.
package show

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"rlmproxy/jsonscan"
)

// Count writes 1204 as 1,204.
func Count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural is "1 item" or "1,204 items" for unit "items".
func Plural(n int, unit string) string {
	if n == 1 {
		switch {
		case unit == "matches":
			unit = "match"
		case strings.HasSuffix(unit, "ies"): // entries
			unit = unit[:len(unit)-3] + "y"
		case len(unit) > 1 && unit[len(unit)-1] == 's':
			unit = unit[:len(unit)-1]
		}
	}
	return Count(n) + " " + unit
}

// Clip cuts s to limit runes, the last of them … if anything was cut.
func Clip(s string, limit int) string {
	n := 0
	for i := range s {
		if n++; n > limit {
			_, last := utf8.DecodeLastRuneInString(s[:i])
			return s[:i-last] + "…"
		}
	}
	return s
}

// ClipBytes cuts s to limit bytes, and puts … behind if anything was cut.
func ClipBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Printable makes data of any kind fit for a JSON reply: U+FFFD stands for what
// is not UTF-8, and for NUL, which some clients end a text at.
func Printable[T string | []byte](data T) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(data), "�"), "\x00", "�")
}

// Line makes a line of a text fit for a reply, without its line end. Behind one
// that is cut stands how many bytes it has.
func Line(line []byte, limit int) string {
	line = bytes.TrimRight(line, "\r\n")
	cut := line[:min(len(line), 4*limit+4)]
	s := Clip(Printable(cut), limit)
	if len(cut) < len(line) && !strings.HasSuffix(s, "…") {
		s += "…" // a run of bytes that are not UTF-8 is one U+FFFD
	}
	if len(cut) < len(line) || strings.HasSuffix(s, "…") && len(line) > len(s) {
		s += fmt.Sprintf(" (%s bytes)", Count(len(line)))
	}
	return s
}

// Numbered is [Line] for line n, counted from 0, behind its number as editors
// count. The number also keeps a line from being taken for one of ours.
func Numbered(n int, line []byte, limit int) string {
	return fmt.Sprintf("%d: %s", n+1, Line(line, limit))
}

// Quote is s as a JSON string, without the escapes that only HTML needs.
func Quote(s string) string { return string(jsonscan.Quote(s)) }
