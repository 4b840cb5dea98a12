package digest

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"rlmproxy/pipeline/show"
)

// isDiff wants the head of a file in a diff. In a code block of Markdown it stands
// behind the fence.
func isDiff(s *sample) bool {
	for i, line := range s.lines {
		switch {
		case isFence(line):
			return false
		case hasPrefix(line, "diff --git "), hasPrefix(line, "diff --cc "),
			hasPrefix(line, "--- ") && i+2 < len(s.lines) && hasPrefix(s.lines[i+1], "+++ ") && startsHunk(s.lines[i+2]):
			return true
		}
	}
	return false
}

func startsHunk(line []byte) bool { return hasPrefix(line, "@@ ") || hasPrefix(line, "diff ") }

// isGitLog wants a commit on the first line and who made it below.
func isGitLog(s *sample) bool {
	return len(s.lines) > 1 && isCommit(s.lines[0]) && (hasPrefix(s.lines[1], "Author: ") || hasPrefix(s.lines[1], "Merge: "))
}

// isCommit reports a line like "commit 0123…cdef (HEAD)", or "From 0123…cdef".
func isCommit(line []byte) bool {
	if !hasPrefix(line, "commit ") && !hasPrefix(line, "From ") {
		return false
	}
	_, hash, _ := bytes.Cut(head(line, 60), []byte(" "))
	n := 0
	for n < len(hash) && isHex(hash[n]) {
		n++
	}
	return n >= 40
}

const (
	hunkLines = 8  // of the first hunk of a file that a preview may show
	hunkFiles = 60 // of which hunks are kept
)

// A fileDiff is what a diff does to one file.
type fileDiff struct {
	at       int      // line
	name     string   // as it is called afterwards
	how      []string // new, deleted, renamed, binary
	git      bool     // a line "diff --git" named it
	hunk     int      // line of its first hunk, or 0
	add, del int
	lines    []Line
}

// A diffReader follows the counts in the heads of hunks, so that a removed line
// "-- x" is not taken for the head of a file.
type diffReader struct {
	files    []*fileDiff
	more     int       // files that are not kept
	file     *fileDiff // the last
	add, del int
	old, new int // lines left in the hunk

	commits  int
	authors  tally
	subjects Part
	titled   bool // the commit has its subject
}

func readDiff(d *Digest, r *reader) {
	df := &diffReader{subjects: Part{Title: "commits", Share: 25, Even: true, Find: "proxy_search finds the rest"}}
	for n, line := range r.lines {
		if df.old <= 0 && df.new <= 0 || !df.inHunk(n, line) {
			df.outside(n, line)
		}
	}
	df.describe(d)
}

// inHunk counts a line of a hunk. It reports false for one that is none: then the
// counts in the head of the hunk were wrong.
func (r *diffReader) inHunk(n int, line []byte) bool {
	switch byteAt(line, 0) {
	case '+':
		r.new--
		r.add++
		r.file.add++
	case '-':
		r.old--
		r.del++
		r.file.del++
	case ' ', '\t', 0:
		r.old--
		r.new--
	case '\\':
	default:
		r.old, r.new = 0, 0
		return false
	}
	r.keep(n, line)
	return true
}

func (r *diffReader) keep(n int, line []byte) {
	if len(r.file.lines) < hunkLines && len(r.files) <= hunkFiles {
		r.file.lines = append(r.file.lines, Line{n, line})
	}
}

// changes are the lines in the head of a file that say what happens to it.
var changes = []struct{ prefix, how string }{
	{"new file", "new"}, {"deleted file", "deleted"}, {"rename from ", "renamed from "}, {"copy from ", "copied from "},
	{"Binary files ", "binary"}, {"GIT binary patch", "binary"}, {"new mode ", "mode"},
}

