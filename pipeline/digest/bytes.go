package digest

import "bytes"

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// isWord reports a byte of an identifier in any language.
func isWord(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '$' || c >= 0x80 }

// wordAt is the identifier that s begins with.
func wordAt(s []byte) []byte {
	i := 0
	for i < len(s) && isWord(s[i]) {
		i++
	}
	return s[:i]
}

func indent(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

func isIndented(line []byte) bool { return len(line) > 0 && (line[0] == ' ' || line[0] == '\t') }

func hasPrefix(line []byte, prefix string) bool {
	return len(line) >= len(prefix) && string(line[:len(prefix)]) == prefix
}

func hasAnyPrefix(line []byte, prefixes []string) bool {
	for _, p := range prefixes {
		if hasPrefix(line, p) {
			return true
		}
	}
	return false
}

func contains(line []byte, s string) bool { return bytes.Contains(line, []byte(s)) }

// byteAt is 0 where there is none.
func byteAt(line []byte, i int) byte {
	if i < 0 || i >= len(line) {
		return 0
	}
	return line[i]
}

// lastByte is 0 for an empty line.
func lastByte(line []byte) byte { return byteAt(line, len(line)-1) }

// isOneOf reports that c is one of chars.
func isOneOf(c byte, chars string) bool {
	for i := range len(chars) {
		if chars[i] == c {
			return true
		}
	}
	return false
}

// digitsAt counts the digits from i on.
func digitsAt(line []byte, i int) int {
	n := 0
	for i+n < len(line) && isDigit(line[i+n]) {
		n++
	}
	return n
}

// head is at most the first n bytes of line.
func head(line []byte, n int) []byte { return line[:min(len(line), n)] }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
