// Package jsonscan finds things in JSON without decoding it.
//
//	Items, Fields      an array or object ──► slices of it, for range
//	Elements, Members  the same, with the error where it stops being JSON
//	Rewrite            an object ──► the same with other values
//	Valid              bytes ──► are they JSON?
//	Unquote            a string as it is written ──► what it holds
//
// One walker checks what it reads, as strictly as [json.Valid], so that slices
// can stand in other JSON as they are. It takes one pass and no memory of its
// own, however deep the value. Only Unquote and the functions that skip or copy
// parts of a document trust that it is JSON.
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
	return fmt.Sprintf("not JSON: expected %s at byte %d", e.Want, e.Offset)
}

// Valid reports whether b is one JSON value of at most depth levels, which must be
// at most 1,024, with white space around it or not.
func Valid(b []byte, depth int) bool {
	end, err := skip(b, 0, depth)
	return err == nil && SkipSpace(b, end) == len(b)
}

// Prefix is the length of the JSON value of at most depth levels that b begins with, 0 if
// it begins with none.
func Prefix(b []byte, depth int) int {
	end, err := skip(b, 0, depth)
	if err != nil {
		return 0
	}
	return end
}

// Members calls f for each member of the JSON object in b, in order, with the
// value's own bytes. Nothing but white space may follow the object. It stops at
// the first error of f.
func Members(b []byte, f func(key string, value json.RawMessage) error) error {
	return members(b, MaxDepth, func(at, end, from, to int) error { return f(Unquote(b[at:end]), b[from:to:to]) })
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

// Elements calls f for each element of the JSON array in b, in order.
func Elements(b []byte, f func(value json.RawMessage) error) error {
	return elements(b, MaxDepth, func(from, to int) error { return f(b[from:to:to]) })
}

// members calls f with where things are: the key, with its quotes, is b[at:end], the
// value is b[from:to]. The object nests depth levels at most.
func members(b []byte, depth int, f func(at, end, from, to int) error) error {
	i := SkipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return &SyntaxError{i, "an object"}
	}
	i = SkipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return trailing(b, i+1)
	}
	for {
		at := i
		keyEnd := str(b, i)
		if keyEnd < 0 {
			return &SyntaxError{at, "a string"}
		}
		if i = SkipSpace(b, keyEnd); i >= len(b) || b[i] != ':' {
			return &SyntaxError{i, "':'"}
		}
		i = SkipSpace(b, i+1)
		end, err := skip(b, i, depth-1)
		if err != nil {
			return err
		}
		if err := f(at, keyEnd, i, end); err != nil {
			return err
		}
		if i = SkipSpace(b, end); i >= len(b) {
			return &SyntaxError{i, "',' or '}'"}
		}
		switch b[i] {
		case ',':
			i = SkipSpace(b, i+1)
		case '}':
			return trailing(b, i+1)
		default:
			return &SyntaxError{i, "',' or '}'"}
		}
	}
}

// elements is members for an array.
func elements(b []byte, depth int, f func(from, to int) error) error {
	i := SkipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return &SyntaxError{i, "an array"}
	}
	i = SkipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return trailing(b, i+1)
	}
	for {
		end, err := skip(b, i, depth-1)
		if err != nil {
			return err
		}
		if err := f(i, end); err != nil {
			return err
		}
		if i = SkipSpace(b, end); i >= len(b) {
			return &SyntaxError{i, "',' or ']'"}
		}
		switch b[i] {
		case ',':
			i = SkipSpace(b, i+1)
		case ']':
			return trailing(b, i+1)
		default:
			return &SyntaxError{i, "',' or ']'"}
		}
	}
}

func trailing(b []byte, i int) error {
	if i = SkipSpace(b, i); i < len(b) {
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
	i = SkipSpace(b, i)
	if i >= len(b) {
		return 0, &SyntaxError{i, "a value"}
	}
	switch c := b[i]; {
	case c == '{':
		if depth++; depth > limit {
			return 0, ErrTooDeep
		}
		object[depth/64] |= 1 << (depth % 64)
		i = SkipSpace(b, i+1)
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
		i = SkipSpace(b, i+1)
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
	i = SkipSpace(b, i)
	if i >= len(b) {
		return 0, &SyntaxError{i, "',' or a closing bracket"}
	}
	if object[depth/64]&(1<<(depth%64)) != 0 {
		switch b[i] {
		case ',':
			i = SkipSpace(b, i+1)
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
	if i = SkipSpace(b, end); i >= len(b) || b[i] != ':' {
		return 0, &SyntaxError{i, "':'"}
	}
	i++
	goto value
}
