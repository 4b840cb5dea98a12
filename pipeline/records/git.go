package records

import (
	"bytes"
	"context"
	"strconv"
	"strings"
)

// What git and diff print is read line by line:
//
//	git log, git show   a commit each: hash, refs, merge, author, email, date, subject, body, files
//	a diff              a file each: path, old_path, status, added, deleted, hunks of header and lines
//
// The files of a commit are those of its patch, of --name-status or --numstat, or of
// --stat, which shortens paths. added and deleted count the lines of hunks; in a combined
// diff of a merge those that no parent has, and those that some parent had.

// A fileChange is what a commit or a diff does to a file.
type fileChange struct {
	path, oldPath  []byte
	status         string // or empty: modified
	added, deleted int
	counted        bool // added and deleted are known
	hunks          []hunk
}

// leastPart is what a file or a hunk takes in the records, at least.
const leastPart = 24

type hunk struct{ header, lines []byte }

type commit struct {
	hash, refs, merge, author, date, subject, body []byte
	files                                          []*fileChange
}

type gitReader struct {
	*writer
	text   []byte
	log    bool
	at     int // of the line that is read
	commit *commit
	file   *fileChange // the last one of a patch
	left   []int       // lines left in the hunk, of each old file and the new one
	from   int         // where the lines of the hunk begin
	odd    int         // lines that are none of git's
	parts  int         // files and hunks that are not written yet
}

// readGit reads a text that begins with a commit, or a diff.
func readGit(ctx context.Context, text []byte) (*Records, error) {
	g := &gitReader{writer: newWriter(ctx, len(text)), text: text, log: isCommit(text)}
	if g.log {
		g.commit = &commit{}
	}
	lines := 0
	for line := range bytes.Lines(text) {
		bare := bytes.TrimRight(line, "\r\n")
		if !g.inHunk(bare) {
			g.endHunk()
			if !g.outside(bare) && len(bare) > 0 {
				g.odd++
			}
		}
		lines++
		g.at += len(line)
		if !g.ok() || g.odd > 20 && 20*g.odd > lines || len(g.out)+leastPart*g.parts > g.limit {
			break
		}
	}
	g.endHunk()
	if g.at == len(text) {
		g.endFiles()
	}
	if 20*g.odd > lines || g.at < len(text) {
		return nil, g.err
	}
	if g.log {
		return g.records("git log")
	}
	return g.records("diff")
}

// isCommit reports that text begins with a commit as git log prints it.
func isCommit(text []byte) bool {
	hash, ok := bytes.CutPrefix(text[:min(len(text), 80)], []byte("commit "))
	return ok && hexDigits(hash) >= 40
}

func hexDigits(s []byte) int {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'f') {
		n++
	}
	return n
}

// inHunk reads a line of the hunk that is open, as the counts in its header have it.
func (g *gitReader) inHunk(line []byte) bool {
	parents := len(g.left) - 1
	some := false
	for _, n := range g.left {
		some = some || n > 0
	}
	if !some {
		return parents > 0 && bytes.HasPrefix(line, []byte(`\ `))
	}
	if len(line) > 0 && line[0] == '\\' {
		return true
	}
	var marks []byte
	if len(line) > 0 { // a blank line has lost its blank
		if len(line) < parents {
			return false
		}
		marks = line[:parents]
	}
	added, deleted := bytes.IndexByte(marks, '+') >= 0, bytes.IndexByte(marks, '-') >= 0
	for i := range parents {
		switch mark := byteAt(marks, i); {
		case mark != 0 && mark != ' ' && mark != '+' && mark != '-' && mark != '\t':
			return false
		case mark == '-', mark != '+' && !deleted:
			g.left[i]--
		}
	}
	if !deleted {
		g.left[parents]--
	}
	if added {
		g.file.added++
	} else if deleted {
		g.file.deleted++
	}
	return true
}

