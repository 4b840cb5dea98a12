// Package git reads what git and diff print, line by line.
//
//	lines ──► Reader.Read ──► what the line is
//	                └──► Commit and File: where it stands
//
// A text has commits with the files of each (git log, git show, git format-patch), or
// files alone (git diff, diff -u, svn diff). The files of a commit are those of its patch,
// or those that --stat, --numstat and --name-status list. What is kept are slices of lines.
package git

import (
	"bytes"
	"slices"
	"strconv"
)

// A Line says what a line is.
type Line int

const (
	Other      Line = iota // none of git's
	Head                   // of a commit or a file, or blank
	CommitLine             // a commit begins
	Author
	Date
	Subject
	Message    // a line below the subject
	ListedFile // of --stat, --numstat or --name-status, see [Reader.Listed]
	Total      // the last line of --stat
	FileLine   // a file begins
	Hunk       // a hunk begins
	Context    // a line of a hunk
	Added      // a line that no parent has
	Deleted    // a line that some parent had
	NoNewline  // says that the line above has none
)

// A Commit is what stands above the files of a commit.
type Commit struct {
	Hash, Refs, Merge, Author, Date, Subject []byte
}

// A File is what a commit or a diff does to a file.
type File struct {
	Path    []byte // as it is called afterwards
	Old     []byte // as it was called before, /dev/null if it was not; nil if that is not said
	Changes []string

	Added, Deleted int  // lines
	Counted        bool // these are known
	Hunks          int

	headed bool // a line "diff --git" begins it
}

// The values of [File.Changes].
const (
	New     = "added"
	Gone    = "deleted"
	Renamed = "renamed"
	Copied  = "copied"
	Binary  = "binary"
	Mode    = "mode"
)

// maxParents of a merge are read.
const maxParents = 8

// A Reader reads lines. The counts in the heads of hunks tell it that a deleted line
// "-- x" is no head of a file.
type Reader struct {
	Commit *Commit // nil in a diff
	File   *File   // of a patch; nil above the first one of a commit
	Listed *File   // the last one listed

	parents int                 // of the hunk, 0 behind it
	left    [maxParents + 1]int // lines that the hunk still has of each parent, and of the outcome
}

// Read reads the next line, which is without its newline.
func (r *Reader) Read(line []byte) Line {
	open := r.left != [maxParents + 1]int{}
	switch {
	case (open || r.parents > 0) && hasPrefix(line, `\ `):
		return NoNewline
	case open:
		if kind := r.inHunk(line); kind != Other {
			return kind
		}
		r.left = [maxParents + 1]int{} // the counts were wrong
	}
	r.parents = 0
	return r.outside(line)
}

// inHunk reads a line of the hunk that is open, which has a mark for each parent.
func (r *Reader) inHunk(line []byte) Line {
	var marks []byte
	if len(line) > 0 { // a blank line may have lost its marks
		if len(line) < r.parents {
			return Other
		}
		marks = line[:r.parents]
	}
	kind := Context
	for _, mark := range marks {
		switch {
		case mark == '+' && kind == Context:
			kind = Added
		case mark == '-':
			kind = Deleted
		case mark != '+' && mark != ' ' && mark != '\t':
			return Other
		}
	}
	for i := range r.parents {
		if had := i < len(marks) && marks[i] == '-'; had || kind != Deleted && (i >= len(marks) || marks[i] != '+') {
			r.left[i] = max(r.left[i]-1, 0)
		}
	}
	switch kind {
	case Added:
		r.File.Added++
	case Deleted:
		r.File.Deleted++
		return kind
	}
	r.left[r.parents] = max(r.left[r.parents]-1, 0)
	return kind
}

