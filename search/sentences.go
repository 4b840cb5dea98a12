package search

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentences returns the sentences that hit touches. The text before floor is left out.
func sentences(text []byte, hit Span, floor int) Span {
	start := hit.Start
	for start > floor && !sentenceStart(text, start) {
		start--
	}
	end := max(hit.End, min(hit.Start+1, len(text)))
	for end < len(text) && !sentenceStart(text, end) {
		end++
	}
	return Span{start, end}
}

// sentenceStart reports whether a sentence begins at pos, which is after
// the blanks that follow the one before.
func sentenceStart(text []byte, pos int) bool {
	if pos == 0 {
		return true
	}
	if pos == len(text) {
		return false
	}
	before := text[pos-1]
	if before < utf8.RuneSelf && before != ' ' && before != '\t' && before != '\n' {
		return false
	}
	if text[pos] == '\n' || text[pos] == ' ' || text[pos] == '\t' || text[pos] == '\r' {
		return false
	}
	r, _ := utf8.DecodeRune(text[pos:])
	if before >= utf8.RuneSelf {
		last, _ := utf8.DecodeLastRune(text[:pos])
		return isWideStop(last) && r != '」' && r != '』' && r != '”'
	}
	// Blanks are few but in hostile text; these look at no more.
	const most = 256
	above := text[max(0, pos-most):pos]
	prior := bytes.TrimRight(above, " \t\r\n")
	gap := above[len(prior):]
	if bytes.Count(gap, newline) > 1 || len(prior) == 0 {
		return true
	}
	if bytes.IndexByte(gap, '\n') >= 0 && !unicode.IsLetter(r) && r != '(' && r != '"' && r != '“' {
		return true
	}
	return !unicode.IsLower(r) && endsSentence(prior)
}

// isWideStop reports whether r ends a sentence in Chinese or Japanese.
func isWideStop(r rune) bool { return r == '。' || r == '！' || r == '？' }

// endsSentence reports whether text, without blanks at its end, is the end
// of a sentence: a stop, not that of an abbreviation or initial.
func endsSentence(text []byte) bool {
	text = bytes.TrimRight(text, `"')]}”’*_`)
	last, _ := utf8.DecodeLastRune(text)
	if last != '.' {
		return last == '!' || last == '?' || isWideStop(last)
	}
	word := bytes.TrimRight(text, ".")
	word = word[bytes.LastIndexAny(word, " \t\r\n(")+1:]
	if len(word) == 1 && 'A' <= word[0] && word[0] <= 'Z' {
		return false
	}
	switch strings.ToLower(string(word)) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "vs", "e.g", "i.e", "etc", "cf", "fig", "no", "al":
		return false
	}
	return true
}
