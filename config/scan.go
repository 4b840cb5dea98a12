package config

import (
	"bytes"
	"strings"
)

// A scanned is what a look at the brackets of a text, without parsing it,
// tells. It agrees with the parser up to the first mistake in the text.
type scanned struct {
	tooDeep int  // offset of the bracket that exceeds maxDepth, or -1
	secret  bool // the end lies inside the value of env or headers
}

// scan looks at the first end bytes of text, passing over strings and
// comments.
func scan(text []byte, end int) scanned {
	var (
		open []string // keys of the brackets that are open
		last string   // the string before this place, if only ":" followed it
	)
	text = text[:end]
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			n := stringLen(text[i:])
			last = strings.ToLower(string(text[i+1 : i+max(n-1, 1)]))
			i += n - 1
		case c == '/':
			i += commentLen(text[i:]) - 1
		case c == '{' || c == '[':
			if len(open) == maxDepth {
				return scanned{tooDeep: i}
			}
			open = append(open, last)
			last = ""
		case c == '}' || c == ']':
			open = open[:max(len(open)-1, 0)]
			last = ""
		case c == ',':
			last = ""
		}
	}
	s := scanned{tooDeep: -1}
	for _, key := range append(open, last) {
		s.secret = s.secret || secretKeys[key]
	}
	return s
}

// secretKeys hold values that are never shown.
var secretKeys = map[string]bool{"env": true, "headers": true, "httptokens": true}

// stringLen is the length of the string at the start of text with both
// quotes, or all of text when it is not closed.
func stringLen(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// commentLen is the length of the comment at the start of text, all of text
// when it is not closed, and 1 for a lone slash.
func commentLen(text []byte) int {
	for _, c := range []struct{ begin, end string }{{"//", "\n"}, {"/*", "*/"}} {
		if !bytes.HasPrefix(text, []byte(c.begin)) {
			continue
		}
		if i := bytes.Index(text[2:], []byte(c.end)); i >= 0 {
			return 2 + i + len(c.end)
		}
		return len(text)
	}
	return 1
}
