package scan

import (
	"fmt"
	"strings"
	"unicode"

	"rlmproxy/pipeline/show"
)

// Runs of runes that a reader does not see.
const (
	firstTag, lastTag = 0xE0000, 0xE007F // ASCII that no font shows
	zwnj, zwj         = 0x200C, 0x200D   // join letters, and emoji
)

// invisible reports whether no reader sees r, though a model does: format characters,
// those for variants, and controls but for white space.
func invisible(r rune) bool {
	switch {
	case r == '\n', r == '\t', r == '\r':
		return false
	case 0xE0100 <= r && r <= 0xE01EF, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0: // variants; fillers
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Cc, unicode.Co)
}

// bidirectional reports whether r changes the order in which text is shown.
func bidirectional(r rune) bool {
	return 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069
}

// unseen says which characters of a text a reader does not see, or "" if there are none.
// Between letters of scripts that need them, and in emoji, joiners are no surprise.
func unseen(text string) string {
	count, bidi := 0, false
	var first, before rune
	var tags strings.Builder
	for _, r := range text {
		joins := (r == zwj || r == zwnj) && before >= 0x300
		if invisible(r) && !joins {
			if count++; count == 1 {
				first = r
			}
			bidi = bidi || bidirectional(r)
			if firstTag < r && r <= lastTag {
				tags.WriteRune(r - firstTag)
			}
		}
		before = r
	}
	switch {
	case count == 0:
		return ""
	case tags.Len() > 0:
		return fmt.Sprintf("%s, which spell %q", show.Plural(count, "invisible characters"), show.Clip(tags.String(), 100))
	case bidi:
		return fmt.Sprintf("%s that can reorder the text, the first U+%04X", show.Plural(count, "invisible characters"), first)
	}
	return fmt.Sprintf("%s, the first U+%04X", show.Plural(count, "invisible characters"), first)
}

// Visible is text as a person may read it on a terminal: what is not seen or moves the
// cursor is written as \u{200B}. Lines stay.
func Visible(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if invisible(r) || r == '\r' {
			fmt.Fprintf(&b, `\u{%04X}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Line is [Visible] on one line.
func Line(text string) string { return strings.ReplaceAll(Visible(text), "\n", `\n`) }
