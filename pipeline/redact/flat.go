package redact

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// A text is searched as if nothing in it were escaped, however deep: in
//
//	{"text":"{\"token\":\"…\",\n \"key\":\"-----BEGIN\\nMII…\"}"}
//
// the rules see quotation marks and line breaks. What they find is masked where it
// stands in the text itself. A unit is a byte of it, or one escape with all of its
// backslashes; a mask takes whole units, so what was JSON stays so.

// flatten returns raw without its escapes, and raw itself if it has none.
func flatten(raw []byte) []byte {
	i := bytes.IndexByte(raw, '\\')
	if i < 0 {
		return raw
	}
	flat := make([]byte, 0, len(raw))
	for i >= 0 {
		var size int
		flat = append(flat, raw[:i]...)
		flat, size = appendUnit(flat, raw[i:])
		raw = raw[i+size:]
		i = bytes.IndexByte(raw, '\\')
	}
	return append(flat, raw...)
}

// appendUnit appends what the escape at the start of raw means, and returns its length.
// It never appends more than that.
func appendUnit(flat, raw []byte) (out []byte, size int) {
	n := 1
	for n < len(raw) && raw[n] == '\\' {
		n++
	}
	if n == len(raw) {
		return append(flat, '\\'), n
	}
	switch c := raw[n]; c {
	case '"':
		if n%2 == 1 { // else the backslashes are a string's end, and the mark is its own unit
			return append(flat, '"'), n + 1
		}
	case '/', '\'':
		return append(flat, c), n + 1
	case 'n':
		return append(flat, '\n'), n + 1
	case 'r':
		return append(flat, '\r'), n + 1
	case 't':
		return append(flat, '\t'), n + 1
	case 'u':
		if n+5 <= len(raw) {
			if r, err := strconv.ParseUint(string(raw[n+1:n+5]), 16, 16); err == nil {
				return utf8.AppendRune(flat, rune(r)), n + 5
			}
		}
	}
	return append(flat, '\\'), n
}

// A cursor goes through raw and what flatten makes of it, side by side.
type cursor struct {
	raw      []byte
	at, flat int  // where it is in raw, and in the flat text
	json     bool // raw is JSON
	inString bool // of that JSON
	start    int  // of that string, behind its quotation mark
	depth    int  // of its objects and arrays
	unit     [8]byte
}

// next goes behind one unit and returns what it stands for.
func (c *cursor) next() []byte {
	b := c.raw[c.at]
	if b == '\\' {
		out, size := appendUnit(c.unit[:0], c.raw[c.at:])
		c.at, c.flat = c.at+size, c.flat+len(out)
		return out
	}
	switch {
	case !c.json:
	case b == '"':
		c.inString = !c.inString
		c.start = c.at + 1
	case c.inString:
	case b == '{' || b == '[':
		c.depth++
	case b == '}' || b == ']':
		c.depth--
	}
	c.at, c.flat = c.at+1, c.flat+1
	return append(c.unit[:0], b)
}

// to goes on to an offset of the flat text, or to the start of the unit that it is in.
func (c *cursor) to(flat int) {
	for c.flat < flat {
		before := *c
		if c.next(); c.flat > flat {
			*c = before
			return
		}
	}
}
