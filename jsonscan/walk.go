package jsonscan

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
)

// The functions of this file walk JSON that Valid accepted, without
// decoding it. On anything else they end early; they never read past the end.

// Kind returns the first byte of the value in data, which tells its type,
// or 0 when there is none.
func Kind(data []byte) byte {
	if i := SkipSpace(data, 0); i < len(data) {
		return data[i]
	}
	return 0
}

func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func SkipSpace(data []byte, i int) int {
	for i < len(data) && IsSpace(data[i]) {
		i++
	}
	return i
}

// SkipString returns the offset behind the string that starts at i. It looks
// at eight bytes at once.
func SkipString(data []byte, i int) int {
	i++
	for i+8 <= len(data) {
		eight := binary.LittleEndian.Uint64(data[i:])
		stops := firstZero(eight^quotes) | firstZero(eight^backslashes)
		if stops == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(stops) / 8
		if data[i] == '"' {
			return i + 1
		}
		i += 2
	}
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(data)
}

const (
	ones        = 0x0101010101010101
	quotes      = '"' * ones
	backslashes = '\\' * ones
)

// firstZero sets the top bit of the first byte of x that is zero, counted from the
// lowest, and of none below. Bits above that one mean nothing.
func firstZero(x uint64) uint64 { return (x - ones) & ^x & (0x80 * ones) }

// endsWord has the bytes behind a number, true, false or null.
var endsWord = [256]bool{' ': true, '\n': true, '\t': true, '\r': true, ',': true, ':': true, ']': true, '}': true}

// skipWord returns the offset behind the number, true, false or null at i.
func skipWord(data []byte, i int) int {
	for i < len(data) && !endsWord[data[i]] {
		i++
	}
	return i
}

// shapes has the bytes of a container that the way to its end depends on: brackets,
// and quotes, behind which brackets mean nothing.
var shapes = [256]bool{'"': true, '{': true, '[': true, '}': true, ']': true}

// SkipValue returns the offset behind the value that starts at i. It keeps a
// count instead of recursing, so depth costs nothing.
func SkipValue(data []byte, i int) int {
	for i < len(data) && (data[i] == ',' || data[i] == ':' || IsSpace(data[i])) {
		i++
	}
	if i < len(data) && !shapes[data[i]] {
		return skipWord(data, i)
	}
	for depth := 0; i < len(data); {
		switch data[i] {
		case '"':
			i = SkipString(data, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		}
		if depth <= 0 {
			return i
		}
		for i < len(data) && !shapes[data[i]] {
			i++
		}
	}
	return len(data)
}

// Items yields the elements of an array, as they are written.
func Items(data []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		i := SkipSpace(data, 0)
		if i >= len(data) || data[i] != '[' {
			return
		}
		i++
		for n := 0; ; n++ {
			if i = SkipSpace(data, i); i < len(data) && data[i] == ',' {
				i = SkipSpace(data, i+1)
			}
			if i >= len(data) || data[i] == ']' {
				return
			}
			end := SkipValue(data, i)
			if end <= i || !yield(n, data[i:end]) {
				return
			}
			i = end
		}
	}
}

// Fields yields the keys (quoted, as they are written) and values of an
// object.
func Fields(data []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		i := SkipSpace(data, 0)
		if i >= len(data) || data[i] != '{' {
			return
		}
		i++
		for {
			if i = SkipSpace(data, i); i < len(data) && data[i] == ',' {
				i = SkipSpace(data, i+1)
			}
			if i >= len(data) || data[i] != '"' {
				return
			}
			end := SkipString(data, i)
			key := data[i:end]
			if i = SkipSpace(data, end); i < len(data) && data[i] == ':' {
				i = SkipSpace(data, i+1)
			}
			if i >= len(data) {
				return
			}
			end = SkipValue(data, i)
			if end <= i || !yield(key, data[i:end]) {
				return
			}
			i = end
		}
	}
}

// Lines yields the lines of JSON Lines, without space around them.
func Lines(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(data) {
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}

// Text decodes a JSON string. Invalid UTF-8 becomes U+FFFD, as it does in
// jq, so that a key has one spelling everywhere.
func Text(raw []byte) string {
	if len(raw) < 2 {
		return ""
	}
	plain := true
	for _, c := range raw[1 : len(raw)-1] {
		if c == '\\' || c >= 0x80 || c < 0x20 {
			plain = false
			break
		}
	}
	if plain {
		return string(raw[1 : len(raw)-1])
	}
	if raw[0] != '"' || !Valid(raw, 0) {
		return string(raw)
	}
	return string(AppendUnquoted(nil, raw))
}

// AppendMinified appends data without the space between its tokens.
func AppendMinified(dst, data []byte) []byte {
	from := 0 // of what is not appended yet
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c == '"':
			i = SkipString(data, i)
		case IsSpace(c):
			dst = append(dst, data[from:i]...)
			i = SkipSpace(data, i)
			from = i
		default:
			i++
		}
	}
	return append(dst, data[from:]...)
}

// OffsetIn tells where part begins in data, which it is a slice of. Slicing
// keeps the end of the capacity, so the difference is the offset; nothing
// here cuts capacities.
func OffsetIn(data, part []byte) int { return cap(data) - cap(part) }

// IsContainer reports whether value is an object or an array.
func IsContainer(value []byte) bool { return value[0] == '{' || value[0] == '[' }
