package digest

import (
	"bytes"
	"cmp"
	"regexp"
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
		case hasAnyPrefix(line, []string{"```", "~~~"}):
			return false
		case hasAnyPrefix(line, []string{"diff --git ", "diff --cc "}),
			hasPrefix(line, "--- ") && i+2 < len(s.lines) && hasPrefix(s.lines[i+1], "+++ ") && startsHunk(s.lines[i+2]):
			return true
		}
	}
	return false
}

func startsHunk(line []byte) bool { return hasPrefix(line, "@@ ") || hasPrefix(line, "diff ") }

// isGitLog wants a commit on the first line and who made it below.
func isGitLog(s *sample) bool {
	return len(s.lines) > 1 && isCommit(s.lines[0]) && hasAnyPrefix(s.lines[1], []string{"Author: ", "Merge: "})
}

// isCommit reports a line like "commit 0123…cdef (HEAD)", or "From 0123…cdef".
func isCommit(line []byte) bool {
	_, hash, _ := bytes.Cut(head(line, 60), []byte(" "))
	n := 0
	for n < len(hash) && isHex(hash[n]) {
		n++
	}
	return n >= 40 && (hasPrefix(line, "commit ") || hasPrefix(line, "From "))
}

const (
	hunkLines = 8  // of the first hunk of a file that a preview may show
	hunkFiles = 60 // of which hunks are kept
)

// A fileDiff is what a diff does to one file.
type fileDiff struct {
	at       int    // line
	name     string // as it is called afterwards
	header   string // of the line that names it, for a pattern
	how      string // new, deleted, renamed, binary
	add, del int
	hunks    bool
	best     int // line of the hunk with most changes
	changes  int // that it has
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
	hunk     int // line of the hunk
	changes  int // in it

	commits     int
	authors     tally
	first, last string // dates of commits
	subjects    Part
	titled      bool // the commit has its subject
}

func readDiff(d *Digest, r *reader) {
	df := &diffReader{subjects: Part{Title: "commits", Share: 25, Even: true, Find: "proxy_search finds the rest"}}
	for n, line := range r.lines {
		if df.old <= 0 && df.new <= 0 || !df.inHunk(n, line) {
			df.outside(n, line)
		}
	}
	df.endHunk()
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
		r.changes++
	case '-':
		r.old--
		r.del++
		r.file.del++
		r.changes++
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

func (r *diffReader) outside(n int, line []byte) {
	rest := func(prefix string) string { return string(bytes.TrimSpace(line[len(prefix):])) }
	atHead := r.file != nil && !r.file.hunks
	switch {
	case hasPrefix(line, "@@ "):
		if r.file == nil {
			r.start(n)
		}
		r.endHunk()
		r.file.hunks, r.hunk = true, n
		r.old, r.new = hunkCount(line, '-'), hunkCount(line, '+')
		if len(r.file.lines) == 0 {
			r.keep(n, line)
		}
	case hasAnyPrefix(line, []string{"diff --git ", "diff --cc ", "diff --combined "}):
		r.start(n)
		name := rest("diff --")
		if i := strings.LastIndex(name, " b/"); i > 0 {
			name = name[i+len(" b/"):]
		} else {
			name = name[strings.LastIndexByte(name, ' ')+1:]
		}
		r.file.name, r.file.header = name, "^diff .*"
	case hasPrefix(line, "--- "):
		if !atHead || r.file.header != "^diff .*" {
			r.start(n)
		}
		r.file.named(line, "^--- .*")
	case hasPrefix(line, "+++ ") && r.file != nil:
		r.file.named(line, `^\+\+\+ .*`)
	case isCommit(line):
		r.endHunk()
		r.file = nil
		r.commits++
		r.titled = false
	case atHead && hasPrefix(line, "new file"):
		r.file.how = "new"
	case atHead && hasPrefix(line, "deleted file"):
		r.file.how = "deleted"
	case atHead && hasPrefix(line, "rename from "):
		r.file.how = "renamed from " + rest("rename from ")
	case atHead && hasPrefix(line, "copy from "):
		r.file.how = "copied from " + rest("copy from ")
	case atHead && hasAnyPrefix(line, []string{"Binary files ", "GIT binary patch"}):
		r.file.how = strings.TrimSpace(r.file.how + " binary")
	case atHead && hasPrefix(line, "new mode ") && r.file.how == "":
		r.file.how = "mode"
	case r.commits > 0 && r.file == nil:
		r.message(n, line)
	}
}

// message reads the author, the date and the subject of a commit.
func (r *diffReader) message(n int, line []byte) {
	switch text := bytes.TrimSpace(head(line, 200)); {
	case hasPrefix(line, "Author: "):
		name, _, _ := bytes.Cut(text[len("Author: "):], []byte(" <"))
		r.authors.add(name, n)
	case hasPrefix(line, "Date: "):
		if r.last = string(bytes.TrimSpace(text[len("Date:"):])); r.first == "" {
			r.first = r.last
		}
	case !r.titled && len(text) > 0 && hasAnyPrefix(line, []string{"    ", "Subject: "}):
		r.subjects.addLine(n, bytes.TrimSpace(line), 0)
		r.titled = true
	}
}

func (r *diffReader) start(n int) {
	r.endHunk()
	r.file = &fileDiff{at: n}
	if len(r.files) < maxRows {
		r.files = append(r.files, r.file)
	} else {
		r.more++
	}
}

func (r *diffReader) endHunk() {
	if r.file != nil && r.changes > r.file.changes {
		r.file.best, r.file.changes = r.hunk, r.changes
	}
	r.changes = 0
}

// named takes the name of a file from a line "--- a/x" or "+++ b/x", unless its
// head had one already. Behind the name may be a time.
func (f *fileDiff) named(line []byte, header string) {
	name, _, _ := bytes.Cut(line[len("--- "):], []byte("\t"))
	name = bytes.Trim(name, `"`)
	if hasAnyPrefix(name, []string{"a/", "b/"}) {
		name = name[2:]
	}
	if f.header != "^diff .*" && string(name) != "/dev/null" || f.name == "" {
		f.name, f.header = string(name), header
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
	if r.first != "" {
		d.say("dates: %s .. %s", show.Clip(r.first, 60), show.Clip(r.last, 60))
	}
	if len(r.authors.order) > 0 {
		d.say("authors: %s", r.authors.top(8, ", "))
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
		if f.how != "" {
			how = " (" + show.Clip(f.how, 80) + ")"
		}
		p.addf(f.at, rank[f], "+%s −%s %s%s", show.Count(f.add), show.Count(f.del), show.Clip(f.name, 120), how)
	}
	d.Parts = append(d.Parts, p)
	for _, new := range []bool{false, true} { // the first lines of a new file are its imports
		for _, f := range largest[:min(len(largest), 20)] {
			if (f.how == "new") == new {
				d.Picks = append(d.Picks, f.lines...)
			}
		}
	}
	f := largest[0]
	if f.hunks {
		d.page(f.best, max(f.changes+8, 20))
	}
	if len(largest) > 1 && len(f.name) < 120 && isPrintable(f.name) {
		d.search(f.header+regexp.QuoteMeta(f.name), "context_lines", "20")
	}
}
