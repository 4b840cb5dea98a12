package digest

import (
	"bytes"
	"strconv"
	"strings"

	"rlmproxy/pipeline/show"
)

const (
	// hunkLines of the first hunk of a file are candidates for a preview, in
	// up to hunkFiles files.
	hunkLines = 8
	hunkFiles = 60
)

// A fileDiff is what a diff does to one file.
type fileDiff struct {
	at       int // line
	old, new string
	git      string // the name in its line "diff ", if it has one
	how      string // "new", "deleted", "renamed", "binary"
	add, del int
	hunk     int // line of the largest hunk
	largest  int // lines of it
	head     []Line
}

func (f *fileDiff) name() string {
	if f.new != "" && f.new != "/dev/null" {
		return f.new
	}
	return f.old
}

// A diffReader follows the counts in the heads of hunks, so that a removed
// line "-- x" is not taken for the head of a file.
type diffReader struct {
	files       []*fileDiff
	more        int // files beyond maxRows
	f           *fileDiff
	old, new    int // lines left in the hunk
	hunk, lines int // line of the hunk and its changed lines
	add, del    int
	commits     int
	git         bool // the head of this file began with "diff "
	subjects    Part
	subject     bool // comes
}

func digestDiff(d *Digest, data []byte, t *ticker) error {
	r := &diffReader{subjects: Part{Title: "commits", Share: 25, Even: true}}
	n := 0
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		r.line(n, line)
		n++
	}
	r.endHunk()
	if r.commits > 0 {
		d.Facts = append(d.Facts, show.Plural(r.commits, "commits"))
	}
	d.factf("%s, +%s −%s", show.Plural(len(r.files)+r.more, "files"), show.Count(r.add), show.Count(r.del))
	r.tell(d)
	return nil
}

func (r *diffReader) line(n int, line []byte) {
	if (r.old > 0 || r.new > 0) && len(line) > 0 {
		switch line[0] {
		case '+':
			r.new--
			r.add++
			r.f.add++
			r.lines++
		case '-':
			r.old--
			r.del++
			r.f.del++
			r.lines++
		case ' ', '\n', '\r', '\t':
			r.old--
			r.new--
		case '\\':
		default: // the counts are wrong
			r.old, r.new = 0, 0
			r.line(n, line)
			return
		}
		if len(r.f.head) < hunkLines && len(r.files) <= hunkFiles {
			r.f.head = append(r.f.head, Line{n, line})
		}
		return
	}
	switch {
	case hasPrefix(line, "@@ "):
		if r.f == nil {
			r.start(n, false)
		}
		r.endHunk()
		r.hunk = n
		r.old, r.new = hunkCounts(line)
		if len(r.f.head) == 0 && len(r.files) <= hunkFiles {
			r.f.head = append(r.f.head, Line{n, line})
		}
	case hasPrefix(line, "diff --git "), hasPrefix(line, "diff --cc "), hasPrefix(line, "diff --combined "):
		r.start(n, true)
		r.f.git = diffName(line)
		r.f.new = r.f.git
	case hasPrefix(line, "--- "):
		if r.f == nil || !r.git || r.hunk >= 0 {
			r.start(n, false)
		}
		r.f.old = fileName(line[4:])
	case hasPrefix(line, "+++ ") && r.f != nil:
		r.f.new = fileName(line[4:])
	case r.f != nil && r.hunk < 0:
		switch {
		case hasPrefix(line, "new file"):
			r.f.how = "new"
		case hasPrefix(line, "deleted file"):
			r.f.how = "deleted"
		case hasPrefix(line, "rename from "):
			r.f.how = "renamed from " + string(bytes.TrimSpace(line[12:]))
		case hasPrefix(line, "copy from "):
			r.f.how = "copied from " + string(bytes.TrimSpace(line[10:]))
		case hasPrefix(line, "Binary files "), hasPrefix(line, "GIT binary patch"):
			r.f.how = strings.TrimSpace(r.f.how + " binary")
		case hasPrefix(line, "new mode ") && r.f.how == "":
			r.f.how = "mode"
		case isCommit(line):
			r.commit()
		}
	case r.subject && (hasPrefix(line, "    ") || hasPrefix(line, "Subject: ")) && len(bytes.TrimSpace(line)) > 0:
		r.subjects.addLine(n, bytes.TrimSpace(line), 0)
		r.subject = false
	case isCommit(line), hasPrefix(line, "From ") && hexRun(line, 5) == 40:
		r.commit()
	}
}

func (r *diffReader) commit() {
	r.subject = true
	r.endHunk()
	r.commits++
	r.f = nil
}

func (r *diffReader) start(n int, git bool) {
	r.endHunk()
	r.f = &fileDiff{at: n, hunk: -1}
	r.git, r.hunk = git, -1
	if len(r.files) < maxRows {
		r.files = append(r.files, r.f)
	} else {
		r.more++
	}
}

func (r *diffReader) endHunk() {
	if r.f != nil && r.hunk >= 0 && r.lines > r.f.largest {
		r.f.hunk, r.f.largest = r.hunk, r.lines
	}
	r.lines = 0
}

// hunkCounts reads @@ -1,2 +3,4 @@, where a count left out is 1.
func hunkCounts(line []byte) (old, new int) {
	count := func(mark byte) int {
		i := bytes.IndexByte(line, mark)
		if i < 0 {
			return 0
		}
		i += 1 + digitsAt(line, i+1)
		if !at(line, i, ",") {
			return 1
		}
		n, _ := strconv.Atoi(string(line[i+1 : i+1+min(digitsAt(line, i+1), 9)]))
		return n
	}
	return count('-'), count('+')
}

func diffName(line []byte) string {
	line = bytes.TrimSpace(line)
	if i := bytes.LastIndex(line, []byte(" b/")); i > 0 {
		return string(line[i+3:])
	}
	return string(line[bytes.LastIndexByte(line, ' ')+1:])
}

// fileName is the name behind --- or +++, without a/, b/ and a time.
func fileName(s []byte) string {
	s, _, _ = bytes.Cut(bytes.TrimRight(s, "\r\n"), []byte("\t"))
	s = bytes.Trim(s, `"`)
	if hasPrefix(s, "a/") || hasPrefix(s, "b/") {
		s = s[2:]
	}
	return string(s)
}
