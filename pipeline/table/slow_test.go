package table

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
	"testing"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// FuzzCSV reads tables, and what is none, as the oracle does.
func FuzzCSV(f *testing.F) {
	rows := strings.Repeat("1,x y,3.50\n", 250)
	for _, s := range []string{"a,b\n1,2\n", "a,\"b c\"\r\n\"x, y\",\"say \"\"hi\"\"\"\r\n\"two\nlines\",\"1\"", "a,b\n5\" pipe,x\n6\" pipe,\"y\"z\n", "a,b\n\"x,1\ny,2\n",
		"\ufeffid,n\na,b\n\n \n\r\r\n\"\"\n\"\r", rows + "01,\"2\n3\",1.5\n", rows + "1,1.10,1.9\n2\"\n", "zip,v\n" + rows + "12e5,.50,1e5", "2019,2020\n1,2", ",,a,a\n\x00,\xff,\u2028"} {
		f.Add([]byte(s), byte(','))
	}
	f.Fuzz(func(t *testing.T, data []byte, sep byte) {
		if strings.IndexByte(",;|\t", sep) < 0 || len(data) > 50_000 {
			return
		}
		got, err := readCSV(context.Background(), data, sep)
		want, wantErr := slowReadCSV(context.Background(), data, sep)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%q: %v, want %v", data, err, wantErr)
		}
		if string(got.Data) != string(want.Data) || got.Items != want.Items || got.Total != want.Total || got.Kind != want.Kind || got.Unit != want.Unit {
			t.Fatalf("%q:\n got %d %q\nwant %d %q", data, got.Items, got.Data, want.Items, want.Data)
		}
	})
}

// slowReadCSV is [readCSV] as it was first written, with encoding/csv: the
// oracle of the other.
func slowReadCSV(ctx context.Context, data []byte, sep byte) (doc.Value, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	w := slowRecordWriter{out: make([]byte, 0, min(2*len(data), maxRecordBytes))}
	lines := false
	for {
		codes := w.codes
		w = slowRecordWriter{tick: doc.Ticker{Ctx: ctx}, taken: map[string]bool{}, out: w.out[:0], codes: codes, lines: lines}
		err := w.rows(data, sep)
		var malformed *csv.ParseError
		if errors.As(err, &malformed) && !lines {
			// A quote that is not closed would take the rows behind it into
			// its cell.
			lines = true
			continue
		}
		if err != nil {
			return doc.Value{}, err
		}
		if w.codes.same(codes) {
			break
		}
	}
	v := doc.Value{Kind: doc.JSONLines, Data: w.out, Unit: "lines", Items: w.n, Total: w.n}
	return v, nil
}

// A slowRecordWriter turns rows into JSON Lines.
type slowRecordWriter struct {
	tick  doc.Ticker
	names [][]byte // as the start of a member: {"name": or ,"name":
	taken map[string]bool
	rest  []byte // as names, of what maxColumns leaves over
	out   []byte
	n     int // records
	codes slowCodeFinder
	lines bool // a row is a line, whatever its quotes
}

// rows reads the rows and writes the records.
func (w *slowRecordWriter) rows(data []byte, sep byte) error {
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
func (w *slowRecordWriter) reader(data []byte, sep byte) func() ([]string, error) {
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
func (w *slowRecordWriter) row(cells []string) error {
	size := len(w.out)
	for _, cell := range cells {
		size += len(cell)
	}
	if size > maxRecordBytes {
		return &doc.Error{Code: doc.LimitMemory, Text: "the records of this table are larger than 64 MiB",
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
			w.out = slowAppendCellJSON(w.out, cell)
		}
	}
	w.out = append(w.out, '}', '\n')
	w.n++
	return w.tick.Err()
}

// more writes the cells that have no column.
func (w *slowRecordWriter) more(cells []string) {
	if w.rest == nil {
		w.rest = append(show.AppendQuote([]byte{','}, w.unused("rest")), ':')
	}
	w.out = append(w.out, w.rest...)
	for i, cell := range cells {
		w.out = append(w.out, "[,"[min(i, 1)])
		w.out = slowAppendCellJSON(w.out, cell)
	}
	w.out = append(w.out, ']')
}

// header names the columns by the first row, or reports that it is data: a row
// with numbers, unless they are years above what is none.
func (w *slowRecordWriter) header(cells, second []string) bool {
	cells = cells[:min(len(cells), maxColumns)]
	numbers, years, below := 0, 0, 0
	for i, cell := range cells {
		if cell = strings.TrimSpace(cell); !slowIsNumeral(cell) {
			continue
		}
		numbers++
		if slowIsYear(cell) {
			years++
		}
		if i < len(second) && slowIsYear(strings.TrimSpace(second[i])) {
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
func (w *slowRecordWriter) name(name string) {
	start := byte(',')
	if len(w.names) == 0 {
		start = '{'
	}
	w.names = append(w.names, append(show.AppendQuote([]byte{start}, w.unused(name)), ':'))
}

// unused is name, or name_2 and so on if there is such a column already.
func (w *slowRecordWriter) unused(name string) string {
	s := name
	for n := 2; w.taken[s]; n++ {
		s = name + "_" + strconv.Itoa(n)
	}
	w.taken[s] = true
	return s
}

func slowAppendCellJSON(dst []byte, cell string) []byte {
	if slowIsNumeral(cell) {
		return append(dst, cell...)
	}
	return show.AppendQuote(dst, cell)
}

// slowIsYear reports whether s is one of 1000 to 2999.
func slowIsYear(s string) bool {
	return len(s) == 4 && (s[0] == '1' || s[0] == '2') && strings.Trim(s, "0123456789") == ""
}

// A slowCodeFinder tells the columns of codes, whose cells only look like numbers:
// postal codes (01234), versions (1.9 and 1.10), hashes (12e5). A number that
// is written so in some cells and otherwise in others would not equal itself.
type slowCodeFinder struct {
	code [maxColumns]bool
	// Digits behind the point: the fewest of a cell that has any, and the most
	// of one that ends in a zero, from two on.
	fewest, zeros [maxColumns]uint8
}

func (f *slowCodeFinder) same(o slowCodeFinder) bool { return f.code == o.code }

// isCode takes a cell of column i into account and reports whether the column
// is known to have codes.
func (f *slowCodeFinder) isCode(i int, cell string) bool {
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

// slowIsNumeral reports whether s is a number as JSON spells it.
func slowIsNumeral(s string) bool {
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
