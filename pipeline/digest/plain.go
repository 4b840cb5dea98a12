package digest

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"rlmproxy/pipeline/show"
)

// readPlain counts paragraphs and lists lines that look like headings: alone
// between blank lines, or underlined.
func readPlain(d *Digest, r *reader) {
	p := Part{Title: "lines like headings", Share: 50, Even: true}
	var above Line // blank if it has no text
	alone := true  // above it is a blank line
	lines, paragraphs := 0, 0
	offer := func(underlined bool) {
		if text := bytes.TrimSpace(above.Text); isHeadingLike(text, underlined) {
			p.addLine(above.N, above.Text, 0)
		}
	}
	for n, line := range r.lines {
		s := bytes.TrimSpace(head(line, 300))
		blank, blankAbove := len(s) == 0, len(above.Text) == 0
		if !blank && blankAbove {
			paragraphs++
		}
		if underlined := len(s) > 2 && isOneOf(s[0], "=-~") && len(bytes.Trim(s, string(s[:1]))) == 0; !blankAbove && (underlined || alone && blank) {
			offer(underlined)
		}
		alone = blankAbove
		if above = (Line{n, line}); blank {
			above.Text = nil
		}
		lines++
	}
	d.Facts = append(d.Facts, show.Plural(paragraphs, "paragraphs"))
	// If every other line is one, none is.
	if len(p.Rows) > 0 && 3*p.Total < lines && 2*p.Total <= paragraphs+1 {
		d.Parts = append(d.Parts, p)
	}
}

// isHeadingLike: short, begins with a capital or a number, does not end as a
// sentence does.
func isHeadingLike(s []byte, underlined bool) bool {
	if len(s) < 3 || len(s) > 80 || isOneOf(lastByte(s), ".,;!?") {
		return false
	}
	letters := 0
	for _, c := range s {
		letters += btoi(isLetter(c) || c >= 0x80)
	}
	const firstOfCJK = 0x2e80 // scripts from there on have no capitals
	r, _ := utf8.DecodeRune(s)
	return 2*letters > len(s) && (underlined || unicode.IsUpper(r) || unicode.IsDigit(r) || r >= firstOfCJK)
}
