package digest

import "bytes"

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func indent(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

func hasPrefix(line []byte, prefix string) bool {
	return len(line) >= len(prefix) && string(line[:len(prefix)]) == prefix
}

// foldPrefix is hasPrefix for a prefix in lower case, whatever the case.
func foldPrefix(line []byte, prefix string) bool {
	if len(line) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if line[i]|0x20 != prefix[i] && line[i] != prefix[i] {
			return false
		}
	}
	return true
}

// at reports that one of chars is at i.
func at(line []byte, i int, chars string) bool {
	if i < 0 || i >= len(line) {
		return false
	}
	for j := range len(chars) {
		if line[i] == chars[j] {
			return true
		}
	}
	return false
}

// byteAt is 0 where there is none.
func byteAt(line []byte, i int) byte {
	if i < 0 || i >= len(line) {
		return 0
	}
	return line[i]
}

// digitsAt counts the digits from i on.
func digitsAt(line []byte, i int) int {
	n := 0
	for i+n < len(line) && isDigit(line[i+n]) {
		n++
	}
	return n
}

// isPrintable reports a word of ASCII, which a pattern may hold as it is.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
