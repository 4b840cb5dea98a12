package digest

import (
	"bytes"

	"rlmproxy/pipeline/digest/git"
)

// A kind of text, with all that this package knows of it.
type kind struct {
	name string                 // as an agent reads it
	is   func(s *sample) bool   // decides by the first lines
	read func(*Digest, *reader) // tells what stands out
	ends int                    // lines of head and tail worth showing; 0 is all
	next func(line []byte) bool // see [Entry]; nil if such a text has no entries
}

// kinds are tried in this order. What says of itself what it is in a line or two
// comes first, such as a diff, then what most lines have in common.
var kinds = []kind{
	{"binary", isBinary, readBlob, 0, nil},
	{"base64", isBase64, readBlob, 0, nil},
	{"diff", isDiff, readDiff, 10, startsHunk},
	{"git blame", isBlame, readBlame, 4, nil},
	{"git log", isGitLog, readGitLog, 4, git.IsCommit},
	{"page snapshot", isSnapshot, readSnapshot, 8, nil},
	{"output of tools", isRun, readRun, 0, nil},
	{"JSON Lines and text", isJSONAndText, readJSONAndText, 12, notBlank},
	{"stack trace", isTrace, readTrace, 25, startsTrace},
	{"log", isLog, readLog, 5, startsLogEntry},
	{"broken JSON", isBrokenJSON, readBrokenJSON, 0, nil},
	{"matches", isMatches, readMatches, 4, notBlank},
	{"tree of files", isTree, readTree, 4, nil},
	{"table", isBlanks, readBlanks, 0, nil},
	{"HTML", isHTML, readHTML, 12, nil},
	{"XML", isXML, readXML, 20, nil},
	{"source", isSource, readSource, 0, nil},
	{"CSV", isCSV, nil, 0, nil},
	{"TSV", isTSV, nil, 0, nil},
	{"configuration", isConfig, readConfig, 0, nil},
	{"Markdown", isMarkdown, readMarkdown, 0, nil},
	{"YAML", isYAML, readYAML, 0, startsYAMLKey},
	{"file list", isFileList, readFileList, 4, notBlank},
	{"plain text", func(*sample) bool { return true }, readPlain, 0, nil},
}

// Kind guesses what a text is by its first lines: one of the names in [kinds].
func Kind(text []byte) string { return kindOf(text).name }

// Entry returns a function that reports whether a line begins another entry of
// a text of this [Kind]: a line of a log with a time or a level, a hunk of a
// diff, a commit, a key or item at the margin of YAML. What follows up to the
// next one belongs to the entry: the stack trace under its error. It is nil for
// kinds whose text has no entries, such as prose and source code. The line is
// without its newline.
func Entry(name string) func(line []byte) bool {
	for _, k := range kinds {
		if k.name == name {
			return k.next
		}
	}
	return nil
}

func kindOf(text []byte) kind {
	s := newSample(text)
	for _, k := range kinds {
		if k.is(s) {
			return k
		}
	}
	return kinds[len(kinds)-1]
}

const (
	// sampleLines that are not blank decide what a text is; sampleBytes bound
	// them.
	sampleLines = 200
	sampleBytes = 64 << 10

	// sampleWidth bytes of each line are looked at.
	sampleWidth = 400
)

// A sample is the first lines of a text.
type sample struct {
	data  []byte   // the text, all of it
	lines [][]byte // blank ones too, each cut to sampleWidth
	full  int      // how many are not blank
}

func newSample(data []byte) *sample {
	s := &sample{data: data}
	for line := range bytes.Lines(data[:min(len(data), sampleBytes)]) {
		line = bytes.TrimRight(line[:min(len(line), sampleWidth)], "\r\n")
		s.lines = append(s.lines, line)
		if s.full += btoi(notBlank(line)); s.full == sampleLines {
			break
		}
	}
	return s
}

// count counts the lines that are such.
func (s *sample) count(such func(line []byte) bool) int {
	n := 0
	for _, line := range s.lines {
		n += btoi(such(line))
	}
	return n
}

// most reports that n is at least percent of the lines that are not blank.
func (s *sample) most(n, percent int) bool { return n > 0 && 100*n >= percent*s.full }

// begins reports that the text begins with one of prefixes, in any case and
// behind any blanks.
func (s *sample) begins(prefixes ...string) bool {
	head := bytes.ToLower(bytes.TrimLeft(s.data[:min(len(s.data), 2000)], "\ufeff \t\r\n"))
	for _, p := range prefixes {
		if hasPrefix(head, p) {
			return true
		}
	}
	return false
}

func notBlank(line []byte) bool { return len(bytes.TrimSpace(line)) > 0 }
