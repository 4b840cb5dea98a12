package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxDepth bounds nesting. The parser recurses, and 4 MiB of "[" would
// overflow the stack, which nothing can catch. A file needs five levels.
const maxDepth = 100

// A document is the text of a file. It turns the parser's byte offsets into
// lines and columns.
type document struct {
	path string // for errors
	text []byte // UTF-8, without a byte order mark
}

// parse reads data as JSON with comments and trailing commas. Offsets in the
// tree are offsets into the document's text.
func parse(path string, data []byte) (document, hujson.Value, error) {
	d := document{path, bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	refuse := func(m Mistake) (document, hujson.Value, error) { return d, hujson.Value{}, ErrorList{m} }
	switch {
	case isUTF16(d.text):
		return refuse(Mistake{Path: path, Text: "the file is UTF-16; save it as UTF-8"})
	case bytes.IndexByte(d.text, 0) >= 0:
		return refuse(Mistake{Path: path, Text: "the file is binary, not JSON"})
	case !utf8.Valid(d.text):
		valid, _, _ := strings.Cut(strings.ToValidUTF8(string(d.text), "\x00"), "\x00") // up to the first bad byte
		m := d.mistake(len(valid), fmt.Sprintf("byte 0x%02x is not UTF-8", d.text[len(valid)]))
		m.Hint = "save the file as UTF-8"
		return refuse(m)
	case len(bytes.TrimSpace(d.text)) == 0:
		return refuse(Mistake{Path: path, Text: "the file is empty; " + example})
	}
	if i := tooDeep(d.text); i >= 0 {
		return refuse(d.mistake(i, fmt.Sprintf("nested more than %d levels deep", maxDepth)))
	}
	tree, err := hujson.Parse(d.text)
	if err != nil {
		return refuse(d.syntaxError(err))
	}
	return d, tree, nil
}

// isUTF16 reports whether text begins with a mark of UTF-16, or with an ASCII
// character of two bytes.
func isUTF16(text []byte) bool {
	return bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) ||
		len(text) > 1 && (text[0] == 0) != (text[1] == 0)
}

// stringCommentOrBracket matches what decides how deeply a text is nested. A
// string or comment that is still open goes to the end of the text.
var stringCommentOrBracket = regexp.MustCompile(`(?s)"(?:\\.|[^"\\])*"?|//[^\n]*|/\*.*?(?:\*/|$)|[][{}]`)

// tooDeep is the offset of the bracket that exceeds maxDepth, or -1.
func tooDeep(text []byte) int {
	depth := 0
	for offset := 0; ; {
		match := stringCommentOrBracket.FindIndex(text[offset:])
		if match == nil {
			return -1
		}
		switch at := offset + match[0]; text[at] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return at
			}
		case '}', ']':
			depth--
		}
		offset += match[1]
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

// syntaxError places an error of the parser and says it in our words. The
// parser quotes a literal that it rejects, which may be a secret.
func (d document) syntaxError(err error) Mistake {
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
	case bytes.HasPrefix(rest, []byte(`"`)) && !validEscapes.Match(rest):
		return `a backslash is written \\, as in "C:\\Users"`
	}
	return ""
}

// validEscapes matches a string in which each backslash begins an escape of JSON.
var validEscapes = regexp.MustCompile(`^"(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4})*"`)

// maxExcerpt bounds the width of an excerpt: it fits a narrow terminal.
const maxExcerpt = 72

// secretSection matches the names of sections with secrets.
var secretSection = regexp.MustCompile(`(?i)env|header|httptokens|metricstoken|uitoken`)

// excerpt is the line at offset with a caret below the place. In a file that
// is no JSON, nobody can tell where a section ends: so there is none for the
// lines from the first section with secrets on.
func (d document) excerpt(offset int) string {
	start := bytes.LastIndexByte(d.text[:offset], '\n') + 1
	line, _, _ := bytes.Cut(d.text[start:], []byte("\n"))
	if secretSection.Match(d.text[:start+len(line)]) {
		return ""
	}
	before := []rune(strings.ReplaceAll(string(d.text[start:offset]), "\t", " "))
	after := []rune(strings.TrimRight(strings.ReplaceAll(string(line[offset-start:]), "\t", " "), "\r"))
	left, right := "", ""
	if len(before) > maxExcerpt/2 {
		before, left = before[len(before)-maxExcerpt/2:], "…"
	}
	if room := maxExcerpt - len(before); len(after) > room {
		after, right = after[:room], "…"
	}
	caret := strings.Repeat(" ", len(before)+utf8.RuneCountInString(left)) + "^"
	return "    " + left + string(before) + string(after) + right + "\n    " + caret
}
