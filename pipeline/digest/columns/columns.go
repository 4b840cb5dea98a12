// Package columns finds the columns of tables made of blanks: ps, ls -l, kubectl get.
//
//	NAME     READY   STATUS             Find: READY begins at 9, STATUS at 17
//	web-1    1/1     Running            Cells: "web-1", "1/1", "Running"
//	api-22   0/1     CrashLoopBackOff
//
// A column ends where nearly all lines have a blank. Where wide cells push the rest of
// their line to the right, as ps does, cells are words, and the last one is what is left.
// Offsets are in characters.
package columns

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	maxLines   = 200 // that are not blank decide
	maxBytes   = 64 << 10
	maxWidth   = 600 // characters of a line that may hold where a column begins
	maxAbove   = 8   // lines that may stand above a table
	maxColumns = 60
	minLines   = 4 // of a table
)

// A Table says where the columns of a text are.
type Table struct {
	Names  []string // of the columns; made up if no line has them
	Header int      // the line that names the columns, from 0; -1 if there is none
	First  int      // the first line behind what stands above the rows
	starts []int    // where columns begin, the first at 0; nil: cells are words
}

// Find returns the table that text is, or nil. It needs three columns; and names in
// capitals, a rule below the names, or two columns of numbers: program text has gaps too.
func Find(text []byte) *Table {
	var lines []line
	n := -1
	for raw := range bytes.Lines(text[:min(len(text), maxBytes)]) {
		if n++; len(lines) == maxLines {
			break
		}
		raw = bytes.TrimRight(raw, " \r\n")
		if len(raw) > 0 {
			lines = append(lines, newLine(n, raw))
		}
	}
	if len(text) > maxBytes && len(lines) < maxLines && len(lines) > 0 {
		lines = lines[:len(lines)-1] // it is cut
	}
	for above := 0; above < maxAbove && above+minLines <= len(lines); above++ {
		if t := find(lines[above:]); t != nil {
			return t
		}
	}
	return nil
}

// A line is what a guess rests on.
type line struct {
	n    int
	text []byte
	wide []rune // text by characters, at most maxWidth
	rule bool   // nothing but - = + and blanks
}

func newLine(n int, text []byte) line {
	l := line{n: n, text: text, rule: len(bytes.Trim(text, "-=+ |")) == 0}
	for _, r := range string(text[:min(len(text), 4*maxWidth)]) {
		if len(l.wide) == maxWidth {
			break
		}
		l.wide = append(l.wide, r)
	}
	return l
}

// find reads lines as a table whose first line is the first of them.
func find(lines []line) *Table {
	if lines[0].rule || bytes.IndexByte(lines[0].text, '\t') >= 0 {
		return nil
	}
	t := &Table{Header: -1, First: lines[0].n}
	var rows []line
	ruled := false
	for i, l := range lines {
		if l.rule {
			if ruled = ruled || i == 1; i == 1 {
				t.First = l.n
			}
			continue
		}
		rows = append(rows, l)
	}
	if len(rows) < minLines {
		return nil
	}
	gaps := gutters(rows)
	names := bytes.Fields(rows[0].text)
	if by := t.words(names, rows[1:]); by > len(gaps)+1 && len(names) <= maxColumns {
		for _, name := range names {
			t.Names = append(t.Names, string(name))
		}
		t.Header, t.First = rows[0].n, rows[0].n+1
		return t
	}
	t.starts = []int{0}
	for _, g := range gaps {
		t.starts = append(t.starts, g+1)
	}
	if len(t.starts) > maxColumns {
		return nil
	}
	t.name(rows, ruled)
	if len(t.starts) < 3 || len(t.Names) != len(t.starts) || t.fits(rows) < 95*len(rows)/100 {
		return nil
	}
	if t.Header < 0 && t.numbers(rows) < 2 {
		return nil
	}
	return t
}

