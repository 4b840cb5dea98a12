package pipeline

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/show"
)

const (
	// maxColumns of a table are named, as many as [digest.Columns] recognises. What
	// a row has beyond them is a list under "rest".
	maxColumns = 500

	// maxRecordBytes bounds the records of one table: names are repeated in
	// each, so that 500 bytes of separators can become 60 KB.
	maxRecordBytes = 64 << 20
)

// csvRecords returns the rows of CSV or TSV as JSON Lines, an object each,
// and false for a text that is neither. A page of lines is neither: the line
// that names its columns may be on another.
//
// A cell that is a JSON number as it stands becomes one, spelt as it is; true
// stays a string, and so does an empty cell. A column of codes, see [codeFinder],
// stays one of strings. A row that is short lacks the last keys. An [*Error] says that the records would be too
// large.
func csvRecords(ctx context.Context, v Value) (Value, bool, error) {
	sep := csvSeparator(v)
	if sep == 0 {
		return Value{}, false, nil
	}
	records, err := memoised(v, "csv-records", func() (Value, int64, error) {
		r, err := readCSV(ctx, v.Data, sep)
		return r, int64(len(r.Data)), err
	})
	records.Note = v.Note
	if v.Memo != nil { // what is derived from the records is kept beside them
		records.Memo = func(key string, build func() (any, int64, error)) (any, error) {
			return v.Memo("csv-records/"+key, build)
		}
	}
	return records, err == nil, err
}

// csvSeparator is that of the cells of v, 0 if v is no table.
func csvSeparator(v Value) byte {
	if v.Kind != Text || v.Items != v.Total {
		return 0
	}
	sep, _ := digest.Columns(v.Data)
	if sep == 0 {
		return 0
	}
	// Lines of a log or of Markdown can have as many commas each.
	if kind := digest.Kind(v.Data); kind != "CSV" && kind != "TSV" {
		return 0
	}
	return sep
}

// readCSV is [csvRecords] without the memo.
func readCSV(ctx context.Context, data []byte, sep byte) (Value, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	w := recordWriter{out: make([]byte, 0, min(2*len(data), maxRecordBytes))}
	lines := false
	for {
		codes := w.codes
		w = recordWriter{tick: ticker{ctx: ctx}, taken: map[string]bool{}, out: w.out[:0], codes: codes, lines: lines}
		err := w.rows(data, sep)
		var malformed *csv.ParseError
		if errors.As(err, &malformed) && !lines {
			// A quote that is not closed would take the rows behind it into
			// its cell.
			lines = true
			continue
		}
		if err != nil {
			return Value{}, err
		}
		if w.codes.same(codes) {
			break
		}
	}
	v := Value{Kind: JSONLines, Data: w.out, Unit: "lines", Items: w.n, Total: w.n}
	return v, nil
}

// A recordWriter turns rows into JSON Lines.
type recordWriter struct {
	tick  ticker
	names [][]byte // as the start of a member: {"name": or ,"name":
	taken map[string]bool
	rest  []byte // as names, of what maxColumns leaves over
	out   []byte
	n     int // records
	codes codeFinder
	lines bool // a row is a line, whatever its quotes
}

// rows reads the rows and writes the records.
func (w *recordWriter) rows(data []byte, sep byte) error {
	next := w.reader(data, sep)
	first, err := next()
	if err != nil || first == nil {
		return err
	}
	first = slices.Clone(first)
	cells, err := next()
	if err == nil && !w.header(first, cells) {
		err = w.row(first)
	}
	for ; err == nil && cells != nil; cells, err = next() {
		if err := w.row(cells); err != nil {
			return err
		}
	}
	return err
}

// reader returns a function that returns the next row that is not blank, until
// the next call, and nil at the end. A [csv.ParseError] is for quotes that are
// not closed, or stand inside of cells; there is none if w reads lines.
func (w *recordWriter) reader(data []byte, sep byte) func() ([]string, error) {
	open := func(data []byte) *csv.Reader {
		r := csv.NewReader(bytes.NewReader(data))
		r.Comma = rune(sep)
		r.LazyQuotes = w.lines
		r.FieldsPerRecord = -1
		r.ReuseRecord = true
		return r
	}
	r := open(data)
	read := r.Read
	if w.lines {
		read = func() ([]string, error) {
			if len(data) == 0 {
				return nil, io.EOF
			}
			line, rest, _ := bytes.Cut(data, []byte{'\n'})
			data = rest
			cells, err := open(line).Read()
			if errors.Is(err, io.EOF) {
				return []string{""}, nil // a blank line
			}
			return cells, err
		}
	}
	return func() ([]string, error) {
		for {
			cells, err := read()
			switch {
			case errors.Is(err, io.EOF):
				return nil, nil
			case err != nil:
				return nil, fmt.Errorf("read CSV: %w", err)
			case len(cells) == 1 && strings.TrimSpace(cells[0]) == "":
				continue
			}
			return cells, nil
		}
	}
}

