package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
)

// MaxDepth is how deeply a message may nest. The Go SDK's decoder refuses more
// than 1,000 levels and ends the session over it; we stop a little earlier and
// fail that one message instead.
const MaxDepth = 990

// ErrTooDeep reports a message that nests more than [MaxDepth] levels.
var ErrTooDeep = fmt.Errorf("nested deeper than %d levels", MaxDepth)

// A SyntaxError says where a line stops being JSON.
type SyntaxError struct {
	Offset int // bytes from the start of the line
	Want   string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not JSON: want %s at byte %d", e.Want, e.Offset)
}

// Message is one JSON-RPC message, its parts sliced out of the line and not
// decoded. Absent parts are nil; of a repeated key the last one counts, as with
// encoding/json.
type Message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// Split slices a line into the parts of a message. It validates the whole line:
// what it returns can be spliced into another message as it stands. Cost: one
// pass, no copy.
func Split(line []byte) (Message, error) {
	var m Message
	err := Members(line, func(key string, value json.RawMessage) error {
		switch key {
		case "id":
			m.ID = value
		case "method":
			if value[0] != '"' {
				return errors.New("method is not a string")
			}
			s, err := unquote(value)
			if err != nil {
				return err
			}
			m.Method = s
		case "params":
			m.Params = value
		case "result":
			m.Result = value
		case "error":
			m.Error = value
		}
		return nil
	})
	return m, err
}

// Members calls f for each member of the JSON object in b, in order, with the
// value's own bytes. Nothing but white space may follow the object. It stops at
// the first error of f.
func Members(b []byte, f func(key string, value json.RawMessage) error) error {
	return members(b, func(key string, _, from, to int) error { return f(key, b[from:to:to]) })
}

// Member returns the value of a member of the object in b, of a repeated one the
// last, as [Split] does and encoding/json; nil if there is none or b is no object.
func Member(b []byte, name string) (value json.RawMessage) {
	_ = Members(b, func(key string, v json.RawMessage) error {
		if key == name {
			value = v
		}
		return nil
	})
	return value
}

// members is Members with where things are: the key begins at at, the value is
// b[from:to].
func members(b []byte, f func(key string, at, from, to int) error) error {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return &SyntaxError{i, "an object"}
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return trailing(b, i+1)
	}
	for {
		start := i
		i = str(b, i)
		if i < 0 {
			return &SyntaxError{start, "a string"}
		}
		key, err := unquote(b[start:i])
		if err != nil {
			return err
		}
		if i = space(b, i); i >= len(b) || b[i] != ':' {
			return &SyntaxError{i, "':'"}
		}
		i = space(b, i+1)
		end, err := skip(b, i)
		if err != nil {
			return err
		}
		if err := f(key, start, i, end); err != nil {
			return err
		}
		if i = space(b, end); i >= len(b) {
			return &SyntaxError{i, "',' or '}'"}
		}
		switch b[i] {
		case ',':
			i = space(b, i+1)
		case '}':
			return trailing(b, i+1)
		default:
			return &SyntaxError{i, "',' or '}'"}
		}
	}
}

// AppendMember appends a member to dst, an object that is still open.
func AppendMember(dst []byte, key string, value []byte) []byte {
	last := len(dst) - 1
	for space(dst[last:], 0) > 0 {
		last--
	}
	if dst[last] != '{' {
		dst = append(dst, ',')
	}
	name, _ := json.Marshal(key) // any string encodes
	return append(append(append(dst, name...), ':'), value...)
}

// Rewrite returns the object in b with the value of each member as f returns it;
// nil leaves the member out. All else keeps its bytes: keys as they are spelled,
// and white space between the brackets.
func Rewrite(b []byte, f func(key string, value json.RawMessage) json.RawMessage) (json.RawMessage, error) {
	out := append(make([]byte, 0, len(b)+64), '{')
	done := space(b, 0) + 1 // what of b is in out, or left out of it
	first := true
	err := members(b, func(key string, at, from, to int) error {
		value := f(key, b[from:to:to])
		switch {
		case value == nil:
		case first:
			// Of what stands before it, the comma belongs to a member left out.
			if lead := b[done:at]; bytes.IndexByte(lead, ',') < 0 {
				out = append(out, lead...)
			}
			out = append(append(out, b[at:from]...), value...)
			first = false
		default:
			out = append(append(out, b[done:from]...), value...)
		}
		done = to
		return nil
	})
	if err != nil {
		return nil, err
	}
	return append(out, bytes.TrimRight(b[done:], " \t\r\n")...), nil
}

