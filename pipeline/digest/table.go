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
// number of cells, one in fifty excepted: quoted cells may hold line ends.
//
// Other kinds of text can look like one: ask [Kind] too.
func Columns(data []byte) (sep byte, header []string) {
	for _, sep := range []byte{'\t', ',', ';', '|'} {
		cells, lines, odd, rules := 0, 0, 0, 0
		var first []byte
		for line := range tableLines(data) {
			n := len(splitCells(line, sep))
			if lines++; lines == 1 {
				cells, first = n, line
			}
			odd += btoi(n != cells)
			rules += btoi(lines == 2 && sep == '|' && tableRule().Match(line)) // of Markdown
		}
		if lines > 2 && 50*odd <= lines && rules == 0 && cells > 1 && cells <= maxColumns && isHeader(first, sep, cells) {
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
		for line := range bytes.Lines(data) {
			if !notBlank(line) {
				continue
			}
			if n++; n > sampleLines || !yield(bytes.TrimRight(line, "\r\n")) {
				return
			}
		}
	}
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
