package pipeline

import (
	"bytes"
	"regexp"
	"sync"
)

// A textFormat is a guess at what a text is.
type textFormat struct {
	name string
}

var plainText = textFormat{name: "plain text"}

// lazy compiles expr on first use: each start of a worker process would pay for
// all of them, 1.6 ms and 1 MB.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// guessFormat looks at the first lines. What a text says of itself in a line or
// two goes first (a diff, a trace), then what most lines have in common. CSV and
// TSV are recognised by their columns, see [columns].
func guessFormat(data []byte) textFormat {
	if bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0 {
		return textFormat{"binary"}
	}
	if isBase64(data) {
		return textFormat{"base64"}
	}
	s := sniff(data)
	if len(s.lines) == 0 {
		return plainText
	}
	for _, guess := range guesses {
		if name := guess(s); name != "" {
			return textFormat{name}
		}
	}
	return plainText
}

// A sniffed text is its first lines, blank ones included.
type sniffed struct {
	data  []byte
	lines [][]byte // cut to maxSniffLine
	full  int      // lines that are not blank
}

const maxSniffLine = 400

var guesses = []func(*sniffed) string{
	guessDiff, guessPage, guessMixed, guessLog, guessCode, guessTable, guessBroken, guessMarkup, guessSettings, guessMarkdown, guessYAML, guessMatches, guessSource, guessList,
}

func sniff(data []byte) *sniffed {
	s := &sniffed{data: data}
	for line := range bytes.Lines(data[:min(len(data), sniffBytes)]) {
		line = bytes.TrimRight(line[:min(len(line), maxSniffLine)], "\r\n")
		if len(bytes.TrimSpace(line)) > 0 {
			s.full++
		}
		if s.lines = append(s.lines, line); s.full == sniffLines {
			break
		}
	}
	if s.full == 0 {
		s.lines = nil
	}
	return s
}

// count counts lines.
func (s *sniffed) count(typical func(line []byte) bool) int {
	n := 0
	for _, line := range s.lines {
		if typical(line) {
			n++
		}
	}
	return n
}

// most reports that n is at least percent of the lines.
func (s *sniffed) most(n, percent int) bool { return n > 0 && 100*n >= percent*s.full }

func (s *sniffed) begins(prefixes ...string) bool {
	head := bytes.ToLower(bytes.TrimLeft(s.data[:min(len(s.data), 2000)], "\ufeff \t\r\n"))
	for _, p := range prefixes {
		if bytes.HasPrefix(head, []byte(p)) {
			return true
		}
	}
	return false
}

// guessDiff wants the head of a file in a diff. In a code block of Markdown it
// stands behind the fence.
func guessDiff(s *sniffed) string {
	commits := 0
	for i, line := range s.lines {
		switch {
		case hasPrefix(line, "```"), hasPrefix(line, "~~~"):
			return ""
		case hasPrefix(line, "diff --git "), hasPrefix(line, "diff --cc "):
			return "diff"
		case hasPrefix(line, "--- ") && i+2 < len(s.lines) && hasPrefix(s.lines[i+1], "+++ ") && hasPrefix(s.lines[i+2], "@@ "):
			return "diff"
		case isCommit(line) && i+1 < len(s.lines) && (hasPrefix(s.lines[i+1], "Author: ") || hasPrefix(s.lines[i+1], "Merge: ")):
			commits++
		}
	}
	if commits > 0 && isCommit(s.lines[0]) {
		return "git log"
	}
	return ""
}

// isCommit reports a line like "commit 0123…cdef (HEAD)".
func isCommit(line []byte) bool {
	return hasPrefix(line, "commit ") && hexRun(line, 7) >= 40
}

func hexRun(line []byte, from int) int {
	i := from
	for i < len(line) && isHex(line[i]) {
		i++
	}
	return i - from
}

var roleLine = lazy(`^\s*- ([a-z]+)( "|:| \[|$)|^\s*- ('[a-z]+ "|/url: |text: )`)

// guessPage wants the accessibility tree of a page, which browser tools return
// as YAML, often below a few lines of Markdown.
func guessPage(s *sniffed) string {
	refs := s.count(func(line []byte) bool { return bytes.Contains(line, []byte("[ref=")) })
	if refs < 3 && !(refs > 0 && s.full < 6) {
		return ""
	}
	if s.most(s.count(roleLine().Match), 40) {
		return "page snapshot"
	}
	return ""
}

// guessTable has the last word of [columns].
func guessTable(s *sniffed) string {
	switch sep, _ := columns(s.data); sep {
	case 0:
		return ""
	case '\t':
		return "TSV"
	}
	return "CSV"
}

