package pipeline

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
	how      string // "new", "deleted", "renamed", "binary"
	add, del int
	hunk     int // line of the largest hunk
	largest  int // lines of it
	head     []numLine
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
	subjects    part
	subject     bool // comes
}

func digestDiff(d *digest, data []byte, t *ticker) error {
	r := &diffReader{subjects: part{title: "commits", share: 25, even: true}}
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
		d.facts = append(d.facts, plural(r.commits, "commits"))
	}
	d.factf("%s, +%s −%s", plural(len(r.files)+r.more, "files"), Comma(r.add), Comma(r.del))
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
			r.f.head = append(r.f.head, numLine{n, line})
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
			r.f.head = append(r.f.head, numLine{n, line})
		}
	case hasPrefix(line, "diff --git "), hasPrefix(line, "diff --cc "), hasPrefix(line, "diff --combined "):
		r.start(n, true)
		r.f.new = diffName(line)
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

// tell lists the files, those with most changes first if not all fit, and
// their first lines.
func (r *diffReader) tell(d *digest) {
	byChurn := slices.Clone(r.files)
	slices.SortStableFunc(byChurn, func(a, b *fileDiff) int { return cmp.Compare(b.add+b.del, a.add+a.del) })
	rank := make(map[*fileDiff]int, len(byChurn))
	for i, f := range byChurn {
		rank[f] = i / 4
	}
	p := part{title: "files, each with its line", total: r.more, find: "the largest"}
	for _, f := range r.files {
		how := ""
		if f.how != "" {
			how = " (" + clip(f.how, 80) + ")"
		}
		p.addf(f.at, rank[f], "+%s −%s %s%s", Comma(f.add), Comma(f.del), clip(f.name(), 120), how)
	}
	if r.commits > 1 {
		d.parts = append(d.parts, r.subjects)
	}
	d.parts = append(d.parts, p)
	// Of a new file, the first lines are its imports.
	for _, added := range []bool{false, true} {
		for i, f := range byChurn {
			if i < 20 && (f.how == "new") == added {
				d.picks = append(d.picks, f.head...)
			}
		}
	}
	if len(byChurn) == 0 {
		return
	}
	big := byChurn[0]
	if big.hunk >= 0 {
		d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(big.hunk), "limit", strconv.Itoa(min(max(big.largest+8, 20), 80))})
	}
	// The head of a file is found by its name.
	if name := big.name(); len(byChurn) > 1 && len(name) < 120 && isPrintable(name) {
		d.calls = append(d.calls, []string{"proxy_search", "pattern", quoted(`^diff .*` + regexp.QuoteMeta(name)), "context_lines", "20"})
		if !r.git {
			d.calls[len(d.calls)-1][2] = quoted(`^\+\+\+ .*` + regexp.QuoteMeta(name))
		}
	}
}

func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}

// digestGitLog lists commits by their subjects.
func digestGitLog(d *digest, data []byte, t *ticker) error {
	p := part{title: "subjects", even: true, find: "proxy_search finds the rest"}
	authors := map[string]int{}
	var order []string
	var first, last string
	commits, n, want := 0, 0, false
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		switch {
		case isCommit(line):
			commits++
			want = true
		case hasPrefix(line, "Author: "):
			name, _, _ := strings.Cut(string(bytes.TrimSpace(line[8:min(len(line), 200)])), " <")
			if _, known := authors[name]; known || len(order) < 1000 {
				if authors[name]++; !known {
					order = append(order, name)
				}
			}
		case hasPrefix(line, "Date: "):
			if last = string(bytes.TrimSpace(line[6:min(len(line), 100)])); first == "" {
				first = last
			}
		case want && hasPrefix(line, "    ") && len(bytes.TrimSpace(line)) > 0:
			p.add(row{numLine: numLine{n, bytes.TrimSpace(line)}})
			want = false
		}
		n++
	}
	d.facts = append(d.facts, plural(commits, "commits"))
	if first != "" {
		d.say("dates: %s .. %s", first, last)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(authors[b], authors[a]) })
	for i, name := range order {
		if order[i] = fmt.Sprintf("%s %s", clip(name, 40), Comma(authors[name])); i == 8 {
			order = append(order[:i], fmt.Sprintf("… %s more", Comma(len(order)-i)))
			break
		}
	}
	if len(order) > 0 {
		d.say("authors: %s", strings.Join(order, ", "))
	}
	d.parts = append(d.parts, p)
	return nil
}
