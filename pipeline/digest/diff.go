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

func startsHunk(line []byte) bool { return parentsOf(line) > 0 || hasPrefix(line, "diff ") }

// maxParents of a merge are read.
const maxParents = 8

// parentsOf reads the head of a hunk: 1 for "@@ ", 2 for the "@@@ " of a merge of two.
func parentsOf(line []byte) int {
	n := 0
	for byteAt(line, n) == '@' {
		n++
	}
	if n < 2 || n > maxParents+1 || byteAt(line, n) != ' ' {
		return 0
	}
	return n - 1
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
	parents  int                 // of the hunk
	left     [maxParents + 1]int // lines that it still has of each parent, and of the outcome
	log      logOfCommits
}

func readDiff(d *Digest, r *reader) {
	df := &diffReader{log: newLogOfCommits()}
	for n, line := range r.lines {
		if df.left == [maxParents + 1]int{} || !df.inHunk(n, line) {
			df.outside(n, line)
		}
	}
	df.describe(d)
}

// inHunk counts a line of a hunk, which has a mark for each parent. It reports false for
// one that is none: then the counts in the head of the hunk were wrong.
func (r *diffReader) inHunk(n int, line []byte) bool {
	if hasPrefix(line, "\\") {
		r.keep(n, line)
		return true
	}
	added, removed := false, false
	for _, c := range head(line, r.parents) {
		added, removed = added || c == '+', removed || c == '-'
		if !isOneOf(c, "+- \t") {
			r.left = [maxParents + 1]int{}
			return false
		}
	}
	for i := range r.parents {
		if c := byteAt(line, i); c == '-' || c != '+' && !removed {
			r.left[i] = max(r.left[i]-1, 0)
		}
	}
	if !removed {
		r.left[r.parents] = max(r.left[r.parents]-1, 0)
	}
	r.add += btoi(added)
	r.file.add += btoi(added)
	r.del += btoi(removed)
	r.file.del += btoi(removed)
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
	case parentsOf(line) > 0:
		if f == nil {
			f = r.start(n)
		}
		r.parents = parentsOf(line)
		for i, count := range bytes.Fields(head(line, 400))[1:min(r.parents+2, bytes.Count(head(line, 400), []byte(" "))+1)] {
			r.left[i] = hunkCount(count)
		}
		if f.hunk == 0 {
			f.hunk = n
			r.keep(n, line)
		}
	case hasPrefix(line, "diff --"):
		name := string(bytes.TrimSpace(line))
		if merged := strings.TrimPrefix(name, "diff --cc "); merged != name {
			name = merged
		} else if i := strings.LastIndex(name, " b/"); i > 0 {
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
		r.file = nil
		r.log.commit(n, line)
	case f == nil && r.log.commits > 0:
		r.log.line(n, line)
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

// hunkCount reads the lines in -1,2 or +3,4. A count left out is 1.
func hunkCount(span []byte) int {
	_, count, has := bytes.Cut(span, []byte(","))
	if !has {
		return btoi(digitsAt(span, 1) > 0)
	}
	n, _ := strconv.Atoi(string(count[:min(digitsAt(count, 0), 9)]))
	return n
}

// describe tells of the commits and lists the files, of too many those with most changes.
func (r *diffReader) describe(d *Digest) {
	if len(r.files) > 0 {
		r.log.add, r.log.del = 0, 0 // of --stat: the patch says it below
	}
	r.log.describe(d)
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
