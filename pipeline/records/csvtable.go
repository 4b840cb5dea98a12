package records

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/digest"
)

// A Table is a text of rows.
type Table struct {
	text   []byte
	sep    byte // between cells
	quoted bool // cells have quotes, as RFC 4180 has them: a row may go on in the next line
}

// OpenTable returns the table that text is, or nil. Lines of a log or of Markdown can
// have as many commas each as those of a table, but are not a table.
func OpenTable(text []byte) *Table {
	if kind := digest.Kind(text); kind != csvForm && kind != tsvForm {
		return nil
	}
	sep, _ := digest.Columns(text)
	return open(text, sep)
}

func open(text []byte, sep byte) *Table {
	t := &Table{text: text, sep: sep, quoted: bytes.IndexByte(text, '"') >= 0}
	if t.quoted { // a quote that is not closed would take the rows behind it into its cell
		t.quoted = t.readQuoted(func(Row) bool { return true }) == nil
	}
	return t
}

// A Row is one that is not blank.
type Row struct {
	Cells      []string
	Start, End int // in the text, with its line end
}

// Rows yields the rows, each valid until the next. Where a quote is not closed or
// stands inside a cell, every line is a row, whatever its quotes.
func (t *Table) Rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		if t.quoted {
			_ = t.readQuoted(yield) // open has seen that there is no error
		} else {
			t.readLines(yield)
		}
	}
}

var byteOrderMark = []byte("\ufeff")

// readQuoted yields rows as encoding/csv reads them, or its error.
func (t *Table) readQuoted(yield func(Row) bool) error {
	text := bytes.TrimPrefix(t.text, byteOrderMark)
	before := len(t.text) - len(text)
	r := newReader(bytes.NewReader(text), t.sep)
	for at := 0; ; at = int(r.InputOffset()) {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		end := int(r.InputOffset())
		start := end - len(bytes.TrimLeft(text[at:end], "\r\n")) // the reader skips blank lines
		if !isBlank(cells) && !yield(Row{cells, before + start, before + end}) {
			return nil
		}
	}
}

func (t *Table) readLines(yield func(Row) bool) {
	text := bytes.TrimPrefix(t.text, byteOrderMark)
	at := len(t.text) - len(text)
	one := bufio.NewReader(nil) // for all lines: each would have 4 KB of its own
	for line := range bytes.Lines(text) {
		row := Row{Start: at, End: at + len(line)}
		at = row.End
		line = bytes.TrimSuffix(line, []byte{'\n'})
		row.Cells = strings.Split(string(bytes.TrimSuffix(line, []byte{'\r'})), string(t.sep))
		if bytes.IndexByte(line, '"') >= 0 {
			one.Reset(bytes.NewReader(line))
			r := newReader(one, t.sep) // it takes the \r off itself
			r.LazyQuotes = true
			row.Cells, _ = r.Read() // of one line it reads anything
		}
		if !isBlank(row.Cells) && !yield(row) {
			return
		}
	}
}

func newReader(from io.Reader, sep byte) *csv.Reader {
	r := csv.NewReader(from)
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = rune(sep), -1, true
	return r
}

func isBlank(cells []string) bool {
	return len(cells) == 0 || len(cells) == 1 && strings.TrimSpace(cells[0]) == ""
}

// HasHeader reports whether the first row names the columns. A row with numbers
// does not, unless they are years above what is none.
func (t *Table) HasHeader() bool {
	var top [][]string
	for row := range t.Rows() {
		if top = append(top, slices.Clone(row.Cells)); len(top) == 2 {
			break
		}
	}
	if len(top) == 0 {
		return false
	}
	numbers, years, below := 0, 0, 0
	for i, cell := range top[0][:min(len(top[0]), maxColumns)] {
		if cell = strings.TrimSpace(cell); !jsonscan.IsNumber(cell) {
			continue
		}
		numbers++
		if isYear(cell) {
			years++
		}
		if len(top) > 1 && i < len(top[1]) && isYear(strings.TrimSpace(top[1][i])) {
			below++
		}
	}
	return numbers == 0 || years == numbers && below < numbers && len(top) > 1
}

// isYear reports whether a number is one of 1000 to 2999.
func isYear(s string) bool {
	return len(s) == 4 && (s[0] == '1' || s[0] == '2') && !strings.ContainsAny(s, ".eE")
}
