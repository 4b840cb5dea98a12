package jsonscan

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
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
// be valid JSON and begin with a quotation mark. Cost: one pass, and one allocation
// if dst lacks the room.
func AppendUnquoted(dst, quoted []byte) []byte {
	from := len(dst)
	dst, ascii := appendDecoded(dst, quoted[1:len(quoted)-1])
	if ascii || utf8.Valid(dst[from:]) {
		return dst
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // valid, see above
	return append(dst[:from], s...)
}

// AppendUnescaped appends the inside of a JSON string without its escapes, so never
// more bytes than it has. What is no UTF-8 stays.
func AppendUnescaped(dst, inside []byte) []byte {
	dst, _ = appendDecoded(dst, inside)
	return dst
}

// appendDecoded appends b without its escapes, eight bytes at a time, and reports
// whether b is ASCII.
func appendDecoded(dst, b []byte) (out []byte, ascii bool) {
	dst = slices.Grow(dst, len(b)) // never more is written than was read
	out = dst[:cap(dst)]
	n, i := len(dst), 0
	var seen uint64 // the bytes of all words, or-ed
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		binary.LittleEndian.PutUint64(out[n:], w)
		seen |= w
		at := zeros(w ^ lowBits*'\\')
		if at == 0 {
			i, n = i+8, n+8
			continue
		}
		plain := bits.TrailingZeros64(at) / 8
		var size int
		i += plain
		size, n = decodeEscape(out, n+plain, b[i:])
		i += size
	}
	for i < len(b) {
		if b[i] == '\\' {
			var size int
			size, n = decodeEscape(out, n, b[i:])
			i += size
			continue
		}
		seen |= uint64(b[i])
		out[n] = b[i]
		i, n = i+1, n+1
	}
	return out[:n], seen&highBits == 0
}

// decodeEscape writes what the escape at the start of b means to out[n:], and
// returns its length in b and where out goes on.
func decodeEscape(out []byte, n int, b []byte) (size, next int) {
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
		return size, n + utf8.EncodeRune(out[n:], r)
	}
	out[n] = c
	return 2, n + 1
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
