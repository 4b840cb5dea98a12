package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxDepth bounds nesting. The parser recurses, and 4 MiB of "[" would
// overflow the stack, which nothing can catch. Ours needs five levels.
const maxDepth = 100

// A document is the text of a file, kept to tell where in it a value stands.
type document struct {
	path string // for errors
	text []byte // UTF-8, without a byte order mark
}

// parse reads data as JSON with comments and trailing commas. Offsets in the
// tree are offsets into the document's text.
func parse(path string, data []byte) (document, hujson.Value, error) {
	d := document{path: path}
	text, err := decode(data)
	if err != nil {
		return d, hujson.Value{}, ErrorList{{Path: path, Text: err.Error()}}
	}
	d.text = text
	if i := invalidUTF8(text); i >= 0 {
		m := d.mistake(i, fmt.Sprintf("byte 0x%02x is not UTF-8", text[i]))
		m.Hint = "save the file as UTF-8"
		return d, hujson.Value{}, ErrorList{m}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return d, hujson.Value{}, ErrorList{{Path: path, Text: "the file is empty; " + example}}
	}
	if i := scan(text, len(text)).tooDeep; i >= 0 {
		return d, hujson.Value{}, ErrorList{d.mistake(i, fmt.Sprintf("nested more than %d levels deep", maxDepth))}
	}
	tree, err := hujson.Parse(text)
	if err != nil {
		return d, tree, ErrorList{d.syntax(err)}
	}
	return d, tree, nil
}

// decode strips a byte order mark and refuses what is not UTF-8 text.
func decode(data []byte) ([]byte, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	head := data[:min(len(data), 4)]
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")),
		len(head) > 1 && (head[0] == 0) != (head[1] == 0):
		return nil, errors.New("the file is UTF-16; save it as UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return nil, errors.New("the file is binary, not JSON")
	}
	return data, nil
}

// invalidUTF8 is the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n < 2 {
			return i
		}
		i += n
	}
}

// position is the line and the column in characters, both from 1, of an
// offset.
func (d document) position(offset int) (line, column int) {
	before := d.text[:min(offset, len(d.text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}

func (d document) mistake(offset int, text string) Mistake {
	line, column := d.position(offset)
	return Mistake{Path: d.path, Line: line, Column: column, Text: text}
}

// syntax places an error of the parser and says it in our words. The parser
// quotes a literal that it rejects, which may be a secret.
func (d document) syntax(err error) Mistake {
	var line, column int // of the parser: in bytes
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr != nil {
		return Mistake{Path: d.path, Text: "not JSON"}
	}
	offset := 0
	for range line - 1 {
		offset += bytes.IndexByte(d.text[offset:], '\n') + 1
	}
	offset = min(offset+column-1, len(d.text))

	text := "not JSON"
	if cause := errors.Unwrap(err); cause != nil {
		text = cause.Error()
	}
	switch {
	case strings.HasPrefix(text, "invalid literal"):
		text = "not a valid string, number, true, false or null"
	case errors.Is(err, io.ErrUnexpectedEOF):
		text = "the file ends too early: a bracket, quote or comment is still open"
	}
	m := d.mistake(offset, text)
	m.Hint = d.syntaxHint(offset)
	m.Excerpt = d.excerpt(offset)
	return m
}

// syntaxHint is what to write instead of what the parser stopped at, or "".
func (d document) syntaxHint(offset int) string {
	rest := d.text[offset:]
	switch start := bytes.TrimSpace(d.text); {
	case start[0] == '#' || bytes.HasPrefix(rest, []byte("#")):
		return "the file is JSON, where a comment begins with //"
	case start[0] != '{' && start[0] != '/' && start[0] != '[':
		return "the file is JSON and begins with {; YAML and TOML are not read"
	case badEscape(rest):
		return `a backslash is written \\, as in "C:\\Users"`
	}
	return ""
}

// badEscape reports whether text begins with a string that has a backslash
// before what is no escape.
func badEscape(text []byte) bool {
	if len(text) == 0 || text[0] != '"' {
		return false
	}
	text = text[:stringLen(text)]
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] == 'u' {
			hex := text[i+1 : min(i+5, len(text))]
			if _, err := strconv.ParseUint(string(hex), 16, 16); err != nil || len(hex) < 4 {
				return true
			}
		} else if !strings.ContainsRune(`"\/bfnrt`, rune(text[i])) {
			return true
		}
	}
	return false
}

// maxExcerpt bounds the width of an excerpt: it fits a narrow terminal.
const maxExcerpt = 72

// excerpt is the line at offset with a caret below the place. It is "" for
// a line that belongs to env, headers or httpTokens.
func (d document) excerpt(offset int) string {
	start := bytes.LastIndexByte(d.text[:offset], '\n') + 1
	end := len(d.text)
	if i := bytes.IndexByte(d.text[offset:], '\n'); i >= 0 {
		end = offset + i
	}
	if line := bytes.ToLower(d.text[start:end]); scan(d.text, start).secret ||
		bytes.Contains(line, []byte("env")) || bytes.Contains(line, []byte("header")) || bytes.Contains(line, []byte("httptokens")) {
		return ""
	}
	before := []rune(strings.ReplaceAll(string(d.text[start:offset]), "\t", " "))
	after := []rune(strings.TrimRight(strings.ReplaceAll(string(d.text[offset:end]), "\t", " "), "\r"))
	left, right := "", ""
	if len(before) > maxExcerpt/2 {
		before, left = before[len(before)-maxExcerpt/2:], "…"
	}
	if room := maxExcerpt - len(before); len(after) > room {
		after, right = after[:room], "…"
	}
	caret := strings.Repeat(" ", len(before)+len([]rune(left))) + "^"
	return "    " + left + string(before) + string(after) + right + "\n    " + caret
}
