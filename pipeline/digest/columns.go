package digest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"rlmproxy/pipeline/show"
)

const (
	// sniffLines decide what a text is; sniffBytes bound them.
	sniffLines = 200
	sniffBytes = 64 << 10
)

// firstLines yields the non-blank lines that a guess rests on, whole ones if
// there is any.
func firstLines(data []byte) func(func([]byte) bool) {
	if len(data) > sniffBytes {
		data = data[:sniffBytes]
		if i := bytes.LastIndexByte(data, '\n'); i > 0 {
			data = data[:i]
		}
	}
	return func(yield func([]byte) bool) {
		n := 0
		for line := range bytes.Lines(data) {
			line = bytes.TrimRight(line, "\r\n")
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			if n++; n > sniffLines || !yield(line) {
				return
			}
		}
	}
}

// Columns returns what separates the cells of a table, and the cells of its first
// line; the separator is 0 if data is no table. The lines must have the same
// number of cells, one in fifty excepted: quoted cells may hold line ends.
//
// Other kinds of text can look like one: ask [Kind] too.
func Columns(data []byte) (sep byte, header []string) {
	for _, sep := range []byte{'\t', ',', ';', '|'} {
		n, lines, odd := 0, 0, 0
		var head []byte
		for line := range firstLines(data) {
			cells := countCells(line, sep)
			if lines++; lines == 1 {
				n, head = cells, line
			} else if cells != n {
				odd++
			}
		}
		if 50*odd <= lines && lines > 2 && n > 1 && n <= 500 && isHeader(head, sep, n) && !(sep == '|' && ruled(data)) {
			for _, cell := range splitCells(head, sep) {
				header = append(header, strings.Trim(string(cell), "\" "))
			}
			return sep, header
		}
	}
	return 0, nil
}

// isHeader rejects what has as many separators on each line and is no table:
// sentences, statements, logs with a comma before the fraction.
func isHeader(line []byte, sep byte, n int) bool {
	if n > 3 && sep != '|' {
		return true
	}
	t := bytes.TrimSpace(line)
	if from, to, ok := stamp(line); ok && (sep == ',' && bytes.IndexByte(line[from:to], ',') > 0 && n == 2 || sep == '|' && line[min(to, len(line)-1)] == ' ') {
		return false
	}
	switch t[len(t)-1] {
	case '.', '!', '?', '{', ';', ',':
		return false
	}
	for _, cell := range splitCells(line, sep) {
		if bytes.Count(bytes.TrimSpace(cell), []byte(" ")) > 4 {
			return false
		}
	}
	return true
}

// ruled reports the rule below the head of a table in Markdown.
func ruled(data []byte) bool {
	n := 0
	for line := range firstLines(data) {
		if n++; n == 2 {
			return tableRule().Match(line)
		}
	}
	return false
}

func countCells(line []byte, sep byte) int { return len(splitCells(line, sep)) }

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

func describeColumns(b *strings.Builder, data []byte) {
	sep, header := Columns(data)
	types := make([]string, len(header))
	first := true
	for line := range firstLines(data) {
		if first {
			first = false
			continue
		}
		for i, cell := range splitCells(line, sep) {
			if i < len(types) {
				types[i] = joinType(types[i], cell)
			}
		}
	}
	b.WriteString("columns:")
	for i, name := range header {
		if i == 40 {
			fmt.Fprintf(b, " … %s more", show.Count(len(header)-i))
			break
		}
		fmt.Fprintf(b, " %s (%s)", show.Clip(strings.ToValidUTF8(name, "�"), 40), types[i])
	}
	b.WriteByte('\n')
}

// joinType widens the type of a column by one more cell.
func joinType(have string, cell []byte) string {
	kind := "text"
	if cell = bytes.TrimSpace(cell); len(cell) == 0 {
		if have != "" {
			return have
		}
		return "empty"
	} else if (isDigit(cell[0]) || cell[0] == '-') && json.Valid(cell) {
		kind = "number"
	}
	if have == "" || have == "empty" || have == kind {
		return kind
	}
	return "text"
}