// outside reads a line that is in no hunk.
func (r *Reader) outside(line []byte) Line {
	f := r.File
	switch {
	case IsCommit(line):
		_, rest, _ := bytes.Cut(line, []byte(" "))
		n := HashLen(rest)
		r.Commit, r.File, r.Listed = &Commit{Hash: rest[:n], Refs: bytes.Trim(rest[n:], " ()")}, nil, nil
		return CommitLine
	case hasPrefix(line, "diff --git "), hasPrefix(line, "diff --cc "), hasPrefix(line, "diff --combined "):
		f = r.start()
		f.Path, f.headed = headedPath(line), true
		return FileLine
	case hasPrefix(line, "diff -") && r.Commit == nil: // of the command diff
		r.File = nil
		return Head
	case hasPrefix(line, "--- ") && (f != nil || r.Commit == nil):
		kind := Head
		if f == nil || f.Hunks > 0 || !f.headed {
			f, kind = r.start(), FileLine
		}
		if f.Old = pathIn(line); string(f.Old) == "/dev/null" {
			f.change(New)
		} else if f.Path == nil {
			f.Path = f.Old
		}
		return kind
	case hasPrefix(line, "+++ ") && f != nil && f.Hunks == 0:
		if path := pathIn(line); string(path) != "/dev/null" {
			f.Path = path
		} else {
			f.change(Gone)
		}
		return Head
	case Parents(line) > 0:
		if f == nil {
			f = r.start()
		}
		r.parents = Parents(line)
		f.Hunks++
		for i, span := range bytes.Fields(line)[1 : r.parents+2] {
			r.left[i], _ = spanLen(span)
		}
		return Hunk
	case f == nil && r.Commit != nil:
		return r.inCommit(line)
	}
	for _, h := range heads {
		if hasPrefix(line, h.prefix) {
			if f != nil && h.change != "" {
				f.change(h.change)
			}
			if f != nil && (h.prefix == "rename from " || h.prefix == "copy from ") {
				f.Old = line[len(h.prefix):]
			}
			return Head
		}
	}
	if len(line) == 0 || f != nil && slices.Contains(f.Changes, Binary) {
		return Head
	}
	return Other
}

// heads are how the lines begin in the head of a file.
var heads = []struct{ prefix, change string }{
	{"new file mode ", New}, {"deleted file mode ", Gone}, {"rename to ", Renamed}, {"copy to ", Copied},
	{"Binary files ", Binary}, {"GIT binary patch", Binary}, {"new mode ", Mode}, {"rename from ", ""}, {"copy from ", ""},
	{"index ", ""}, {"mode ", ""}, {"old mode ", ""}, {"similarity index ", ""}, {"dissimilarity index ", ""},
	{"Only in ", ""}, {"Index: ", ""}, {"====", ""},
}

func (r *Reader) start() *File {
	r.File = &File{Counted: true}
	return r.File
}

func (f *File) change(what string) {
	if !slices.Contains(f.Changes, what) {
		f.Changes = append(f.Changes, what)
	}
}

// Status is what happens to the file in one word: "modified" or one of its changes.
func (f *File) Status() string {
	for _, c := range slices.Backward(f.Changes) {
		if c != Mode {
			return c
		}
	}
	return "modified"
}

// headedPath is the path in a line "diff --git a/x b/x" or "diff --cc x".
func headedPath(line []byte) []byte {
	_, names, _ := bytes.Cut(bytes.TrimSpace(line[len("diff "):]), []byte(" "))
	if hasPrefix(line, "diff --git ") {
		if i := bytes.LastIndex(names, []byte(" b/")); i >= 0 {
			names = names[i+len(" b/"):]
		} else {
			names = names[bytes.LastIndexByte(names, ' ')+1:]
		}
	}
	return bytes.Trim(names, `"`)
}

// pathIn is the path in a line "--- a/x", behind which may be a time.
func pathIn(line []byte) []byte {
	path, _, _ := bytes.Cut(line[len("--- "):], []byte("\t"))
	path = bytes.Trim(bytes.TrimRight(path, " "), `"`)
	if hasPrefix(path, "a/") || hasPrefix(path, "b/") {
		path = path[2:]
	}
	return path
}

// Parents reads the head of a hunk: 1 for "@@ -1,2 +3,4 @@", 2 for the "@@@ -1 -1 +1 @@@"
// of a merge of two, 0 for other lines.
func Parents(line []byte) int {
	at := 0
	for at < len(line) && line[at] == '@' {
		at++
	}
	if at < 2 || at > maxParents+1 || line[at-1] != '@' {
		return 0
	}
	spans, _, ok := bytes.Cut(line[at:], line[:at])
	if !ok || len(spans) > 1000 {
		return 0
	}
	fields := bytes.Fields(spans)
	if len(fields) != at {
		return 0
	}
	for i, span := range fields {
		if _, ok := spanLen(span); !ok || span[0] != '-' && (i < at-1 || span[0] != '+') {
			return 0
		}
	}
	return at - 1
}

