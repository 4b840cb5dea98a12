package find

import (
	"bytes"
	"fmt"

	"rlmproxy/pipeline/digest/git"
	"rlmproxy/pipeline/show"
)

const (
	hashDigits = 12      // of a commit: git takes them for the whole
	maxHeader  = 2 << 10 // bytes of a commit's head that are read for its subject
	maxName    = 200     // runes of a subject or a file's name
)

// A history tells in which commit and file of a diff or a log of commits something
// stands. It reads the text once, in order.
type history struct {
	text   []byte
	at     int // what is before has been read
	headed int // where the head of the commit ends, its subject included
	git    git.Reader
	commit string   // "commit HASH · author · date · subject", or ""
	file   string   // or ""
	line   git.Line // what the last line is
}

// historyOf returns nil for a text that is neither.
func historyOf(w *view) *history {
	if w.kind != "diff" && w.kind != "git log" {
		return nil
	}
	return &history{text: w.text}
}

// to reads on to pos, which is the end of a line and not before the last one.
func (h *history) to(pos int) {
	for h.at < pos {
		end := pos
		if n := bytes.IndexByte(h.text[h.at:pos], '\n'); n >= 0 {
			end = h.at + n
		}
		if h.line = h.git.Read(bytes.TrimRight(h.text[h.at:end], "\r")); h.line == git.CommitLine {
			h.read(h.at)
		}
		h.at = end + 1
	}
	h.file = ""
	if h.git.File != nil {
		h.file = string(h.git.File.Path)
	}
}

// read reads the head of the commit that begins at start.
func (h *history) read(start int) {
	var head git.Reader
	h.headed = start
	for line := range bytes.Lines(h.text[start:min(len(h.text), start+maxHeader)]) {
		kind := head.Read(bytes.TrimRight(line, "\r\n"))
		if kind == git.FileLine || kind == git.CommitLine && h.headed > start {
			break
		}
		if h.headed += len(line); kind == git.Subject {
			break
		}
	}
	c := head.Commit
	h.commit = "commit " + string(c.Hash[:min(len(c.Hash), hashDigits)])
	for _, part := range [][]byte{c.Author, c.Date, c.Subject} {
		if len(part) > 0 {
			h.commit += " · " + show.Clip(show.Printable(part), maxName)
		}
	}
}

// lead is what stands above a hit: its commit and file, as far as they are not those of
// before. A line that names its file has it itself.
func (h *history) lead(before history) string {
	out := ""
	if h.commit != before.commit {
		out = h.commit + "\n"
	}
	if h.file != "" && (out != "" || h.file != before.file) && h.line != git.FileLine {
		out += fmt.Sprintf("in %s\n", show.Clip(show.Printable(h.file), maxName))
	}
	return out
}
