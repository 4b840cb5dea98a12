package digest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"rlmproxy/pipeline/digest/git"
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

func startsHunk(line []byte) bool { return git.Parents(line) > 0 || hasPrefix(line, "diff ") }

const (
	hunkLines = 8  // of the first hunk of a file that a preview may show
	hunkFiles = 60 // of which hunks are kept
)

// A fileDiff is what a diff does to one file.
type fileDiff struct {
	*git.File
	at    int // line
	lines []Line
}

type diffReader struct {
	git      git.Reader
	files    []*fileDiff
	more     int       // files that are not kept
	file     *fileDiff // the last
	add, del int
	log      logOfCommits
}

func readDiff(d *Digest, r *reader) {
	df := &diffReader{log: newLogOfCommits()}
	for n, line := range r.lines {
		df.line(n, line)
	}
	df.describe(d)
}

func (r *diffReader) line(n int, line []byte) {
	kind := r.git.Read(line)
	switch c := r.git.Commit; kind {
	case git.CommitLine:
		r.log.commit(line, c.Hash)
	case git.Author:
		name, _, _ := bytes.Cut(head(c.Author, 300), []byte(" <"))
		r.log.authors.add(name, n)
	case git.Date:
		r.log.dated(c.Date)
	case git.Subject:
		r.log.title(n, head(bytes.TrimSpace(c.Subject), 300))
	case git.ListedFile:
		r.log.stat.add(r.git.Listed.Path, n)
	case git.Total:
		r.log.total(line)
	case git.Added:
		r.add++
	case git.Deleted:
		r.del++
	}
	if f := r.git.File; f != nil && (r.file == nil || r.file.File != f) {
		r.start(n)
	}
	if kind > git.Hunk || kind == git.Hunk && r.file.Hunks == 1 {
		r.keep(n, line)
	}
}

func (r *diffReader) start(n int) {
	r.file = &fileDiff{File: r.git.File, at: n}
	if len(r.files) < maxRows {
		r.files = append(r.files, r.file)
	} else {
		r.more++
	}
}

// keep keeps a line of a hunk that a preview may show.
func (r *diffReader) keep(n int, line []byte) {
	if len(r.file.lines) < hunkLines && len(r.files) <= hunkFiles {
		r.file.lines = append(r.file.lines, Line{n, line})
	}
}

// how says what happens to a file besides changes of its lines.
func (f *fileDiff) how() string {
	var words []string
	for _, c := range f.Changes {
		switch c {
		case git.New:
			c = "new"
		case git.Renamed, git.Copied:
			c += " from " + show.Clip(string(f.Old), 80)
		}
		words = append(words, c)
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, " ") + ")"
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
	slices.SortStableFunc(largest, func(a, b *fileDiff) int { return cmp.Compare(b.Added+b.Deleted, a.Added+a.Deleted) })
	rank := map[*fileDiff]int{}
	for i, f := range largest {
		rank[f] = i / 4
	}
	p := Part{Title: "files, each with its line", Total: r.more, Find: "the largest"}
	for _, f := range r.files {
		p.addf(f.at, rank[f], "+%s −%s %s%s", show.Count(f.Added), show.Count(f.Deleted), show.Clip(string(f.Path), 120), f.how())
	}
	d.Parts = append(d.Parts, p)
	for _, imports := range []bool{false, true} { // with which a new file begins
		for _, f := range largest[:min(len(largest), 20)] {
			if slices.Contains(f.Changes, git.New) == imports {
				d.Highlights = append(d.Highlights, f.lines...)
			}
		}
	}
}