func byteAt(s []byte, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// endHunk keeps the lines of the hunk that was open.
func (g *gitReader) endHunk() {
	if g.left != nil {
		h := &g.file.hunks[len(g.file.hunks)-1]
		h.lines = g.text[g.from:g.at]
		g.left = nil
	}
}

// extended are the lines in the head of a file that tell its status.
var extended = []struct{ prefix, status string }{
	{"new file mode ", "added"}, {"deleted file mode ", "deleted"}, {"rename to ", "renamed"}, {"copy to ", "copied"},
	{"Binary files ", "binary"}, {"GIT binary patch", "binary"}, {"rename from ", ""}, {"copy from ", ""},
	{"index ", ""}, {"mode ", ""}, {"old mode ", ""}, {"new mode ", ""}, {"similarity index ", ""}, {"dissimilarity index ", ""},
	{"Only in ", ""}, {"Index: ", ""}, {"====", ""},
}

// outside reads a line that is in no hunk, and reports whether it is one of git's.
func (g *gitReader) outside(line []byte) bool {
	s := string(line[:min(len(line), 1000)])
	f := g.file
	switch {
	case g.log && isCommit(line):
		g.endFiles()
		rest := line[len("commit "):]
		n := hexDigits(rest)
		g.commit.hash, g.commit.refs = rest[:n], bytes.Trim(rest[n:], " ()")
	case strings.HasPrefix(s, "diff --git "), strings.HasPrefix(s, "diff --cc "), strings.HasPrefix(s, "diff --combined "):
		f = g.start()
		name := strings.TrimSpace(s[strings.IndexByte(s[5:], ' ')+6:])
		if i := strings.LastIndex(name, " b/"); i >= 0 && s[7] == 'g' {
			name = name[i+3:]
		}
		f.path = []byte(strings.Trim(name, `"`))
	case strings.HasPrefix(s, "diff -") && !g.log:
	case strings.HasPrefix(s, "--- ") && (f == nil || len(f.hunks) > 0 || f.path != nil && f.oldPath == nil):
		if f == nil || len(f.hunks) > 0 {
			f = g.start()
		}
		f.named(&f.oldPath, line)
		if string(f.oldPath) == "/dev/null" {
			f.status = "added"
		}
	case strings.HasPrefix(s, "+++ ") && f != nil && len(f.hunks) == 0:
		var path []byte
		if f.named(&path, line); string(path) == "/dev/null" {
			f.status, path = "deleted", f.oldPath
		}
		f.path = path
	case strings.HasPrefix(s, "@@") && f != nil && g.hunk(line):
	case f == nil && g.log && g.message(line, s):
	default:
		for _, e := range extended {
			if !strings.HasPrefix(s, e.prefix) {
				continue
			}
			if f == nil {
				return !g.log
			}
			if e.status != "" {
				f.status = e.status
			}
			if e.prefix == "rename from " || e.prefix == "copy from " {
				f.oldPath = line[len(e.prefix):]
			}
			return true
		}
		return f != nil && f.status == "binary" || len(line) == 0 || line[0] == '\\'
	}
	return true
}

// start begins a file. Names are cut out of its head.
func (g *gitReader) start() *fileChange {
	if !g.log {
		g.endFiles()
	}
	if g.commit == nil {
		g.commit = &commit{}
	}
	if g.file == nil { // of --stat and --name-status above the patch
		g.commit.files = nil
	}
	g.file = &fileChange{counted: true}
	g.parts++
	g.commit.files = append(g.commit.files, g.file)
	return g.file
}

// named takes the name out of a line "--- a/x", behind which may be a time.
func (f *fileChange) named(name *[]byte, line []byte) {
	path, _, _ := bytes.Cut(line[len("--- "):], []byte("\t"))
	path = bytes.Trim(path, `"`)
	if bytes.HasPrefix(path, []byte("a/")) || bytes.HasPrefix(path, []byte("b/")) {
		path = path[2:]
	}
	*name = path
}

// hunk reads the header of one, @@ -1,2 +3,4 @@ of two files, and of n more @ each.
func (g *gitReader) hunk(line []byte) bool {
	at := len(line) - len(bytes.TrimLeft(line, "@"))
	if at > 100 {
		return false
	}
	ranges, _, ok := bytes.Cut(line[at:], line[:at])
	fields := bytes.Fields(ranges)
	if !ok || len(fields) != at {
		return false
	}
	var left []int
	for i, f := range fields {
		if mark := f[0]; mark != '-' && (i < at-1 || mark != '+') {
			return false
		}
		start, count, has := strings.Cut(string(f[1:]), ",")
		if _, err := strconv.Atoi(start); err != nil {
			return false
		}
		n := 1
		if has {
			var err error
			if n, err = strconv.Atoi(count); err != nil || n < 0 {
				return false
			}
		}
		left = append(left, n)
	}
	g.left, g.from = left, g.at+len(line)
	g.from += bytes.IndexByte(g.text[g.from:], '\n') + 1
	g.file.hunks = append(g.file.hunks, hunk{header: line})
	g.parts++
	return true
}

// message reads a line of a commit above its patch.
func (g *gitReader) message(line []byte, s string) bool {
	c := g.commit
	if text, ok := bytes.CutPrefix(line, []byte("    ")); ok {
		if c.subject == nil {
			c.subject = text
		} else {
			c.body = append(append(c.body, text...), '\n')
		}
		return true
	}
	for _, h := range []struct {
		name  string
		value *[]byte
	}{{"Author: ", &c.author}, {"Date: ", &c.date}, {"AuthorDate: ", &c.date}, {"Merge: ", &c.merge}, {"Commit: ", nil}, {"CommitDate: ", nil}} {
		if c.subject == nil && strings.HasPrefix(s, h.name) {
			if h.value != nil {
				*h.value = bytes.TrimSpace(line[len(h.name):])
			}
			return true
		}
	}
	return len(line) == 0 || g.listed(line, s)
}

// letters are the statuses of --name-status.
var letters = map[byte]string{'A': "added", 'D': "deleted", 'M': "modified", 'R': "renamed", 'C': "copied", 'T': "type changed"}

// listed reads a line of --name-status, --numstat or --stat.
func (g *gitReader) listed(line []byte, s string) bool {
	if len(g.commit.files) > 0 || g.commit.subject != nil {
		if cells := bytes.Split(line, []byte("\t")); len(cells) > 1 {
			f := &fileChange{path: cells[len(cells)-1]}
			if added, err := strconv.Atoi(string(cells[0])); err == nil || string(cells[0]) == "-" {
				f.added, f.counted = added, err == nil
				f.deleted, _ = strconv.Atoi(string(cells[1]))
			} else if f.status = letters[byteAt(cells[0], 0)]; f.status == "" {
				return false
			} else if len(cells) == 3 {
				f.oldPath = cells[1]
			}
			g.commit.files = append(g.commit.files, f)
			g.parts++
			return true
		}
		path, change, ok := bytes.Cut(line, []byte(" | "))
		if ok && line[0] == ' ' {
			f := &fileChange{path: bytes.TrimSpace(path)}
			change = bytes.TrimSpace(change)
			n, marks, _ := strings.Cut(string(change), " ")
			total, err := strconv.Atoi(n)
			plus, minus := strings.Count(marks, "+"), strings.Count(marks, "-")
			switch {
			case n == "Bin":
				f.status = "binary"
			case err != nil:
				return false
			case plus+minus == total: // else the marks are scaled
				f.added, f.deleted, f.counted = plus, minus, true
			}
			g.commit.files = append(g.commit.files, f)
			g.parts++
			return true
		}
	}
	return strings.Contains(s, " changed") && line[0] == ' '
}

// endFiles writes the commit, or of a diff the file, that was open.
func (g *gitReader) endFiles() {
	c := g.commit
	if c == nil || g.log && c.hash == nil {
		return
	}
	if g.log {
		g.open()
		g.writer.text("hash", c.hash)
		g.writer.text("refs", c.refs)
		g.writer.text("merge", c.merge)
		author, email, _ := bytes.Cut(c.author, []byte(" <"))
		g.writer.text("author", author)
		g.writer.text("email", bytes.TrimSuffix(email, []byte(">")))
		g.writer.text("date", c.date)
		g.writer.text("subject", c.subject)
		g.writer.text("body", bytes.TrimSpace(c.body))
		if len(c.files) > 0 {
			g.key("files")
			g.out = append(g.out, '[')
			for i, f := range c.files {
				if i > 0 {
					g.out = append(g.out, ',')
				}
				f.write(g.writer)
			}
			g.out = append(g.out, ']')
		}
		g.close()
	} else {
		for _, f := range c.files {
			f.write(g.writer)
			g.out = append(g.out, '\n')
			g.n++
		}
	}
	g.commit, g.file, g.parts = &commit{}, nil, 0
}

func (f *fileChange) write(w *writer) {
	w.open()
	w.text("path", f.path)
	if f.oldPath != nil && string(f.oldPath) != string(f.path) && string(f.oldPath) != "/dev/null" {
		w.text("old_path", f.oldPath)
	}
	status := f.status
	if status == "" {
		status = "modified"
	}
	w.text("status", []byte(status))
	if f.counted {
		w.number("added", f.added)
		w.number("deleted", f.deleted)
	}
	if len(f.hunks) > 0 {
		w.key("hunks")
		w.out = append(w.out, '[')
		for i, h := range f.hunks {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.open()
			w.text("header", h.header)
			w.text("lines", bytes.TrimRight(h.lines, "\r\n"))
			w.out = append(w.out, '}')
		}
		w.out = append(w.out, ']')
	}
	w.out = append(w.out, '}')
}
