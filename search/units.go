package search

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// lineStart returns where the line holding pos begins, or floor.
func lineStart(text []byte, pos, floor int) int {
	if pos <= floor {
		return pos
	}
	return floor + bytes.LastIndexByte(text[floor:pos], '\n') + 1
}

// paragraphs returns the lines around hit up to blank ones.
func paragraphs(text []byte, hit Span, floor int) Span {
	start := lineStart(text, hit.Start, floor)
	for blank := isBlank(text[start:lineEnd(text, start)]); !blank && start > floor; {
		above := lineStart(text, start-1, floor)
		if blank = isBlank(text[above:start]); !blank {
			start = above
		}
	}
	end := lineEnd(text, max(hit.Start, hit.End-1))
	for blank := isBlank(text[lineStart(text, end, start):end]); !blank && end < len(text); {
		below := lineEnd(text, end+1)
		if blank = isBlank(text[end+1 : below]); !blank {
			end = below
		}
	}
	return Span{start, end}
}

// sentences returns the sentences that hit touches.
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
		return (last == '。' || last == '！' || last == '？') && r != '」' && r != '』' && r != '”'
	}
	// Blanks are few but in hostile text; these look at no more.
	const most = 256
	prior := bytes.TrimRight(text[max(0, pos-most):pos], " \t\r\n")
	gap := text[max(0, pos-most)+len(prior) : pos]
	if bytes.Count(gap, newline) > 1 || len(prior) == 0 {
		return true
	}
	if bytes.IndexByte(gap, '\n') >= 0 && !unicode.IsLetter(r) && r != '(' && r != '"' && r != '“' {
		return true
	}
	return !unicode.IsLower(r) && endsSentence(prior)
}

// endsSentence reports whether text, without blanks at its end, is the end
// of a sentence: a stop, not that of an abbreviation or initial.
func endsSentence(text []byte) bool {
	text = bytes.TrimRight(text, `"')]}”’*_`)
	if len(text) == 0 {
		return false
	}
	switch text[len(text)-1] {
	case '!', '?':
		return true
	case '.':
	default:
		last, _ := utf8.DecodeLastRune(text)
		return last == '。' || last == '！' || last == '？'
	}
	word := bytes.TrimRight(text, ".")
	word = word[bytes.LastIndexAny(word, " \t\r\n(")+1:]
	if len(word) == 1 && 'A' <= word[0] && word[0] <= 'Z' {
		return false
	}
	switch string(bytes.ToLower(word)) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "vs", "e.g", "i.e", "etc", "cf", "fig", "no", "al":
		return false
	}
	return true
}
