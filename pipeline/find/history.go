package find

import (
	"bytes"
	"fmt"
	"strings"

	"rlmproxy/pipeline/digest"
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
	text     []byte
	at       int // what is before has been read
	headed   int // where the head of the commit ends, its subject included
	isCommit func(line []byte) bool
	commit   string // "commit HASH · author · date · subject", or ""
	file     string // or ""
}

// historyOf returns nil for a text that is neither.
func historyOf(w *view) *history {
	if w.kind != "diff" && w.kind != "git log" {
		return nil
	}
	return &history{text: w.text, isCommit: digest.Entry("git log")}
}

// to reads on to pos, which is the end of a line and not before the last one.
func (h *history) to(pos int) {
	for h.at < pos {
		end := pos
		if n := bytes.IndexByte(h.text[h.at:pos], '\n'); n >= 0 {
			end = h.at + n
		}
		if line := h.text[h.at:end]; len(line) > 0 {
			switch c := line[0]; {
			case (c == 'c' || c == 'F') && h.isCommit(line):
				h.read(h.at)
			case c == 'd' && bytes.HasPrefix(line, []byte("diff --")):
				h.file = changed(line)
			case c == '+' && bytes.HasPrefix(line, []byte("+++ ")) && h.file == "":
				h.file = string(bytes.TrimPrefix(bytes.TrimRight(line[4:], "\r\t "), []byte("b/")))
			}
		}
		h.at = end + 1
	}
}

// changed is the file that a line "diff --git a/x b/x" or "diff --cc x" names.
func changed(line []byte) string {
	name := string(bytes.TrimSpace(line))
	if i := strings.LastIndex(name, " b/"); i > 0 {
		return name[i+len(" b/"):]
	}
	return name[strings.LastIndexByte(name, ' ')+1:]
}

// read reads the head of the commit that begins at start.
func (h *history) read(start int) {
	head := h.text[start:min(len(h.text), start+maxHeader)]
	var hash, author, date, subject string
	at, inside := 0, false // inside: behind the blank line that ends the head
	for line := range bytes.Lines(head) {
		at += len(line)
		text := show.Clip(show.Printable(bytes.TrimSpace(line)), maxName)
		key, value, _ := strings.Cut(text, " ")
		value = strings.TrimSpace(value)
		switch {
		case hash == "":
			hash = value[:min(len(value), hashDigits)]
		case text == "" && !inside:
			inside = true
		case inside && text != "":
			subject = text
		case key == "Author:", key == "From:":
			author = value
		case key == "Date:":
			date = value
		case key == "Subject:":
			subject = value
		}
		if subject != "" {
			break
		}
	}
	h.headed, h.file = start+at, ""
	h.commit = "commit " + hash
	for _, part := range []string{author, date, subject} {
		if part != "" {
			h.commit += " · " + part
		}
	}
}

// lead is what stands above a hit: its commit and file, as far as they are not those of
// before. A line that names its file has it itself.
func (h *history) lead(before history, line []byte) string {
	out := ""
	if h.commit != before.commit {
		out = h.commit + "\n"
	}
	if h.file != "" && (out != "" || h.file != before.file) && !bytes.HasPrefix(line, []byte("diff --")) {
		out += fmt.Sprintf("in %s\n", show.Clip(show.Printable(h.file), maxName))
	}
	return out
}
