// Package jsonscan finds things in JSON without decoding it.
//
//	Members, Elements  an object or array ──► slices of it
//	Rewrite            an object ──► the same with other values
//	Valid              bytes ──► are they JSON?
//	Unquote            a string as it is written ──► what it holds
//
// All but the last check what they read, as strictly as [json.Valid], so that
// their slices can stand in other JSON as they are. They take one pass and no memory
// of their own, however deep the value.
package jsonscan

import (
	"encoding/json"
	"fmt"
)

// MaxDepth is how deeply a value may nest. The Go SDK's decoder refuses more
// than 1,000 levels and ends the session over it; we stop a little earlier and
// fail that one message instead.
const MaxDepth = 990

// maxLimit is the highest limit of levels.
const maxLimit = 1024

// ErrTooDeep reports a value that nests more than [MaxDepth] levels.
var ErrTooDeep = fmt.Errorf("nested deeper than %d levels", MaxDepth)

// A SyntaxError says where data stops being JSON.
type SyntaxError struct {
	Offset int // bytes from the start
	Want   string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not JSON: want %s at byte %d", e.Want, e.Offset)
}

// Valid reports whether b is one JSON value of at most depth levels, which must be
// at most 1,024, with white space around it or not.
func Valid(b []byte, depth int) bool {
	end, err := skip(b, 0, depth)
	return err == nil && space(b, end) == len(b)
}

// Members calls f for each member of the JSON object in b, in order, with the
// value's own bytes. Nothing but white space may follow the object. It stops at
// the first error of f.
func Members(b []byte, f func(key string, value json.RawMessage) error) error {
	return members(b, func(key string, _, from, to int) error { return f(key, b[from:to:to]) })
}

// Member returns the value of a member of the object in b, of a repeated one the
// last, as encoding/json does; nil if there is none or b is no object.
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
		key := Unquote(b[start:i])
		if i = space(b, i); i >= len(b) || b[i] != ':' {
			return &SyntaxError{i, "':'"}
		}
		i = space(b, i+1)
		end, err := skip(b, i, MaxDepth-1) // and that of the container
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
		end, err := skip(b, i, MaxDepth-1) // and that of the container
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

// skip returns the offset after the value that starts at b[i]. It keeps its
// stack in one bit a level, so that hostile nesting costs nothing.
func skip(b []byte, i, limit int) (int, error) {
	var object [maxLimit/64 + 1]uint64 // bit d: level d is an object
	depth := 0
value:
	i = space(b, i)
	if i >= len(b) {
		return 0, &SyntaxError{i, "a value"}
	}
	switch c := b[i]; {
	case c == '{':
		if depth++; depth > limit {
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
		if depth++; depth > limit {
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
