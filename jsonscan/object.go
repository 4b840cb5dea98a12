package jsonscan

import (
	"bytes"
	"encoding/json"
)

// AppendMember appends a member to dst, an object that is still open.
func AppendMember(dst []byte, key string, value []byte) []byte {
	last := len(dst) - 1
	for SkipSpace(dst[last:], 0) > 0 {
		last--
	}
	if dst[last] != '{' {
		dst = append(dst, ',')
	}
	name, _ := json.Marshal(key) // any string encodes
	return append(append(append(dst, name...), ':'), value...)
}

// Object returns the object that has one member.
func Object(key string, value []byte) json.RawMessage {
	return append(AppendMember([]byte{'{'}, key, value), '}')
}

// With returns an object, which ends with its bracket, with one more member behind. It
// writes into object's memory where there is room.
func With(object []byte, key string, value []byte) json.RawMessage {
	return append(AppendMember(object[:len(object)-1], key, value), '}')
}

// StringMember returns what a member of the object in b holds that is a string, of a
// repeated one the last; "" if there is none or b is no object.
func StringMember(b []byte, name string) string {
	value := Member(b, name)
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	return Unquote(value)
}

// AppendElement appends an element to dst, an array that is still open: nothing
// follows its bracket or its last element.
func AppendElement(dst, value []byte) []byte {
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	return append(dst, value...)
}

// Rewrite returns the object in b with the value of each member as f returns it;
// nil leaves the member out. All else keeps its bytes: keys as they are spelled,
// and white space between the brackets.
func Rewrite(b []byte, f func(key string, value json.RawMessage) json.RawMessage) (json.RawMessage, error) {
	out := append(make([]byte, 0, len(b)+64), '{')
	done := SkipSpace(b, 0) + 1 // what of b is in out, or left out of it
	first := true
	err := members(b, MaxDepth, func(at, end, from, to int) error {
		value := f(Unquote(b[at:end]), b[from:to:to])
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
