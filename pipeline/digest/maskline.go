package digest

import "bytes"

// maskLine appends line with <*> for what differs from line to line: numbers,
// words with digits such as ids and hashes, and quoted words that are values.
func maskLine(dst, line []byte) []byte {
	line = bytes.TrimRight(line[:min(len(line), maxMask)], " \t\r\n")
	for i := 0; i < len(line); {
		c := line[i]
		switch {
		case wordByte[c]:
			start, digits := i, 0
			for i < len(line) && wordByte[line[i]] {
				if isDigit(line[i]) {
					digits++
				}
				i++
			}
			word := line[start:i]
			switch {
			case digits == 0:
				dst = append(dst, word...)
			case digits == len(word), 4*digits >= len(word) && len(word) > 5, isHexWord(word):
				dst = appendWild(dst)
			default:
				dst = maskDigits(dst, word)
			}
		case c == '"':
			end := bytes.IndexByte(line[i+1:], '"')
			if end < 0 || keptQuote(line, i) {
				dst = append(dst, c)
				i++
				continue
			}
			dst = append(dst, '"')
			dst = append(append(dst, wild...), '"')
			i += end + 2
		case c == 0x1b:
			i = max(skipColour(line, i), i+1)
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// keptQuote reports a quoted text that says what happened: a message, or the
// request of an access log. It is masked as if it had no quotes.
func keptQuote(line []byte, i int) bool {
	if i > 0 && line[i-1] == '=' {
		for _, key := range []string{"msg=", "message=", "error=", "err=", "event="} {
			if bytes.HasSuffix(line[:i], []byte(key)) {
				return true
			}
		}
		return false
	}
	if i+4 >= len(line) {
		return i+1 == len(line)
	}
	return line[i+1] >= 'A' && line[i+1] <= 'Z' && line[i+2] >= 'A' && line[i+2] <= 'Z' && line[i+3] >= 'A' && line[i+3] <= 'Z' || i > 0 && !isSpace(line[i-1])
}

// appendWild puts one mask for numbers with punctuation between them.
func appendWild(dst []byte) []byte {
	if n := len(dst); n > len(wild) {
		switch dst[n-1] {
		case '.', ':', '-', '/', ',', '+', 'T':
			if bytes.HasSuffix(dst[:n-1], []byte(wild)) {
				return dst[:n-1]
			}
		}
	}
	return append(dst, wild...)
}

// maskDigits keeps the letters of a word: 12ms is <*>ms, worker3 is worker<*>.
func maskDigits(dst, word []byte) []byte {
	for i := 0; i < len(word); {
		if !isDigit(word[i]) {
			dst = append(dst, word[i])
			i++
			continue
		}
		for i < len(word) && isDigit(word[i]) {
			i++
		}
		dst = appendWild(dst)
	}
	return dst
}

func isHexWord(word []byte) bool {
	if len(word) < 3 {
		return false
	}
	for i, c := range word {
		if !isHex(c) && !(i == 1 && c == 'x') {
			return false
		}
	}
	return true
}

var wordByte = func() (t [256]bool) {
	for c := range t {
		t[c] = isAlpha(byte(c)) || isDigit(byte(c)) || c == '_' || c >= 0x80
	}
	return t
}()
