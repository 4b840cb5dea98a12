package digest

import (
	"bytes"
	"strings"
)

const maxColumns = 500 // of a table

func isCSV(s *sample) bool {
	sep, _ := Columns(s.data)
	return sep != 0 && sep != '\t'
}

func isTSV(s *sample) bool {
	sep, _ := Columns(s.data)
	return sep == '\t'
}

// Columns returns what separates the cells of a table, and the cells of its first
// line; the separator is 0 if data is no table. The lines must have the same
// number of cells, one in fifty excepted, and one in five that is short. Quoted cells may
// hold line ends.
//
// Other kinds of text can look like one: ask [Kind] too.
func Columns(data []byte) (sep byte, header []string) {
	for _, sep := range []byte{'\t', ',', ';', '|'} {
		cells, lines, odd, short, rules := 0, 0, 0, 0, 0
		var first []byte
		for line := range tableLines(data) {
			n := len(splitCells(line, sep))
			if lines++; lines == 1 {
				cells, first = n, line
			}
			odd += btoi(n != cells)
			short += btoi(n < cells && cells > 2)
			rules += btoi(lines == 2 && sep == '|' && tableRule().Match(line)) // of Markdown
		}
		if lines > 2 && (50*odd <= lines || 50*(odd-short) <= lines && 5*short <= lines) && rules == 0 && cells > 1 && cells <= maxColumns && isHeader(first, sep, cells) {
			for _, cell := range splitCells(first, sep) {
				header = append(header, strings.Trim(string(cell), "\" "))
			}
			return sep, header
		}
	}
	return 0, nil
}

// tableLines yields the lines that are not blank on which a guess rests, whole
// ones if there is any.
func tableLines(data []byte) func(yield func([]byte) bool) {
	if len(data) > sampleBytes {
		data = data[:sampleBytes]
		if i := bytes.LastIndexByte(data, '\n'); i > 0 {
			data = data[:i]
		}
	}
	return func(yield func([]byte) bool) {
		n := 0
		for rest := data; len(rest) > 0; {
			end := rowEnd(rest)
			line := rest[:end]
			if rest = rest[end:]; !notBlank(line) {
				continue
			}
			if n++; n > sampleLines || !yield(bytes.TrimRight(line, "\r\n")) {
				return
			}
		}
	}
}

// rowEnd is the end of the first line of data, or of the last one that a quoted cell of
// it goes on to. A quote that is not closed soon is none.
func rowEnd(data []byte) int {
	const most = 100 // lines of a row
	first, lines, quoted := len(data), 0, false
	for i, before := 0, byte('\n'); i < len(data); i++ {
		c := data[i]
		switch {
		case c == '\n' && !quoted:
			return i + 1
		case c == '\n':
			if lines++; lines == 1 {
				first = i + 1
			}
			if lines == most {
				return first
			}
		case c == '"' && (quoted || isOneOf(before, "\n,;\t|")):
			quoted = !quoted // a doubled one opens again
			c = ','
		}
		before = c
	}
	if quoted {
		return first
	}
	return len(data)
}

// isHeader rejects what has as many separators on each line and is no table:
// sentences, statements, logs with a comma before the fraction.
func isHeader(line []byte, sep byte, cells int) bool {
	if cells > 3 && sep != '|' {
		return true
	}
	from, to, ok := timestamp(line)
	if ok && (sep == ',' && cells == 2 && bytes.IndexByte(line[from:to], ',') > 0 || sep == '|' && byteAt(line, to) == ' ') {
		return false
	}
	if isOneOf(lastByte(bytes.TrimSpace(line)), ".!?{;,") {
		return false
	}
	for _, cell := range splitCells(line, sep) {
		if bytes.Count(bytes.TrimSpace(cell), []byte(" ")) > 4 {
			return false
		}
	}
	return true
}

// splitCells splits at sep outside of double quotes.
func splitCells(line []byte, sep byte) [][]byte {
	var cells [][]byte
	quoted, start := false, 0
	for i, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case c == sep && !quoted:
			cells = append(cells, line[start:i])
			start = i + 1
		}
	}
	return append(cells, line[start:])
}