var htmlTag = lazy(`(?i)^\s*</?(!doctype html|html|head|body|div|p|a|span|table|tr|td|th|ul|ol|li|h[1-6]|script|style|link|meta|title|nav|section|article|main|header|footer|form|input|button|img|br|label|template|pre|code|b|i|em|strong|hr|dl|dt|dd|iframe)\b`)

// guessMarkup tells HTML from XML by the names of the tags.
func guessMarkup(s *sniffed) string {
	switch {
	case s.begins("<!doctype html", "<html", "<head", "<body"):
		return "HTML"
	case s.begins("<?php", "<%"):
		return ""
	case s.begins("<?xml"):
		if bytes.Contains(bytes.ToLower(s.data[:min(len(s.data), 1000)]), []byte("<html")) {
			return "HTML"
		}
		return "XML"
	case !s.begins("<"):
		return ""
	}
	tags, html := 0, 0
	for _, line := range s.lines {
		line = bytes.TrimLeft(line, " \t")
		if len(line) > 1 && line[0] == '<' && (isAlpha(line[1]) || line[1] == '/' || line[1] == '!') {
			tags++
			if htmlTag().Match(line) {
				html++
			}
		}
	}
	switch {
	case !s.most(tags, 30):
		return ""
	case 2*html >= tags:
		return "HTML"
	}
	return "XML"
}

var (
	iniSection = lazy(`^\[\[?[\w."' :/@-]+\]?\]\s*([#;].*)?$`)
	iniKey     = lazy(`^\s*[\w."-]+\s*=`)
	tomlValue  = lazy(`^\s*[\w."-]+\s*=\s*("|'|\[|\{|true\b|false\b|\d+\s*$)`)
	envKey     = lazy(`^(export )?[A-Z][A-Z0-9_]*=`)
	codeEnd    = lazy(`[;{}()]\s*$`)
)

// guessSettings wants sections of keys, or keys in capitals.
func guessSettings(s *sniffed) string {
	sections, keys, toml, env, rest := 0, 0, 0, 0, 0
	open := false // a list over several lines
	for _, line := range s.lines {
		t := bytes.TrimSpace(line)
		switch {
		case len(t) == 0 || t[0] == '#' || t[0] == ';':
			rest++
		case iniSection().Match(line):
			sections++
			open = false
		case iniKey().Match(line) && !bytes.HasSuffix(t, []byte(";")) && !bytes.HasPrefix(bytes.TrimLeft(t[bytes.IndexByte(t, '='):], "= "), []byte("function")):
			keys++
			if envKey().Match(line) {
				env++
			}
			if tomlValue().Match(line) {
				toml++
			}
			open = t[len(t)-1] == '[' || t[len(t)-1] == '{' || bytes.HasSuffix(t, []byte(`"""`))
		case open || sections > 0 && (line[0] == ' ' || line[0] == '\t'):
			rest++
		}
	}
	rest -= len(s.lines) - s.full
	switch {
	case keys < 2 || !s.most(sections+keys+rest, 90):
		return ""
	case sections == 0 && 10*env < 9*keys && !(keys > 3 && s.count(codeEnd().Match) == 0 && 10*keys >= 8*(s.full-rest) && toml == keys):
		return ""
	case 2*toml > keys && env < keys:
		return "TOML"
	}
	return "INI"
}

var (
	heading   = lazy(`^#{1,6} +\S`)
	tableRule = lazy(`^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$`)
	listItem  = lazy(`^\s{0,8}([-*+]|\d{1,3}[.)]) +\S`)
	mdInline  = lazy("\\]\\((https?://|\\.?/|#|[\\w./-]+\\))|\\*\\*[^* ][^*]*\\*\\*|`[^`]+`|^> |^!\\[")
)

