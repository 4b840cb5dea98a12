package records

import (
	"bytes"
	"encoding/json"

	"github.com/BurntSushi/toml"
)

// readTOML reads TOML as JSON, nil if it is not TOML. Keys are sorted; times are strings.
func readTOML(text []byte) *Records {
	if !mayBeTOML(text) || tooLarge(text) || mayHarm(text) {
		return nil
	}
	var tree map[string]any
	if _, err := toml.Decode(string(text), &tree); err != nil || len(tree) == 0 {
		return nil
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(tree) != nil { // it has inf or nan
		return nil
	}
	return configured("TOML", bytes.TrimSpace(out.Bytes()))
}

// mayBeTOML looks at the first lines: a header or a key, and at least two of them.
func mayBeTOML(text []byte) bool {
	n := 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
		case line[0] == '[' && bytes.IndexByte(line, ']') > 1, bytes.IndexByte(line, '=') > 0:
			if n++; n == 2 {
				return true
			}
		default:
			return false
		}
	}
	return false
}

// mayHarm reports brackets that are deep in one another, for each of which the parser calls
// itself, and keys of many parts: it makes a table for each dot, and keeps what is before
// the dot. Dots and brackets in strings and comments do not count.
func mayHarm(text []byte) bool {
	depth, dots, before := 0, 0, 0
	key := 0 // where a key may have begun
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '#':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case '"', '\'':
			end := []byte{c}
			if bytes.HasPrefix(text[i:], []byte{c, c, c}) {
				end = []byte{c, c, c}
			}
			for i += len(end); i < len(text) && !bytes.HasPrefix(text[i:], end) && (len(end) == 3 || text[i] != '\n'); i++ {
				if c == '"' && text[i] == '\\' {
					i++
				}
			}
			i += len(end) - 1
		case '.':
			dots++
			before += i - key
		case '[', '{':
			key = i
			if depth++; depth > maxConfigDepth {
				return true
			}
		case ']', '}':
			key = i
			depth--
		case '\n', '=', ',':
			key = i
		}
	}
	return dots > maxConfigMarks || before > 8*len(text)+1<<16
}
