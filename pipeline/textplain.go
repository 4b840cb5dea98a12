package pipeline

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// digestPlain counts paragraphs and lists lines that look like headings.
func digestPlain(d *digest, data []byte, t *ticker) error {
	p := part{title: "lines like headings", share: 50, even: true}
	var line0 numLine // the line before
	aboveBlank := true
	n, paragraphs := 0, 0
	lastBlank := true
	offer := func(c numLine, underlined, blankBefore, blankAfter bool) {
		if c.line == nil || !blankBefore && !underlined || !blankAfter && !underlined {
			return
		}
		if headingLike(bytes.TrimSpace(c.line), underlined) {
			p.addLine(c.n, c.line, 0)
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
		line0, lastBlank = numLine{n, line}, blank
		n++
	}
	d.facts = append(d.facts, plural(paragraphs, "paragraphs"))
	// If every other line is one, none is.
	if 3*p.total < n && 2*p.total <= paragraphs+1 {
		d.parts = append(d.parts, p)
	}
	if len(p.rows) > 0 && len(d.parts) > 0 {
		at := p.rows[len(p.rows)/2].n
		d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(at), "limit", "30"})
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