// guessMarkdown counts outside of code blocks. A comment of YAML or of a shell
// looks like a heading, but has a line beside it.
func guessMarkdown(s *sniffed) string {
	var fences, headings, deep, rules, items, inline, keys, code, total int
	fenced := false
	for i, line := range s.lines {
		t := bytes.TrimSpace(line)
		if hasPrefix(t, "```") || hasPrefix(t, "~~~") {
			fences++
			fenced = !fenced
			continue
		}
		if fenced || len(t) == 0 {
			continue
		}
		total++
		switch {
		case heading().Match(line):
			before := i == 0 || len(bytes.TrimSpace(s.lines[i-1])) == 0 || heading().Match(s.lines[i-1])
			after := i+1 == len(s.lines) || len(bytes.TrimSpace(s.lines[i+1])) == 0
			if before && after || i == 0 && bytes.HasPrefix(line, []byte("# ")) && after {
				headings++
			}
			if line[1] == '#' {
				deep++
			} else if !before || !after { // a comment
				total--
			}
		case i > 0 && (hasPrefix(line, "===") || hasPrefix(line, "---")) && len(bytes.Trim(t, "=-")) == 0 && len(bytes.TrimSpace(s.lines[i-1])) > 0:
			headings++
		case bytes.IndexByte(t, '|') >= 0 && tableRule().Match(line):
			rules++
		case listItem().Match(line):
			items++
		case yamlKey().Match(line):
			keys++
		case codeLine().Match(line):
			code++
		}
		if mdInline().Match(line) {
			inline++
		}
	}
	unclear := 2*(keys+code) > total || s.begins("#!", "<?php", "/*", "//")
	switch {
	case fences > 1 && !unclear, rules > 0:
		return "Markdown"
	case headings > 0 && !unclear && 4*code < total, deep > 1 && inline > 0 && !unclear:
		return "Markdown"
	case !unclear && keys == 0 && code == 0 && (100*items >= 8*total && items > 1 || inline > 1 && 10*inline > total):
		return "Markdown"
	}
	return ""
}

var yamlKey = lazy(`^\s*(- +)*("[^"]*"|'[^']*'|[\w./$@*-]+( [\w./()-]+)?):( +[^ ].*|\s*)$`)

// guessYAML wants keys, items and comments only. What is indented below a
// block scalar may be anything.
func guessYAML(s *sniffed) string {
	keys, items, odd, total, block := 0, 0, 0, 0, -1
	for _, line := range s.lines {
		t := bytes.TrimSpace(line)
		if len(t) == 0 {
			continue
		}
		total++
		in := indent(line)
		if block >= 0 && in > block {
			continue
		}
		block = -1
		switch {
		case t[0] == '#' || hasPrefix(line, "---") || hasPrefix(line, "..."), hasPrefix(line, "%YAML"):
		case yamlKey().Match(line) && !bytes.ContainsAny(t[len(t)-1:], ";{"):
			keys++
			if value := t[bytes.IndexByte(t, ':')+1:]; len(value) < 5 && bytes.ContainsAny(value, "|>") {
				block = in
			}
		case hasPrefix(t, "- ") || len(t) == 1 && t[0] == '-':
			items++
		default:
			if in == 0 || t[0] == '.' || codeEnd().Match(t) && t[len(t)-1] != ']' && t[len(t)-1] != '}' {
				odd++
			}
		}
	}
	switch {
	case keys == 0 || 10*odd > total, items == 0 && keys < 2, keys+items < 2:
		return ""
	case hasPrefix(s.lines[0], "---") || s.begins("%yaml"):
		return "YAML"
	}
	// Sentences have colons too, and words behind them.
	prose := s.count(sentence)
	if 3*prose > keys+items && items == 0 {
		return ""
	}
	return "YAML"
}

// sentence reports a line that starts with a capital and goes on in words.
func sentence(line []byte) bool {
	return len(line) > 40 && line[0] >= 'A' && line[0] <= 'Z' && bytes.Count(line, []byte(" ")) > 6 && !bytes.Contains(line, []byte(": \""))
}

var matchLine = lazy(`^[^\s:]*[/.][^\s:]*:\d+(:\d+)?(:|-| )`)

// guessMatches wants what grep and compilers print: file, line, text.
func guessMatches(s *sniffed) string {
	if n := s.count(matchLine().Match); n > 1 && s.most(n, 60) {
		return "matches"
	}
	return ""
}

// guessList wants a path on every line.
func guessList(s *sniffed) string {
	n := s.count(isFilePath)
	if n >= 5 && s.most(n, 90) {
		return "file list"
	}
	return ""
}

// isFilePath reports a line that is the path of a file, marked perhaps.
func isFilePath(line []byte) bool {
	line = bytes.TrimSpace(line)
	for _, mark := range []string{"[FILE] ", "[DIR] ", "./", "/"} {
		if hasPrefix(line, mark) {
			line = line[len(mark):]
			if mark[0] == '[' {
				return len(line) > 0
			}
			return len(line) > 0 && bytes.IndexByte(line, ' ') < 0
		}
	}
	return bytes.IndexByte(line, '/') > 0 && bytes.IndexByte(line, ' ') < 0 && !bytes.Contains(line, []byte("://"))
}

func hasPrefix(line []byte, prefix string) bool {
	return len(line) >= len(prefix) && string(line[:len(prefix)]) == prefix
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
