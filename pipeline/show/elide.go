package show

import (
	"fmt"
	"strings"

	"rlmproxy/jsonscan"
)

// Elide writes value in about limit bytes: compact, with long strings, long
// arrays and what is deep cut in place, each cut with its size. What it
// returns is for reading, not JSON, if anything was cut.
func Elide(value []byte, limit int) string {
	// Each try keeps less of every part; the last keeps nearly nothing.
	for _, e := range []elider{{200, 20, 40, 8}, {80, 5, 30, 5}, {40, 3, 20, 3}, {24, 1, 10, 2}, {12, 1, 4, 1}} {
		var b strings.Builder
		e.write(&b, value, e.depth, 4*limit)
		if b.Len() <= limit {
			return b.String()
		}
	}
	var b strings.Builder
	elider{12, 0, 0, 0}.write(&b, value, 0, limit)
	return b.String()
}

type elider struct {
	str    int // runes of a string
	items  int // elements of an array
	fields int // members of an object
	depth  int
}

func (e elider) write(b *strings.Builder, value []byte, depth, stop int) {
	switch jsonscan.Kind(value) {
	case '"':
		e.writeString(b, value)
	case '[':
		n, shown := 0, 0
		for range jsonscan.Items(value) {
			n++
		}
		b.WriteByte('[')
		if depth > 0 {
			for i, el := range jsonscan.Items(value) {
				if i >= e.items || b.Len() > stop {
					break
				}
				if i > 0 {
					b.WriteByte(',')
				}
				e.write(b, el, depth-1, stop)
				shown++
			}
		}
		more(b, n-shown, shown, "items")
		b.WriteByte(']')
	case '{':
		n, shown := 0, 0
		for range jsonscan.Fields(value) {
			n++
		}
		b.WriteByte('{')
		if depth > 0 {
			for key, el := range jsonscan.Fields(value) {
				if shown >= e.fields || b.Len() > stop {
					break
				}
				if shown > 0 {
					b.WriteByte(',')
				}
				e.writeString(b, key)
				b.WriteByte(':')
				e.write(b, el, depth-1, stop)
				shown++
			}
		}
		more(b, n-shown, shown, "fields")
		b.WriteByte('}')
	default:
		s := strings.TrimSpace(string(value))
		b.WriteString(Clip(s, max(e.str, 24)))
	}
}

func more(b *strings.Builder, left, shown int, unit string) {
	if left == 0 {
		return
	}
	if shown > 0 {
		b.WriteByte(',')
	}
	if shown > 0 {
		fmt.Fprintf(b, "…+%s", Count(left))
	} else {
		fmt.Fprintf(b, "…%s", Plural(left, unit))
	}
}

// writeString keeps a short string as it is spelt, and of a long one its
// begin and how long it is.
func (e elider) writeString(b *strings.Builder, raw []byte) {
	if len(raw) <= e.str+20 {
		b.WriteString(strings.ToValidUTF8(string(raw), "�"))
		return
	}
	// A rune is at most 12 bytes as escapes, so more than e.str runes are in the
	// prefix, whatever its last bytes are.
	head := append(append([]byte(nil), raw[:min(len(raw)-1, 12*e.str+12)]...), '"')
	for !jsonscan.Valid(head, 0) { // it ends in an escape
		head = append(head[:len(head)-2], '"')
	}
	b.Write(jsonscan.AppendQuote(nil, Clip(jsonscan.Unquote(head), e.str)))
	fmt.Fprintf(b, "(%s bytes)", Count(len(raw)-2))
}