// row writes one record.
func (w *recordWriter) row(cells []string) error {
	size := len(w.out)
	for _, cell := range cells {
		size += len(cell)
	}
	if size > maxRecordBytes {
		return &Error{Code: LimitMemory, Text: "the records of this table are larger than 64 MiB",
			Hint: "use proxy_search, or offset and limit for lines"}
	}
	for i, cell := range cells {
		if i == maxColumns {
			w.more(cells[i:])
			break
		}
		if i == len(w.names) {
			w.name("c" + strconv.Itoa(i+1))
		}
		w.out = append(w.out, w.names[i]...)
		if w.codes.isCode(i, cell) {
			w.out = show.AppendQuote(w.out, cell)
		} else {
			w.out = appendCellJSON(w.out, cell)
		}
	}
	w.out = append(w.out, '}', '\n')
	w.n++
	return w.tick.err()
}

// more writes the cells that have no column.
func (w *recordWriter) more(cells []string) {
	if w.rest == nil {
		w.rest = append(show.AppendQuote([]byte{','}, w.unused("rest")), ':')
	}
	w.out = append(w.out, w.rest...)
	for i, cell := range cells {
		w.out = append(w.out, "[,"[min(i, 1)])
		w.out = appendCellJSON(w.out, cell)
	}
	w.out = append(w.out, ']')
}

// header names the columns by the first row, or reports that it is data: a row
// with numbers, unless they are years above what is none.
func (w *recordWriter) header(cells, second []string) bool {
	cells = cells[:min(len(cells), maxColumns)]
	numbers, years, below := 0, 0, 0
	for i, cell := range cells {
		if cell = strings.TrimSpace(cell); !isNumeral(cell) {
			continue
		}
		numbers++
		if isYear(cell) {
			years++
		}
		if i < len(second) && isYear(strings.TrimSpace(second[i])) {
			below++
		}
	}
	if numbers > 0 && (years < numbers || below == numbers || second == nil) {
		for i := range cells {
			w.name("c" + strconv.Itoa(i+1))
		}
		return false
	}
	for i, cell := range cells {
		name := utf8Text([]byte(strings.Trim(cell, "\" ")))
		if name == "" {
			name = "column_" + strconv.Itoa(i+1)
		}
		w.name(name)
	}
	return true
}

// name adds a column.
func (w *recordWriter) name(name string) {
	start := byte(',')
	if len(w.names) == 0 {
		start = '{'
	}
	w.names = append(w.names, append(show.AppendQuote([]byte{start}, w.unused(name)), ':'))
}

// unused is name, or name_2 and so on if there is such a column already.
func (w *recordWriter) unused(name string) string {
	s := name
	for n := 2; w.taken[s]; n++ {
		s = name + "_" + strconv.Itoa(n)
	}
	w.taken[s] = true
	return s
}

func appendCellJSON(dst []byte, cell string) []byte {
	if isNumeral(cell) {
		return append(dst, cell...)
	}
	return show.AppendQuote(dst, cell)
}

// isYear reports whether s is one of 1000 to 2999.
func isYear(s string) bool {
	return len(s) == 4 && (s[0] == '1' || s[0] == '2') && strings.Trim(s, "0123456789") == ""
}

// A codeFinder tells the columns of codes, whose cells only look like numbers:
// postal codes (01234), versions (1.9 and 1.10), hashes (12e5). A number that
// is written so in some cells and otherwise in others would not equal itself.
type codeFinder struct {
	code [maxColumns]bool
	// Digits behind the point: the fewest of a cell that has any, and the most
	// of one that ends in a zero, from two on.
	fewest, zeros [maxColumns]uint8
}

func (f *codeFinder) same(o codeFinder) bool { return f.code == o.code }

// isCode takes a cell of column i into account and reports whether the column
// is known to have codes.
func (f *codeFinder) isCode(i int, cell string) bool {
	if f.code[i] || len(cell) < 2 || cell[len(cell)-1]-'0' > 9 {
		return f.code[i]
	}
	digits, tail, point := strings.Cut(cell, ".")
	if strings.Trim(digits+tail, "0123456789") != "" {
		// Nobody writes a number as 12e5 who has no point or sign.
		mantissa, exponent, e := strings.Cut(cell, "e")
		f.code[i] = e && mantissa != "" && exponent != "" && strings.Trim(mantissa+exponent, "0123456789") == ""
		return f.code[i]
	}
	if !point {
		f.code[i] = len(digits) > 1 && digits[0] == '0'
		return f.code[i]
	}
	n := uint8(min(len(tail), 255))
	if f.fewest[i] == 0 || n < f.fewest[i] {
		f.fewest[i] = n
	}
	if n > 1 && tail[n-1] == '0' {
		f.zeros[i] = max(f.zeros[i], n)
	}
	f.code[i] = f.zeros[i] > f.fewest[i]
	return f.code[i]
}

// isNumeral reports whether s is a number as JSON spells it.
func isNumeral(s string) bool {
	i := 0
	digits := func() bool {
		start := i
		for i < len(s) && s[i]-'0' <= 9 {
			i++
		}
		return i > start
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return false
	}
	if i < len(s) && s[i] == '.' {
		if i++; !digits() {
			return false
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(s)
}

// utf8Text is b with U+FFFD for each byte that is not UTF-8, as JSON
// decoders have it.
func utf8Text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	s.Grow(len(b))
	for _, r := range string(b) {
		s.WriteRune(r)
	}
	return s.String()
}