// gutters are offsets at which the first line and nearly all others have a blank, one
// between two columns.
func gutters(rows []line) (gaps []int) {
	blank, reach := make([]int, maxWidth), make([]int, maxWidth)
	for _, l := range rows {
		for i, r := range l.wide {
			reach[i]++
			if r == ' ' {
				blank[i]++
			}
		}
	}
	first := rows[0].wide
	best := -1 // of the run of blanks that is open
	for p := 1; p < maxWidth; p++ {
		isGap := 2*reach[p] >= len(rows) && 100*blank[p] >= 97*reach[p] && (p >= len(first) || first[p] == ' ')
		switch {
		case isGap && (best < 0 || blank[p]-reach[p] >= blank[best]-reach[best]):
			best = p
		case !isGap && best >= 0:
			if reach[p] > 0 && 2*reach[p] >= len(rows) {
				gaps = append(gaps, best)
			}
			best = -1
		}
	}
	if len(gaps) > 0 && blankTo(rows, gaps[0]) { // what all lines are indented by
		gaps = gaps[1:]
	}
	return gaps
}

func blankTo(rows []line, p int) bool {
	for _, l := range rows {
		if len(strings.TrimSpace(string(l.wide[:min(p, len(l.wide))]))) > 0 {
			return false
		}
	}
	return true
}

// words counts the columns if cells are words, named by names, or is 0: nearly all lines
// have as many, and two of the columns are numbers.
func (t *Table) words(names [][]byte, rows []line) int {
	if len(names) < 3 || !isName(string(bytes.Join(names, nil))) {
		return 0
	}
	enough := 0
	numbers := make([]int, len(names))
	for _, l := range rows {
		words := bytes.Fields(l.text)
		if len(words) < len(names) {
			continue
		}
		enough++
		for i := range names[:len(names)-1] {
			if IsNumber(string(words[i])) {
				numbers[i]++
			}
		}
	}
	if 100*enough < 97*len(rows) {
		return 0
	}
	columns := 0
	for _, n := range numbers {
		if n == enough {
			columns++
		}
	}
	if columns < 2 {
		return 0
	}
	return len(names)
}

// name gives the columns their names, from the first line if that has them. A column
// that has none there belongs to the one before it, and so does one that has nothing
// else, behind a name of two words: NOMINATED NODE above <none>.
func (t *Table) name(rows []line, ruled bool) {
	first := rows[0]
	cells, ok := t.Cells(first.text)
	if !ok || cells[len(cells)-1] == "" { // "total 12" above ls -l
		return
	}
	numbers, capitals := 0, 0
	for _, c := range cells {
		if IsNumber(c) {
			numbers++
		}
		if isName(c) {
			capitals++
		}
	}
	if numbers == 0 && (ruled || capitals == len(cells)) {
		t.Header = first.n
		t.First = max(t.First, first.n+1)
		starts := t.starts[:1]
		used := t.used(rows[1:])
		for i, c := range cells {
			at := t.starts[i]
			switch {
			case i == 0:
				t.Names = append(t.Names, c)
			case c != "" && (used[i] || at < 2 || first.wide[at-2] == ' '):
				t.Names = append(t.Names, c)
				starts = append(starts, at)
			case c != "":
				t.Names[len(t.Names)-1] += " " + c
			}
		}
		t.starts = starts
		return
	}
	if mode().MatchString(cells[0]) && len(cells) > 6 { // ls -l: the time is of three words
		t.starts = append(t.starts[:6], t.starts[min(8, len(t.starts)-1)])
		t.Names = []string{"mode", "links", "owner", "group", "size", "time", "name"}
		return
	}
	for i := range cells {
		t.Names = append(t.Names, "c"+strconv.Itoa(i+1))
	}
}

// used tells which columns have a cell in any row.
func (t *Table) used(rows []line) []bool {
	used := make([]bool, len(t.starts))
	for _, l := range rows {
		cells, _ := t.Cells(l.text)
		for i, c := range cells {
			used[i] = used[i] || c != ""
		}
	}
	return used
}