func (r *diffReader) outside(n int, line []byte) {
	f := r.file
	switch {
	case hasPrefix(line, "@@ "):
		if f == nil {
			f = r.start(n)
		}
		r.old, r.new = hunkCount(line, '-'), hunkCount(line, '+')
		if f.hunk == 0 {
			f.hunk = n
			r.keep(n, line)
		}
	case hasPrefix(line, "diff --"):
		name := string(bytes.TrimSpace(line))
		if i := strings.LastIndex(name, " b/"); i > 0 {
			name = name[i+len(" b/"):]
		} else {
			name = name[strings.LastIndexByte(name, ' ')+1:]
		}
		f = r.start(n)
		f.name, f.git = name, true
	case hasPrefix(line, "--- "):
		if f == nil || !f.git || f.hunk > 0 {
			f = r.start(n)
		}
		f.named(line)
	case hasPrefix(line, "+++ ") && f != nil:
		f.named(line)
	case isCommit(line):
		r.file, r.titled = nil, false
		r.commits++
	case f == nil && r.commits > 0:
		r.message(n, line)
	case f != nil && f.hunk == 0:
		for _, c := range changes {
			if hasPrefix(line, c.prefix) && len(f.how) < 3 {
				if strings.HasSuffix(c.how, " ") {
					c.how += show.Clip(string(line[len(c.prefix):]), 80)
				}
				f.how = append(f.how, c.how)
			}
		}
	}
}

// message reads the author and the subject of a commit.
func (r *diffReader) message(n int, line []byte) {
	switch text := bytes.TrimSpace(head(line, 200)); {
	case hasPrefix(line, "Author: "):
		name, _, _ := bytes.Cut(text[len("Author: "):], []byte(" <"))
		r.authors.add(name, n)
	case !r.titled && len(text) > 0 && (hasPrefix(line, "    ") || hasPrefix(line, "Subject: ")):
		r.subjects.addLine(n, bytes.TrimSpace(line), 0)
		r.titled = true
	}
}

func (r *diffReader) start(n int) *fileDiff {
	r.file = &fileDiff{at: n}
	if len(r.files) < maxRows {
		r.files = append(r.files, r.file)
	} else {
		r.more++
	}
	return r.file
}

// named takes the name of a file from a line "--- a/x" or "+++ b/x", unless its
// head had one already. Behind the name may be a time.
func (f *fileDiff) named(line []byte) {
	name, _, _ := bytes.Cut(line[len("--- "):], []byte("\t"))
	name = bytes.Trim(name, `"`)
	if hasPrefix(name, "a/") || hasPrefix(name, "b/") {
		name = name[2:]
	}
	if f.name == "" || !f.git && string(name) != "/dev/null" {
		f.name = string(name)
	}
}

// hunkCount reads the lines behind - or + in @@ -1,2 +3,4 @@. A count left out is 1.
func hunkCount(line []byte, mark byte) int {
	i := bytes.IndexByte(line, mark) + 1
	i += digitsAt(line, i)
	if byteAt(line, i) != ',' {
		return btoi(i > 0)
	}
	n, _ := strconv.Atoi(string(line[i+1:][:min(digitsAt(line, i+1), 9)]))
	return n
}

// describe lists the commits and the files, of too many those with most changes.
func (r *diffReader) describe(d *Digest) {
	if r.commits > 0 {
		d.Facts = append(d.Facts, show.Plural(r.commits, "commits"))
	}
	if len(r.authors.order) > 0 {
		d.addWords("authors: %s", r.authors.top(8, ", "))
	}
	if r.commits > 1 {
		d.Parts = append(d.Parts, r.subjects)
	}
	if len(r.files) == 0 {
		return
	}
	d.factf("%s, +%s −%s", show.Plural(len(r.files)+r.more, "files"), show.Count(r.add), show.Count(r.del))
	largest := slices.Clone(r.files)
	slices.SortStableFunc(largest, func(a, b *fileDiff) int { return cmp.Compare(b.add+b.del, a.add+a.del) })
	rank := map[*fileDiff]int{}
	for i, f := range largest {
		rank[f] = i / 4
	}
	p := Part{Title: "files, each with its line", Total: r.more, Find: "the largest"}
	for _, f := range r.files {
		how := ""
		if len(f.how) > 0 {
			how = " (" + strings.Join(f.how, " ") + ")"
		}
		p.addf(f.at, rank[f], "+%s −%s %s%s", show.Count(f.add), show.Count(f.del), show.Clip(f.name, 120), how)
	}
	d.Parts = append(d.Parts, p)
	for _, imports := range []bool{false, true} { // with which a new file begins
		for _, f := range largest[:min(len(largest), 20)] {
			if slices.Contains(f.how, "new") == imports {
				d.Highlights = append(d.Highlights, f.lines...)
			}
		}
	}
}
