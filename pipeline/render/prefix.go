package render

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/tokens"
)

const (
	// prefixFactor bounds what is tried: prefixes save a third of what is full of
	// URLs, hardly ever more than half.
	prefixFactor = 3
	maxPrefixes  = 30
	maxPrefix    = 1000 // bytes of one: a path may have a / at every second byte
	// markBytes is what a mark costs, and lineBytes what the line does that says what
	// it stands for, beside the prefix.
	markBytes, lineBytes = 4, 8
	// leastGain bytes are worth a line.
	leastGain = 24
)

// A prefixer finds what many strings of a document begin with: URLs and paths of files.
type prefixer struct {
	data    []byte // minified
	strings []prefixUse
	marks   [][]byte // in the order they are defined, as in the data
}

// A prefixUse is a string, and the mark that it is written with.
type prefixUse struct {
	start, end int // in data, without the quotes
	mark       int // 1 is the first; 0 is none
	covered    int // bytes that the mark stands for
}

// prefixed writes v, minified, with marks in place of what many strings begin with. A mark
// is a character that no string or key begins with, and a number. What it stands for ends before
// a / or with the string, so that a mark has no digit behind it.
func prefixed(v doc.Value, budget int) (form, bool) {
	if v.Kind == doc.Text || !tokens.AtMost(v.Data, prefixFactor*budget) {
		return form{}, false
	}
	p := prefixer{data: v.Data}
	mark, ok := p.find()
	if !ok {
		return form{}, false
	}
	for len(p.marks) < maxPrefixes {
		prefix := p.best()
		if prefix == nil {
			break
		}
		p.marks = append(p.marks, prefix)
		for i := range p.strings {
			if s := &p.strings[i]; s.covered < len(prefix) && p.begins(*s, prefix) {
				s.mark, s.covered = len(p.marks), len(prefix)
			}
		}
	}
	if len(p.marks) == 0 {
		return form{}, false
	}
	out := form{above: p.lines(mark), v: v}
	out.v.Data, out.v.Memo, out.v.Key = p.written(mark), nil, ""
	out.v.AddNote(fmt.Sprintf("a leading %cN stands for the text after %cN=", mark, mark))
	return out, true
}

// find lists the strings that may have a prefix, and chooses a mark. It reports false
// if there are too few of them, or each mark is taken.
func (p *prefixer) find() (mark byte, ok bool) {
	taken := map[byte]bool{}
	for i := 0; i < len(p.data); i++ {
		if p.data[i] != '"' {
			continue
		}
		end := jsonscan.SkipString(p.data, i)
		s := p.data[i+1 : end-1]
		if len(s) > 0 {
			taken[s[0]] = true
			isKey := end < len(p.data) && p.data[end] == ':'
			if !isKey && bytes.Count(s, []byte{'/'}) > 1 && len(s) >= leastGain/2 {
				p.strings = append(p.strings, prefixUse{start: i + 1, end: end - 1})
			}
		}
		i = end - 1
	}
	for _, mark := range []byte("~^@%") {
		if !taken[mark] {
			return mark, len(p.strings) > 2
		}
	}
	return 0, false
}

// best is the prefix that saves most, or nil if none is worth its line.
func (p *prefixer) best() []byte {
	gains := map[string]int{}
	for _, s := range p.strings {
		text := p.data[s.start:s.end]
		saved := -s.covered
		if s.mark == 0 {
			saved = -markBytes
		}
		for end := max(s.covered+1, 8); end <= min(len(text), maxPrefix); end++ {
			if end == len(text) || text[end] == '/' && text[end-1] != '/' && text[end-1] != ':' {
				gains[string(text[:end])] += end + saved
			}
		}
	}
	var best string
	most := 0
	for prefix, gain := range gains {
		gain -= len(prefix) + lineBytes
		if gain > most || gain == most && gain > 0 && prefix < best {
			best, most = prefix, gain
		}
	}
	if most < leastGain {
		return nil
	}
	return []byte(best)
}

// begins reports whether a string begins with a prefix, which ends where one may.
func (p *prefixer) begins(s prefixUse, prefix []byte) bool {
	rest, ok := bytes.CutPrefix(p.data[s.start:s.end], prefix)
	return ok && (len(rest) == 0 || rest[0] == '/')
}

// lines say what each mark stands for, by earlier lines where that is shorter.
func (p *prefixer) lines(mark byte) []byte {
	order := make([]int, len(p.marks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(p.marks[a]) - len(p.marks[b]) })
	var out []byte
	for n, i := range order {
		out = append(appendMark(out, mark, i+1), '=')
		prefix := p.marks[i]
		for _, shorter := range slices.Backward(order[:n]) {
			if rest, ok := bytes.CutPrefix(prefix, p.marks[shorter]); ok && len(rest) > 0 && rest[0] == '/' {
				out, prefix = appendMark(out, mark, shorter+1), rest
				break
			}
		}
		out = append(append(out, prefix...), '\n')
	}
	return out
}

// written is the data with marks.
func (p *prefixer) written(mark byte) []byte {
	out := make([]byte, 0, len(p.data))
	at := 0
	for _, s := range p.strings {
		if s.mark > 0 {
			out = appendMark(append(out, p.data[at:s.start]...), mark, s.mark)
			at = s.start + s.covered
		}
	}
	return append(out, p.data[at:]...)
}

func appendMark(dst []byte, mark byte, n int) []byte {
	return strconv.AppendInt(append(dst, mark), int64(n), 10)
}