var mode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-dlbcps][-rwxsStT]{9}[.+@]?$`) })

// isName reports a name of a column, as programs write it: without small letters but
// behind a capital, as in "Mounted on", "Local Address" and "%MEM".
func isName(s string) bool {
	c := byte(0)
	if s = strings.TrimLeft(s, "%#+|/ "); s != "" {
		c = s[0]
	}
	return s == "" || c >= 'A' && c <= 'Z' && !strings.ContainsAny(s, "(){};=")
}

func (t *Table) fits(rows []line) int {
	n := 0
	for _, l := range rows {
		if _, ok := t.Cells(l.text); ok {
			n++
		}
	}
	return n
}

// numbers counts the columns of numbers.
func (t *Table) numbers(rows []line) int {
	counts := make([]int, len(t.Names))
	for _, l := range rows {
		cells, _ := t.Cells(l.text)
		for i, c := range cells {
			if IsNumber(c) {
				counts[i]++
			}
		}
	}
	n := 0
	for _, c := range counts {
		if 10*c >= 9*len(rows) {
			n++
		}
	}
	return n
}

// Cells splits a line. It reports false for one that is no row: too few words, or a
// word across the border of two columns.
func (t *Table) Cells(text []byte) ([]string, bool) {
	if t.starts == nil {
		return t.fields(text)
	}
	cells := make([]string, len(t.starts))
	column, from, at, ok := 0, 0, 0, true
	for i := 0; i <= len(text); at++ {
		if column+1 < len(t.starts) && at == t.starts[column+1] {
			border := border(text, from, i)
			ok = ok && border >= 0
			border = max(border, from)
			cells[column] = strings.TrimSpace(string(text[from:border]))
			column, from = column+1, border
		}
		if i == len(text) || column+1 == len(t.starts) {
			break
		}
		_, size := utf8.DecodeRune(text[i:])
		i += size
	}
	cells[column] = strings.TrimSpace(string(text[from:]))
	return cells, ok
}

// border is where the column that begins at i does in this line: before it, if its cell
// is a number wider than those that the guess rests on. It is -1 if no blank is there.
func border(text []byte, from, i int) int {
	if i == 0 || text[i-1] == ' ' {
		return i
	}
	start := bytes.LastIndexByte(text[from:i], ' ') + 1 + from
	word, _, _ := bytes.Cut(text[start:], []byte(" "))
	if start == from || !IsNumber(string(word[:min(len(word), 30)])) {
		return -1
	}
	return start
}

// fields is Cells where cells are words.
func (t *Table) fields(text []byte) ([]string, bool) {
	cells := make([]string, 0, len(t.Names))
	rest := strings.TrimSpace(string(text))
	for len(cells) < len(t.Names)-1 {
		end := strings.IndexByte(rest, ' ')
		if end < 0 {
			cells = append(cells, rest)
			return append(cells, make([]string, len(t.Names)-len(cells))...), false
		}
		cells = append(cells, rest[:end])
		rest = strings.TrimLeft(rest[end:], " ")
	}
	return append(cells, rest), true
}

// IsNumber reports a number, or one with % or the unit of a size: 12, 4.5%, 1.2G.
func IsNumber(s string) bool {
	_, ok := Number(s)
	return ok
}

// Number reads what IsNumber reports; 1K is 1024.
func Number(s string) (float64, bool) {
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return 0, false
	}
	unit := 1.0
	number := strings.TrimSuffix(strings.TrimSuffix(s, "B"), "i")
	switch last := len(number) - 1; {
	case last < 0:
		return 0, false
	case number == s && number[last] == '%':
		number = number[:last]
	default:
		if i := strings.IndexByte("KMGT", number[last]&^0x20); i >= 0 {
			unit = float64(int64(1) << (10 * (i + 1)))
			number = number[:last]
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	return f * unit, err == nil && !strings.ContainsAny(number, "xXnNiIpP_eE")
}
