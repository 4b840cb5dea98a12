package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// str returns the offset after the string literal at b[i], or -1. It looks for long
// runs of plain bytes, then at some words one by one, and again.
func str(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	i++
	for {
		for ; i+24 <= len(b); i += 24 {
			at := b[i : i+24]
			if marked(binary.LittleEndian.Uint64(at))|marked(binary.LittleEndian.Uint64(at[8:]))|marked(binary.LittleEndian.Uint64(at[16:])) != 0 {
				break
			}
		}
		var end bool
		if i, end = words(b, i); end {
			return i
		}
		if i, end = escape(b, i); end {
			return i
		}
	}
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// words goes on in a string at b[i], eight bytes at a time, to its end, or to where
// they need a closer look, or for a while. Each byte has its high bit set in a mask
// for what it is (Warren, Hacker's Delight, 6-1). JSON that holds JSON has an escape
// every few bytes: those of quotes and line ends cost no branch, which nobody could
// foretell.
func words(b []byte, i int) (at int, end bool) {
	var open uint64 // the last byte's mark, if it begins an escape
	for n := 0; n < 64 && i+8 <= len(b); n++ {
		w := binary.LittleEndian.Uint64(b[i:])
		quotes, slashes := zeros(w^lowBits*'"'), zeros(w^lowBits*'\\')
		// Above a byte under 0x20 another may be marked that is none.
		controls := (w - lowBits*0x20) &^ w & highBits
		escaped := slashes<<8 | open
		switch end := quotes &^ escaped; {
		case controls|slashes&escaped|escaped&^(quotes|zeros(w^lowBits*'n')) != 0:
			if open != 0 {
				return i - 1, false
			}
			return i + bits.TrailingZeros64(quotes|slashes|controls)/8, false
		case end != 0:
			return i + bits.TrailingZeros64(end)/8 + 1, true
		}
		open = slashes >> 63 << 7
		i += 8
	}
	return i - int(open>>7), false
}

// escape goes on in a string at b[i] by one character; -1 is the end of what is no
// string.
func escape(b []byte, i int) (at int, end bool) {
	switch {
	case i >= len(b) || b[i] < 0x20:
		return -1, true
	case b[i] == '"':
		return i + 1, true
	case b[i] != '\\':
		return i + 1, false
	case i+1 >= len(b):
		return -1, true
	}
	switch escapes[b[i+1]] {
	case 1:
		return i + 2, false
	case 2:
		if i+5 < len(b) && hex(b[i+2]) && hex(b[i+3]) && hex(b[i+4]) && hex(b[i+5]) {
			return i + 6, false
		}
	}
	return -1, true
}

// marked is not 0 if w has a quote, a backslash or a byte under 0x20.
func marked(w uint64) uint64 {
	quote, back := w^lowBits*'"', w^lowBits*'\\'
	return ((w-lowBits*0x20)&^w | (quote-lowBits)&^quote | (back-lowBits)&^back) & highBits
}

// zeros marks the bytes of w that are 0, no others.
func zeros(w uint64) uint64 {
	const rest = 0x7f7f7f7f7f7f7f7f
	return ^(w&rest + rest | w | rest)
}

// escapes says what may follow a backslash: 1 stands for itself, 2 is before four
// digits.
var escapes = [256]uint8{'"': 1, '\\': 1, '/': 1, 'b': 1, 'f': 1, 'n': 1, 'r': 1, 't': 1, 'u': 2}

func hex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// IsNumber reports whether s is a number as JSON spells it.
func IsNumber(s string) bool { return s != "" && number(s, 0) == len(s) }

// number returns the offset after the number at b[i], or -1 (RFC 8259, 6).
func number[T string | []byte](b T, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = digits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = digits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i = digits(b, i); i < 0 {
			return -1
		}
	}
	return i
}

// digits returns the offset after one or more digits at b[i], or -1.
func digits[T string | []byte](b T, i int) int {
	start := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func literal(b []byte, i int) int {
	for _, s := range [...]string{"true", "false", "null"} {
		if len(b)-i >= len(s) && string(b[i:i+len(s)]) == s {
			return i + len(s)
		}
	}
	return -1
}
