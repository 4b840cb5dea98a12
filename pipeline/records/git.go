package records

import (
	"bytes"
	"context"

	"rlmproxy/pipeline/digest/git"
)

// What git and diff print becomes:
//
//	git log, git show   a commit each: hash, refs, merge, author, email, date, subject, body, files
//	a diff              a file each: path, old_path, status, added, deleted, hunks of header and lines
//
// The files of a commit are those of its patch, or else those listed. added and deleted
// count the lines of hunks; in a combined diff of a merge those that no parent has, and
// those that some parent had.

type fileChange struct {
	*git.File
	hunks []hunk
}

// leastPart is what a file or a hunk takes in the records, at least.
const leastPart = 24

type hunk struct{ header, lines []byte }

type gitReader struct {
	*writer
	git    git.Reader
	data   []byte
	log    bool
	commit *git.Commit // of a log: the one that is read
	body   []byte      // of its message
	files  []*fileChange
	patch  bool // files are those of a patch
	parts  int  // files and hunks that are not written yet
	from   int  // where the lines of the hunk begin that is open; 0 for none
}

// readGit reads a text that begins with a commit, or a diff.
func readGit(ctx context.Context, text []byte) (*Records, error) {
	g := &gitReader{writer: newWriter(ctx, len(text)), data: text, log: isCommit(text)}
	lines, odd, at := 0, 0, 0
	for line := range bytes.Lines(text) {
		if !g.line(at, len(line), bytes.TrimRight(line, "\r\n")) {
			odd++
		}
		lines++
		at += len(line)
		if !g.ok() || odd > 20 && 20*odd > lines || len(g.out)+leastPart*g.parts > g.limit {
			break
		}
	}
	g.endHunk(at)
	if at == len(text) {
		g.endFiles()
	}
	if 20*odd > lines || at < len(text) {
		return nil, g.err
	}
	if g.log {
		return g.records("git log")
	}
	return g.records("diff")
}

// isCommit reports that text begins with a commit as git log prints it.
func isCommit(text []byte) bool {
	return bytes.HasPrefix(text, []byte("commit ")) && git.IsCommit(text[:min(len(text), 80)])
}

// line reads a line that stands at an offset, and reports whether it is one of git's.
func (g *gitReader) line(at, size int, line []byte) bool {
	kind := g.git.Read(line)
	if kind < git.Context {
		g.endHunk(at)
	}
	switch kind {
	case git.CommitLine:
		if g.log {
			g.endFiles()
			g.commit = g.git.Commit
		}
	case git.Message:
		g.body = append(append(g.body, line[len("    "):]...), '\n')
	case git.ListedFile:
		g.files = append(g.files, &fileChange{File: g.git.Listed})
		g.parts++
	case git.FileLine:
		g.start()
	case git.Hunk:
		if !g.patch || g.files[len(g.files)-1].File != g.git.File {
			g.start()
		}
		f := g.files[len(g.files)-1]
		f.hunks = append(f.hunks, hunk{header: line})
		g.parts++
		g.from = at + size
	}
	inMail := !g.log && g.git.Commit != nil && g.git.File == nil
	return len(line) == 0 || kind != git.Other && !inMail
}

// start begins a file of a patch, which has the files listed above it too.
func (g *gitReader) start() {
	if !g.log {
		g.endFiles()
	}
	if !g.patch {
		g.files, g.patch = nil, true
	}
	g.files = append(g.files, &fileChange{File: g.git.File})
	g.parts++
}

// endHunk keeps the lines of the hunk that was open, which end before at.
func (g *gitReader) endHunk(at int) {
	if g.from > 0 {
		hunks := g.files[len(g.files)-1].hunks
		hunks[len(hunks)-1].lines = g.data[g.from:at]
		g.from = 0
	}
}

// endFiles writes the commit, or of a diff the file, that was open.
func (g *gitReader) endFiles() {
	if c := g.commit; c != nil {
		g.open()
		g.text("hash", c.Hash)
		g.text("refs", c.Refs)
		g.text("merge", c.Merge)
		author, email, _ := bytes.Cut(c.Author, []byte(" <"))
		g.text("author", author)
		g.text("email", bytes.TrimSuffix(email, []byte(">")))
		g.text("date", c.Date)
		g.text("subject", c.Subject)
		g.text("body", bytes.TrimSpace(g.body))
		if len(g.files) > 0 {
			g.key("files")
			g.list(len(g.files), func(i int) { g.files[i].write(g.writer) })
		}
		g.close()
	} else if !g.log {
		for _, f := range g.files {
			f.write(g.writer)
			g.out = append(g.out, '\n')
			g.n++
		}
	}
	g.body, g.files, g.patch, g.parts = nil, nil, false, 0
}

func (f *fileChange) write(w *writer) {
	w.open()
	w.text("path", f.Path)
	if !bytes.Equal(f.Old, f.Path) && string(f.Old) != "/dev/null" {
		w.text("old_path", f.Old)
	}
	w.text("status", []byte(f.Status()))
	if f.Counted {
		w.number("added", f.Added)
		w.number("deleted", f.Deleted)
	}
	if len(f.hunks) > 0 {
		w.key("hunks")
		w.list(len(f.hunks), func(i int) {
			w.open()
			w.text("header", f.hunks[i].header)
			w.text("lines", bytes.TrimRight(f.hunks[i].lines, "\r\n"))
			w.out = append(w.out, '}')
		})
	}
	w.out = append(w.out, '}')
}
