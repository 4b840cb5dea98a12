package jsonscan

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns what a JSON string literal holds. See [AppendUnquoted].
func Unquote(quoted []byte) string {
	for _, c := range quoted {
		if c == '\\' || c >= utf8.RuneSelf {
			return string(AppendUnquoted(nil, quoted))
		}
	}
	return string(quoted[1 : len(quoted)-1])
}

// AppendUnquoted appends what a JSON string literal holds, as [json.Unmarshal]
// decodes it: what is no UTF-8, and each lone surrogate, becomes U+FFFD. quoted must
// be valid JSON and begin with a quotation mark.
func AppendUnquoted(dst, quoted []byte) []byte {
	from := len(dst)
	dst = AppendUnescaped(dst, quoted[1:len(quoted)-1])
	if utf8.Valid(dst[from:]) {
		return dst
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // valid, see above
	return append(dst[:from], s...)
}

// AppendUnescaped appends the inside of a JSON string without its escapes, so never
// more bytes than it has. What is no UTF-8 stays.
func AppendUnescaped(dst, inside []byte) []byte {
	dst = slices.Grow(dst, len(inside))
	for {
		at := bytes.IndexByte(inside, '\\')
		if at < 0 {
			return append(dst, inside...)
		}
		var size int
		dst, size = appendEscape(append(dst, inside[:at]...), inside[at:])
		inside = inside[at+size:]
	}
}

// appendEscape appends what the escape at the start of b means, and returns its
// length in b.
func appendEscape(dst, b []byte) (out []byte, size int) {
	c := b[1]
	switch c {
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r, size := hex4(b[2:]), 6
		if utf16.IsSurrogate(r) {
			low := rune(utf8.RuneError)
			if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
				low = hex4(b[8:])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				size = 12
			}
		}
		return utf8.AppendRune(dst, r), size
	}
	return append(dst, c), 2
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte) (r rune) {
	for _, c := range b[:4] {
		if c > '9' {
			c = c&^0x20 - 'A' + '9' + 1
		}
		r = r<<4 | rune(c-'0')
	}
	return r
}