// Elements calls f for each element of the JSON array in b, in order.
func Elements(b []byte, f func(value json.RawMessage) error) error {
	i := space(b, 0)
	if i >= len(b) || b[i] != '[' {
		return &SyntaxError{i, "an array"}
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return trailing(b, i+1)
	}
	for {
		end, err := skip(b, i)
		if err != nil {
			return err
		}
		if err := f(b[i:end:end]); err != nil {
			return err
		}
		if i = space(b, end); i >= len(b) {
			return &SyntaxError{i, "',' or ']'"}
		}
		switch b[i] {
		case ',':
			i = space(b, i+1)
		case ']':
			return trailing(b, i+1)
		default:
			return &SyntaxError{i, "',' or ']'"}
		}
	}
}

func trailing(b []byte, i int) error {
	if i = space(b, i); i < len(b) {
		return &SyntaxError{i, "the end of the message"}
	}
	return nil
}

// unquote decodes the string literal in b.
func unquote(b []byte) (string, error) {
	for _, c := range b {
		if c == '\\' || c >= 0x80 {
			var s string
			err := json.Unmarshal(b, &s)
			return s, err
		}
	}
	return string(b[1 : len(b)-1]), nil
}

// skip returns the offset after the value that starts at b[i]. It keeps its
// stack in one bit a level, so that hostile nesting costs nothing.
func skip(b []byte, i int) (int, error) {
	var object [MaxDepth/64 + 1]uint64 // bit d: level d is an object
	depth := 0
value:
	i = space(b, i)
	if i >= len(b) {
		return 0, &SyntaxError{i, "a value"}
	}
	switch c := b[i]; {
	case c == '{':
		if depth++; depth >= MaxDepth {
			return 0, ErrTooDeep
		}
		object[depth/64] |= 1 << (depth % 64)
		i = space(b, i+1)
		if i < len(b) && b[i] == '}' {
			i++
			depth--
			goto after
		}
		goto key
	case c == '[':
		if depth++; depth >= MaxDepth {
			return 0, ErrTooDeep
		}
		object[depth/64] &^= 1 << (depth % 64)
		i = space(b, i+1)
		if i < len(b) && b[i] == ']' {
			i++
			depth--
			goto after
		}
		goto value
	case c == '"':
		end := str(b, i)
		if end < 0 {
			return 0, &SyntaxError{i, "a string"}
		}
		i = end
	case c == '-' || '0' <= c && c <= '9':
		end := number(b, i)
		if end < 0 {
			return 0, &SyntaxError{i, "a number"}
		}
		i = end
	default:
		end := literal(b, i)
		if end < 0 {
			return 0, &SyntaxError{i, "a value"}
		}
		i = end
	}
after:
	if depth == 0 {
		return i, nil
	}
	i = space(b, i)
	if i >= len(b) {
		return 0, &SyntaxError{i, "',' or a closing bracket"}
	}
	if object[depth/64]&(1<<(depth%64)) != 0 {
		switch b[i] {
		case ',':
			i = space(b, i+1)
			goto key
		case '}':
			i++
			depth--
			goto after
		}
		return 0, &SyntaxError{i, "',' or '}'"}
	}
	switch b[i] {
	case ',':
		i++
		goto value
	case ']':
		i++
		depth--
		goto after
	}
	return 0, &SyntaxError{i, "',' or ']'"}
key:
	end := str(b, i)
	if end < 0 {
		return 0, &SyntaxError{i, "a string"}
	}
	if i = space(b, end); i >= len(b) || b[i] != ':' {
		return 0, &SyntaxError{i, "':'"}
	}
	i++
	goto value
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

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

// number returns the offset after the number at b[i], or -1 (RFC 8259, 6).
func number(b []byte, i int) int {
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
func digits(b []byte, i int) int {
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
