package records

import (
	"bytes"
	"encoding/json"

	"github.com/BurntSushi/toml"
)

// readTOML reads TOML as JSON, nil for what is none. Keys are sorted; times are strings.
func readTOML(text []byte) *Records {
	if !mayBeTOML(text) || tooLarge(text) || tomlDepth(text) > maxConfigDepth {
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

// tomlDepth is how deep brackets are in one another, those in strings and comments not
// counted: the parser calls itself for each.
func tomlDepth(text []byte) int {
	const dots = 500 // of a line: a.b.c is a table in a table in a table
	for line := range bytes.Lines(text) {
		if bytes.Count(line, []byte{'.'}) > dots {
			return len(line)
		}
	}
	depth, most := 0, 0
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
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth--
		}
	}
	return most
}
