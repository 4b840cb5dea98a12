package digest

import (
	"bytes"
	"regexp"
	"sync"
)

// lazy compiles expr on first use: each start of a worker process would pay for
// all of them, 1.6 ms and 1 MB.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Kind guesses what a text is by its first lines: "log", "access log", "stack
// trace", "diff", "git log", "source", "Markdown", "HTML", "XML", "YAML",
// "INI", "TOML", "CSV", "TSV", "page snapshot", "file list", "matches", "broken
// JSON", "JSON Lines and text", "base64", "binary" or "plain text".
func Kind(text []byte) string {
	// What a text says of itself in a line or two goes first (a diff, a
	// trace), then what most lines have in common.
	if bytes.IndexByte(text[:min(len(text), sniffBytes)], 0) >= 0 {
		return "binary"
	}
	if isBase64(text) {
		return "base64"
	}
	if s := sniff(text); len(s.lines) > 0 {
		for _, guess := range guesses {
			if kind := guess(s); kind != "" {
				return kind
			}
		}
	}
	return "plain text"
}

// A sniffed text is its first lines, blank ones included.
type sniffed struct {
	data  []byte
	lines [][]byte // cut to maxSniffLine
	full  int      // lines that are not blank
}

const maxSniffLine = 400

var guesses = []func(*sniffed) string{
	guessDiff, guessPage, guessMixed, guessLog, guessCode, guessMatches, guessTable, guessBroken, guessMarkup, guessSettings, guessMarkdown, guessYAML, guessSource, guessList,
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

var roleLine = anchored(`^\s*- ([a-z]+)( "|:| \[|$)|^\s*- ('[a-z]+ "|/url: |text: )`)

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

// guessTable has the last word of [Columns].
func guessTable(s *sniffed) string {
	switch sep, _ := Columns(s.data); sep {
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
