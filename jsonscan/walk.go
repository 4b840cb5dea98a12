package jsonscan

import (
	"bytes"
	"errors"
	"iter"
)

// errStop ends a walk whose caller has seen enough.
var errStop = errors.New("stop")

// Items yields the elements of the array in b, as they are written, up to where b
// stops being JSON.
func Items(b []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		n := 0
		_ = elements(b, maxLimit, func(from, to int) error {
			if !yield(n, b[from:to]) {
				return errStop
			}
			n++
			return nil
		})
	}
}

// Fields yields the keys, with their quotes, and the values of the object in b, as
// Items does.
func Fields(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		_ = members(b, maxLimit, func(at, end, from, to int) error {
			if !yield(b[at:end], b[from:to]) {
				return errStop
			}
			return nil
		})
	}
}

// Lines yields the lines of JSON Lines, without space around them.
func Lines(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := b; len(rest) > 0; {
			line := rest // not of bytes.Lines, which cuts capacities, see OffsetIn
			if n := bytes.IndexByte(rest, '\n'); n >= 0 {
				line, rest = rest[:n], rest[n+1:]
			} else {
				rest = nil
			}
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}

// OffsetIn tells where part begins in b. It must be one that [Items], [Fields] or
// [Lines] of b yielded, or a part of such: these slices keep the end of b's
// capacity, so the difference is the offset.
func OffsetIn(b, part []byte) int { return cap(b) - cap(part) }

// Kind returns the first byte of the value in b, which tells its type, or 0 when
// there is none.
func Kind(b []byte) byte {
	if i := SkipSpace(b, 0); i < len(b) {
		return b[i]
	}
	return 0
}

// IsContainer reports whether value, without space before it, is an object or an
// array.
func IsContainer(value []byte) bool { return value[0] == '{' || value[0] == '[' }

// SkipSpace returns the offset of the first byte from i on that is no white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && IsSpace(b[i]) {
		i++
	}
	return i
}

// IsSpace reports whether c is white space of JSON.
func IsSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// SkipString returns the offset after the string at b[i], the end of b if that is
// none.
func SkipString(b []byte, i int) int {
	if end := str(b, i); end >= 0 {
		return end
	}
	return len(b)
}

// AppendMinified appends the JSON in b without the space between its tokens.
func AppendMinified(dst, b []byte) []byte {
	from := 0 // of what is not appended yet
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			i = SkipString(b, i)
		case IsSpace(c):
			dst = append(dst, b[from:i]...)
			i = SkipSpace(b, i)
			from = i
		default:
			i++
		}
	}
	return append(dst, b[from:]...)
}
