package digest

import (
	"bytes"
	"strings"
)

const (
	// maxTemplates of a log are told apart. Lines that are like none of them
	// are one more for each level.
	maxTemplates = 3000

	// maxMasked bytes of a line make its template.
	maxMasked = 300

	// sameWords of a hundred make two lines one template. Drain takes 50 and asks
	// for the same first words besides; with the masks before, fewer differ.
	sameWords = 60

	// maxNear templates are compared with a line.
	maxNear = 60
)

// wild stands for the words that differ from line to line.
const wild = "<*>"

// A template stands for lines that differ in numbers, names and quoted words.
type template struct {
	level level
	bad   bool // states no level but sounds like a failure
	words []string
	count int
	first Line
	trace []Line // of the first line: what a stack trace below it begins with
}

func (t *template) String() string { return strings.Join(t.words, " ") }

// templates groups lines as Drain does (He et al., ICWS 2017): those that are equal
// when masked, then those of the same length with most words in common.
type templates struct {
	list   []*template // in the order of their first lines
	masked map[string]*template
	near   map[group][]*template
	buf    []byte
}

// A group of templates whose lines may be merged.
type group struct {
	level level
	words int
	first string
}

// add counts a line with its message. A line with a status is not merged with
// similar ones, and the status is not masked.
func (ts *templates) add(l level, bad bool, line Line, message, status []byte) *template {
	ts.buf = append(mask(append(ts.buf[:0], byte(l)), message), status...)
	t := ts.masked[string(ts.buf)]
	if t == nil {
		t = ts.similar(l, bad, len(status) > 0, line)
		if len(ts.masked) < 2*maxTemplates {
			ts.masked[string(ts.buf)] = t
		}
	}
	t.count++
	return t
}

// similar is the template for the line in ts.buf, a new one if none is similar.
func (ts *templates) similar(l level, bad, exact bool, line Line) *template {
	words := strings.Fields(string(ts.buf[1:]))
	if len(ts.list) >= maxTemplates {
		words = []string{wild}
	}
	g := group{level: l, words: len(words)}
	if len(words) > 0 {
		g.first = words[0]
	}
	var best *template
	most := 0
	for _, t := range ts.near[g] {
		if n := t.common(words); n > most {
			best, most = t, n
		}
	}
	if best != nil && (100*most >= sameWords*len(words) && len(words) > 2 && !exact || most == len(words)) {
		best.bad = best.bad || bad
		for i, w := range words {
			if best.words[i] != w {
				best.words[i] = wild
			}
		}
		return best
	}
	t := &template{level: l, bad: bad, words: words, first: line}
	ts.list = append(ts.list, t)
	if len(ts.near[g]) < maxNear {
		ts.near[g] = append(ts.near[g], t)
	}
	return t
}

// common counts the words that are the same, of as many as t has.
func (t *template) common(words []string) int {
	n := 0
	for i, w := range words {
		n += btoi(t.words[i] == w)
	}
	return n
}

// mask appends line with <*> for what differs from line to line: numbers, words
// with digits such as ids and hashes, and quoted words that are values.
func mask(dst, line []byte) []byte {
	line = bytes.TrimRight(head(line, maxMasked), " \t")
	for i := 0; i < len(line); {
		c := line[i]
		switch {
		case isWord(c):
			word := wordAt(line[i:])
			dst = maskWord(dst, word)
			i += len(word)
		case c == '"' && isQuotedValue(line, i):
			dst = append(append(append(dst, '"'), wild...), '"')
			i += 2 + bytes.IndexByte(line[i+1:], '"')
		case c == 0x1b:
			i = max(skipColour(line, i), i+1)
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// maskWord masks a word that is a number or an id, and the numbers in others:
// 12ms is <*>ms, worker3 is worker<*>.
func maskWord(dst, word []byte) []byte {
	digits, hex := 0, 0
	for i, c := range word {
		digits += btoi(isDigit(c))
		hex += btoi(isHex(c) || c == 'x' && i == 1)
	}
	switch {
	case digits == 0:
		return append(dst, word...)
	case digits == len(word), 4*digits >= len(word) && len(word) > 5, hex == len(word) && len(word) > 2:
		return appendWild(dst)
	}
	for i, c := range word {
		if !isDigit(c) {
			dst = append(dst, c)
		} else if i == 0 || !isDigit(word[i-1]) {
			dst = appendWild(dst)
		}
	}
	return dst
}

// appendWild puts one mask for numbers with punctuation between them.
func appendWild(dst []byte) []byte {
	if n := len(dst) - 1; n >= len(wild) && isOneOf(dst[n], ".:-/,+T") && bytes.HasSuffix(dst[:n], []byte(wild)) {
		return dst[:n]
	}
	return append(dst, wild...)
}

// isQuotedValue reports a quote at i that is closed and holds a value. A message,
// a request such as "GET /x" and what is not a value are masked as if they had no quotes.
func isQuotedValue(line []byte, i int) bool {
	rest := line[i+1:]
	if bytes.IndexByte(rest, '"') < 0 {
		return false
	}
	if i > 0 && line[i-1] == '=' {
		for _, key := range []string{"msg=", "message=", "error=", "err=", "event="} {
			if bytes.HasSuffix(line[:i], []byte(key)) {
				return false
			}
		}
		return true
	}
	return !fits(rest, 0, "AAA") && (i == 0 || isOneOf(line[i-1], " \t"))
}
