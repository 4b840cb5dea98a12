package script

import (
	"bytes"

	"rlmproxy/jsonscan"
)

// maxSafe is the largest integer that a number of JavaScript tells from its neighbours, 2^53-1.
const maxSafe = "9007199254740991"

// exact is JSON with strings in place of the integers beyond 2^53-1, of which JavaScript would
// make others. JSON without such is returned as it is.
func exact(raw []byte) []byte {
	var out []byte
	from := 0 // of what out lacks
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == '"':
			i = jsonscan.SkipString(raw, i)
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(raw) && bytes.IndexByte([]byte("0123456789.eE+-"), raw[end]) >= 0 {
				end++
			}
			if number := raw[i:end]; !safe(number) {
				out = append(append(append(append(out, raw[from:i]...), '"'), number...), '"')
				from = end
			}
			i = end
		default:
			i++
		}
		if i < 0 { // which valid JSON does not have
			return raw
		}
	}
	if out == nil {
		return raw
	}
	return append(out, raw[from:]...)
}

// safe reports whether a number is no integer, or one within 2^53-1.
func safe(number []byte) bool {
	digits := bytes.TrimPrefix(number, []byte("-"))
	return len(digits) < len(maxSafe) || bytes.ContainsAny(digits, ".eE") || len(digits) == len(maxSafe) && string(digits) <= maxSafe
}
