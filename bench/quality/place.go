package quality

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"rlmproxy/search"
)

// At returns where a place is in the text: lines, as 12 or 12-40, or a path, as
// [3].name or .paths["/v1/refunds"].post. Elements count from 0, lines from 1.
// JSON Lines are one array.
func (f *File) At(place string) (search.Span, error) {
	first, last, ranged := strings.Cut(place, "-")
	from, err := strconv.Atoi(first)
	if err != nil {
		return f.at(place)
	}
	to := from
	if ranged {
		if to, err = strconv.Atoi(last); err != nil {
			return search.Span{}, fmt.Errorf("%s: no range of lines", place)
		}
	}
	if from < 1 || to < from || to > f.lines.Len() {
		return search.Span{}, fmt.Errorf("%s: the file has lines 1 to %d", place, f.lines.Len())
	}
	return search.Span{Start: f.lines.Span(from).Start, End: f.lines.Span(to).End}, nil
}

// at resolves a path.
func (f *File) at(path string) (search.Span, error) {
	here := search.Span{End: len(f.Text)}
	list := strings.HasSuffix(f.Name, ".jsonl") // the text is an array without brackets
	for rest := path; rest != "" && rest != "."; {
		key, index, after, err := step(rest)
		if err != nil {
			return here, fmt.Errorf("%s: %w", path, err)
		}
		inner := f.values(here)
		if !list {
			if len(inner) != 1 {
				return here, fmt.Errorf("%s: no value before %s", path, rest)
			}
			inner = f.values(search.Span{Start: inner[0].Start + 1, End: inner[0].End - 1})
		}
		list = false
		if index < 0 {
			index = find(f.Text, inner, key)
		}
		if index < 0 || index >= len(inner) {
			return here, fmt.Errorf("%s: nothing at %s", path, rest)
		}
		here, rest = inner[index], after
	}
	return here, nil
}

// step reads the first step of a path: a key, or an index of 0 or more.
func step(path string) (key string, index int, rest string, err error) {
	path = strings.TrimPrefix(path, ".")
	if quoted, ok := strings.CutPrefix(path, `["`); ok {
		if key, rest, ok = strings.Cut(quoted, `"]`); ok {
			return key, -1, rest, nil
		}
		return "", -1, "", fmt.Errorf("no end of %s", path)
	}
	if number, ok := strings.CutPrefix(path, "["); ok {
		number, rest, _ = strings.Cut(number, "]")
		index, err = strconv.Atoi(number)
		return "", index, rest, err
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	return path[:end], -1, path[end:], nil
}

// find returns the index in inner of the value behind key, or -1. In an
// object, keys and values take turns.
func find(text []byte, inner []search.Span, key string) int {
	for i := 0; i+1 < len(inner); i += 2 {
		var k string
		if json.Unmarshal(text[inner[i].Start:inner[i].End], &k) == nil && k == key {
			return i + 1
		}
	}
	return -1
}

// values is the function, asked once.
func (f *File) values(in search.Span) []search.Span {
	if list, ok := f.inside[in]; ok {
		return list
	}
	list := values(f.Text[:in.End], in.Start)
	f.inside[in] = list
	return list
}

// values returns the JSON values that follow one another in text from pos on,
// whatever separates them. The text is valid.
func values(text []byte, pos int) []search.Span {
	var spans []search.Span
	start, depth := -1, 0
	for pos < len(text) {
		c := text[pos]
		switch {
		case c == '"':
			if start < 0 {
				start = pos
			}
			for pos++; text[pos] != '"'; pos++ {
				if text[pos] == '\\' {
					pos++
				}
			}
		case c == '{' || c == '[':
			if start < 0 {
				start = pos
			}
			depth++
		case c == '}' || c == ']':
			depth--
		case start < 0 && !between(c):
			start = pos
		}
		pos++
		if start >= 0 && depth == 0 && (pos == len(text) || between(text[pos])) {
			spans = append(spans, search.Span{Start: start, End: pos})
			start = -1
		}
	}
	return spans
}

// between reports whether c stands between values, outside of strings.
func between(c byte) bool {
	return c == ' ' || c == ',' || c == ':' || c == '\n' || c == '\r' || c == '\t'
}
