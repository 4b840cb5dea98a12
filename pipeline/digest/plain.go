package digest

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"rlmproxy/pipeline/show"
)

// digestPlain counts paragraphs and lists lines that look like headings.
func digestPlain(d *Digest, data []byte, t *ticker) error {
	p := Part{Title: "lines like headings", Share: 50, Even: true}
	var line0 Line // the line before
	aboveBlank := true
	n, paragraphs := 0, 0
	lastBlank := true
	offer := func(c Line, underlined, blankBefore, blankAfter bool) {
		if c.Text == nil || !blankBefore && !underlined || !blankAfter && !underlined {
			return
		}
		if headingLike(bytes.TrimSpace(c.Text), underlined) {
			p.addLine(c.N, c.Text, 0)
		}
	}
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		if len(line) == 1 && line[0] == '\n' && lastBlank {
			aboveBlank = true
			n++
			continue
		}
		s := bytes.TrimSpace(line[:min(len(line), 300)])
		blank := len(s) == 0
		if !blank && lastBlank {
			paragraphs++
		}
		underline := len(s) > 2 && (s[0] == '=' || s[0] == '-' || s[0] == '~') && len(bytes.Trim(s, string(s[:1]))) == 0
		if !lastBlank {
			offer(line0, underline, aboveBlank, blank)
		}
		aboveBlank = lastBlank
		line0, lastBlank = Line{n, line}, blank
		n++
	}
	d.Facts = append(d.Facts, show.Plural(paragraphs, "paragraphs"))
	// If every other line is one, none is.
	if 3*p.Total < n && 2*p.Total <= paragraphs+1 {
		d.Parts = append(d.Parts, p)
	}
	if len(p.Rows) > 0 && len(d.Parts) > 0 {
		at := p.Rows[len(p.Rows)/2].N
		d.page(at, 30)
	}
	return nil
}

// headingLike: short, begins with a capital or a number, does not end as a
// sentence does.
func headingLike(s []byte, underlined bool) bool {
	if len(s) < 3 || len(s) > 80 || bytes.IndexByte([]byte(".,;!?"), s[len(s)-1]) >= 0 {
		return false
	}
	r, _ := utf8.DecodeRune(s)
	letters := 0
	for _, c := range s {
		if isAlpha(c) || c >= 0x80 {
			letters++
		}
	}
	return 2*letters > len(s) && (underlined || unicode.IsUpper(r) || unicode.IsDigit(r) || r >= 0x2e80)
}