// spanLen is how many lines -1,2 or +3,4 has. A count left out is 1.
func spanLen(span []byte) (n int, ok bool) {
	start, count, has := bytes.Cut(span[1:], []byte(","))
	if _, err := strconv.Atoi(string(start)); err != nil {
		return 0, false
	}
	if !has {
		return 1, true
	}
	n, err := strconv.Atoi(string(count))
	return n, err == nil && n >= 0
}

// IsCommit reports a line like "commit 0123…cdef (HEAD)", or "From 0123…cdef".
func IsCommit(line []byte) bool {
	if !hasPrefix(line, "commit ") && !hasPrefix(line, "From ") {
		return false
	}
	_, hash, _ := bytes.Cut(line[:min(len(line), 80)], []byte(" "))
	return HashLen(hash) >= 40
}

// HashLen counts the digits of the hash that s begins with.
func HashLen(s []byte) int {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'f') {
		n++
	}
	return n
}

// inCommit reads a line of a commit above its patch.
func (r *Reader) inCommit(line []byte) Line {
	c := r.Commit
	if hasPrefix(line, "    ") {
		if text := line[4:]; c.Subject == nil && len(bytes.TrimSpace(text)) > 0 {
			c.Subject = text
			return Subject
		}
		return Message
	}
	for _, l := range []struct {
		name  string
		value *[]byte
		kind  Line
	}{
		{"Author: ", &c.Author, Author}, {"From: ", &c.Author, Author}, {"Date: ", &c.Date, Date}, {"AuthorDate: ", &c.Date, Date},
		{"Subject: ", &c.Subject, Subject}, {"Merge: ", &c.Merge, Head}, {"Commit: ", nil, Head}, {"CommitDate: ", nil, Head},
	} {
		if c.Subject == nil && hasPrefix(line, l.name) {
			if l.value != nil {
				*l.value = bytes.TrimSpace(line[len(l.name):])
			}
			return l.kind
		}
	}
	switch {
	case len(line) == 0:
		return Head
	case line[0] == ' ' && bytes.Contains(line, []byte(" changed")) && !bytes.Contains(line, []byte(" | ")):
		return Total
	case c.Subject != nil || r.Listed != nil:
		if f := listed(line); f != nil {
			r.Listed = f
			return ListedFile
		}
	}
	return Other
}

// letters are the statuses of --name-status.
var letters = map[byte]string{'A': New, 'D': Gone, 'M': "modified", 'R': Renamed, 'C': Copied, 'T': "type changed"}

// listed reads a line of --name-status, --numstat or --stat, which shortens paths. It is
// nil for another line.
func listed(line []byte) *File {
	if cells := bytes.Split(line, []byte("\t")); len(cells) > 1 {
		f := &File{Path: cells[len(cells)-1]}
		if added, err := strconv.Atoi(string(cells[0])); err == nil || string(cells[0]) == "-" {
			f.Added, f.Counted = added, err == nil
			f.Deleted, _ = strconv.Atoi(string(cells[1]))
			return f
		}
		if len(cells[0]) == 0 || letters[cells[0][0]] == "" {
			return nil
		}
		f.change(letters[cells[0][0]])
		if len(cells) == 3 {
			f.Old = cells[1]
		}
		return f
	}
	path, change, ok := bytes.Cut(line, []byte(" | "))
	if !ok || line[0] != ' ' {
		return nil
	}
	f := &File{Path: bytes.TrimSpace(path)}
	count, marks, _ := bytes.Cut(bytes.TrimSpace(change), []byte(" "))
	total, err := strconv.Atoi(string(count))
	f.Added, f.Deleted = bytes.Count(marks, []byte("+")), bytes.Count(marks, []byte("-"))
	switch {
	case string(count) == "Bin":
		f.change(Binary)
		f.Added, f.Deleted = 0, 0
	case err != nil:
		return nil
	default:
		f.Counted = f.Added+f.Deleted == total // else the marks are scaled
	}
	return f
}

func hasPrefix(line []byte, prefix string) bool {
	return len(line) >= len(prefix) && string(line[:len(prefix)]) == prefix
}
