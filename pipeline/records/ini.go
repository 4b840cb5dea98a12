package records

import (
	"bytes"
	"strings"

	"rlmproxy/jsonscan"
)

// An iniSection has the values of its keys, each in the order of the text.
type iniSection struct {
	name   string
	keys   []string
	values map[string][][]byte
	inside bool // its keys are indented, as git has them
}

// readINI reads INI, .properties and .env as an object: of the keys above the first
// section, and an object for each section. Values are strings; those of a key that stands
// twice are an array. It is nil for a text with any other line.
func readINI(text []byte) *Records {
	if tooLarge(text) {
		return nil
	}
	form := "properties"
	sections := []*iniSection{{values: map[string][][]byte{}}}
	byName := map[string]*iniSection{}
	section, pairs := sections[0], 0
	key := "" // that a line may go on
	for line := range bytes.Lines(text) {
		s := strings.TrimSpace(string(line))
		switch {
		case s == "":
			key = ""
			continue
		case s[0] == '#' || s[0] == ';' || s[0] == '!':
			continue
		case s[0] == '[':
			name, rest, ok := strings.Cut(s[1:], "]")
			if rest = strings.TrimSpace(rest); !ok || name == "" || rest != "" && rest[0] != '#' && rest[0] != ';' {
				return nil
			}
			form, key = "INI", ""
			if section, ok = byName[name]; !ok {
				section = &iniSection{name: name, values: map[string][][]byte{}}
				sections = append(sections, section)
				byName[name] = section
			}
			continue
		}
		isInside := line[0] == ' ' || line[0] == '\t'
		if len(section.keys) == 0 {
			section.inside = isInside
		}
		if values := section.values[key]; len(values) > 0 {
			last := &values[len(values)-1]
			if before, more := bytes.CutSuffix(*last, []byte{'\\'}); more || isInside && !section.inside {
				*last = append(append(before, '\n'), s...)
				continue
			}
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(s, "export "), "=")
		if key = strings.TrimSpace(name); !ok || !isININame(key) {
			return nil
		}
		value = strings.TrimSpace(value)
		if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] && strings.Count(value, value[:1]) == 2 {
			value = value[1 : n-1]
		}
		if _, has := section.values[key]; !has {
			section.keys = append(section.keys, key)
		}
		section.values[key] = append(section.values[key], []byte(value))
		pairs++
	}
	if pairs < 3 {
		return nil
	}
	out := []byte{'{'}
	for _, s := range sections {
		if s.name == "" {
			out = s.append(out)
			continue
		}
		if sections[0].values[s.name] != nil { // a key and a section
			return nil
		}
		out = s.append(append(appendKey(out, s.name), '{'))
		out = append(out, '}')
	}
	return configured(form, append(out, '}'))
}

// isININame reports a key: up to three words without what code and prose have.
func isININame(s string) bool {
	return s != "" && len(s) <= 120 && !strings.ContainsAny(s, "\"'(){}<>,;:!?`$&|+*") && strings.Count(s, " ") < 3
}

func appendKey(out []byte, name string) []byte {
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	return append(jsonscan.AppendQuote(out, name), ':')
}

// append writes the members of s.
func (s *iniSection) append(out []byte) []byte {
	for _, key := range s.keys {
		out = appendKey(out, key)
		values := s.values[key]
		if len(values) == 1 {
			out = jsonscan.AppendQuote(out, string(values[0]))
			continue
		}
		out = append(out, '[')
		for i, v := range values {
			if i > 0 {
				out = append(out, ',')
			}
			out = jsonscan.AppendQuote(out, string(v))
		}
		out = append(out, ']')
	}
	return out
}
