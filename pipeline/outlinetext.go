package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

const (
	// sniffLines decide what a text is; sniffBytes bound them.
	sniffLines = 200
	sniffBytes = 64 << 10

	maxHeadings  = 60
	endLines     = 5 // shown of head and tail
	maxLineRunes = 160
)

// A textFormat is a guess, with what its outline consists of.
type textFormat struct {
	name    string
	line    *regexp.Regexp // a line that is typical
	share   float64        // of non-blank lines that must be typical
	heading *regexp.Regexp // a line of the outline, or nil
}

// textFormats are tried in this order; the first that fits is the guess.
var textFormats = []textFormat{
	{"diff", regexp.MustCompile(`^(diff --git |@@ .* @@|\+\+\+ |--- )`), 0.02, regexp.MustCompile(`^(diff --git |\+\+\+ )`)},
	{"log", regexp.MustCompile(`^\W{0,2}(\d{4}-\d\d-\d\d[T ]\d\d:|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{10,13}\b|\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/)`), 0.4, regexp.MustCompile(`(?i)\b(error|fatal|panic|exception|critical)\b`)},
	{"HTML or XML", regexp.MustCompile(`^\s*</?[A-Za-z!?][^>]*>?`), 0.4, regexp.MustCompile(`(?i)<(h[1-4]|title)\b[^>]*>`)},
	{"Markdown", regexp.MustCompile("^(#{1,6} |[-*] |```|\\|.*\\||\\d+\\. |> )"), 0.08, regexp.MustCompile(`^#{1,6} `)},
	{"source", regexp.MustCompile(`^\s*(func|def|class|import|package|from|public|private|static|const|let|var|type|interface|export|#include|fn|impl|use|struct|return|if|for)\b|[{};]\s*$|^\s*(//|/\*|\*)`), 0.3,
		regexp.MustCompile(`^\s{0,4}(export |pub |public |private |static |async |abstract |default )*(func|def|class|type|interface|struct|enum|impl|fn|function|trait|module|namespace)\s+\S`)},
	{"YAML", regexp.MustCompile(`^\s*(- )?['"]?[\w./-]+( [^:]*)?['"]?:( |$)|^\s*- |^---`), 0.6, regexp.MustCompile(`^[\w"'][^:]*:\s*$`)},
}

var plainText = textFormat{name: "plain text"}

// guessFormat looks at the first lines. CSV and TSV are recognised by their
// columns, see [columns].
func guessFormat(data []byte) textFormat {
	if bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0 {
		return textFormat{name: "binary"}
	}
	if sep, _ := columns(data); sep == '\t' {
		return textFormat{name: "TSV"}
	} else if sep != 0 {
		return textFormat{name: "CSV"}
	}
	for _, f := range textFormats {
		total, typical := 0, 0
		for line := range firstLines(data) {
			total++
			if f.line.Match(line) {
				typical++
			}
		}
		if typical > 0 && float64(typical) >= f.share*float64(total) && (f.share >= 0.3 || total > 2) {
			return f
		}
	}
	return plainText
}

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

// columns returns the separator of a table and its columns, or 0. The lines must
// have the same number of cells, one in fifty excepted: quoted cells may hold
// line ends.
func columns(data []byte) (sep byte, header []string) {
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
		if 50*odd <= lines && lines > 2 && n > 1 && n <= 500 {
			for _, cell := range splitCells(head, sep) {
				header = append(header, strings.Trim(string(cell), "\" "))
			}
			return sep, header
		}
	}
	return 0, nil
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

// outlineText tells the format, the lines that stand out, and both ends.
func outlineText(ctx context.Context, b *strings.Builder, v Value) error {
	f := guessFormat(v.Data)
	n := countLines(v.Data)
	fmt.Fprintf(b, "%s, %s, %s bytes", f.name, plural(n, "lines"), Comma(len(v.Data)))
	if n > 0 {
		fmt.Fprintf(b, ", mean %s bytes a line", Comma(len(v.Data)/n))
	}
	b.WriteByte('\n')
	if f.name == "CSV" || f.name == "TSV" {
		describeColumns(b, v.Data)
	}
	if f.heading != nil {
		if err := headings(ctx, b, v.Data, f.heading); err != nil {
			return err
		}
	}
	head, tail := ends(v.Data, endLines, endLines)
	b.WriteString("head:\n")
	for i, line := range head {
		fmt.Fprintf(b, "%d: %s\n", i+1, showLine(line))
	}
	if len(tail) > 0 {
		b.WriteString("tail:\n")
		for i, line := range tail {
			fmt.Fprintf(b, "%d: %s\n", n-len(tail)+i+1, showLine(line))
		}
	}
	return nil
}

func describeColumns(b *strings.Builder, data []byte) {
	sep, header := columns(data)
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
			fmt.Fprintf(b, " … %s more", Comma(len(header)-i))
			break
		}
		fmt.Fprintf(b, " %s (%s)", clip(strings.ToValidUTF8(name, "�"), 40), types[i])
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
	} else if json.Valid(cell) && typeOf(cell[0]) == isNumber {
		kind = "number"
	}
	if have == "" || have == "empty" || have == kind {
		return kind
	}
	return "text"
}

// headings prints the lines of the outline with their numbers.
func headings(ctx context.Context, b *strings.Builder, data []byte, heading *regexp.Regexp) error {
	t := ticker{ctx: ctx}
	n, found := 0, 0
	for line := range bytes.Lines(data) {
		n++
		if err := t.err(); err != nil {
			return err
		}
		// A heading is short; a long line is not worth a regexp.
		if !heading.Match(line[:min(len(line), 500)]) {
			continue
		}
		if found++; found == 1 {
			b.WriteString("outline:\n")
		}
		if found <= maxHeadings {
			fmt.Fprintf(b, "%d: %s\n", n, showLine(line))
		}
	}
	if found > maxHeadings {
		fmt.Fprintf(b, "… %s more\n", Comma(found-maxHeadings))
	}
	return nil
}

// ends returns the first and last lines, none of them twice.
func ends(data []byte, first, last int) (head, tail [][]byte) {
	rest := data
	for len(head) < first && len(rest) > 0 {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		head = append(head, rest[:end])
		rest = rest[end:]
	}
	for len(tail) < last && len(rest) > 0 {
		start := bytes.LastIndexByte(rest[:len(rest)-1], '\n') + 1
		tail = append(tail, rest[start:])
		rest = rest[:start]
	}
	for i, j := 0, len(tail)-1; i < j; i, j = i+1, j-1 {
		tail[i], tail[j] = tail[j], tail[i]
	}
	return head, tail
}

// showLine makes a line fit for a reply: valid UTF-8, no newline, not long.
func showLine(line []byte) string {
	line = bytes.TrimRight(line, "\r\n")
	cut := line[:min(len(line), 4*maxLineRunes+4)]
	s := clip(strings.ReplaceAll(strings.ToValidUTF8(string(cut), "�"), "\x00", "�"), maxLineRunes)
	if len(cut) < len(line) || strings.HasSuffix(s, "…") && len(line) > len(s) {
		s += fmt.Sprintf(" (%s bytes)", Comma(len(line)))
	}
	return s
}
