package pipeline

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"rlmproxy/pipeline/digest"
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
// stays a string, and so does an empty cell. A column with a cell as 01234 is
// one of codes, which all stay strings. A row that is
// short lacks the last keys. An [*Error] says that the records would be too
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
	var codes [maxColumns]bool
	w := recordWriter{out: make([]byte, 0, min(2*len(data), maxRecordBytes))}
	for again := true; again; {
		w = recordWriter{tick: ticker{ctx: ctx}, taken: map[string]bool{}, out: w.out[:0], codes: codes}
		if err := w.rows(data, sep); err != nil {
			return Value{}, err
		}
		again, codes = w.codes != codes, w.codes
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
	// codes are the columns that have codes, as far as they are known.
	codes [maxColumns]bool
}

// rows reads data as encoding/csv does, whatever its quotes.
func (w *recordWriter) rows(data []byte, sep byte) error {
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma = rune(sep)
	r.LazyQuotes = true
	r.FieldsPerRecord = -1
	r.ReuseRecord = true
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil { // cannot be: with LazyQuotes, anything is a cell
			return fmt.Errorf("read CSV: %w", err)
		}
		if err := w.row(cells); err != nil {
			return err
		}
	}
}

// row writes one record; the first row names the columns if it can.
func (w *recordWriter) row(cells []string) error {
	if len(cells) == 1 && strings.TrimSpace(cells[0]) == "" {
		return w.tick.err()
	}
	if w.names == nil && w.header(cells) {
		return nil
	}
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
		if w.codes[i] = w.codes[i] || isCode(cell); w.codes[i] {
			w.out = appendString(w.out, cell)
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
		w.rest = append(appendString([]byte{','}, w.unused("rest")), ':')
	}
	w.out = append(w.out, w.rest...)
	for i, cell := range cells {
		w.out = append(w.out, "[,"[min(i, 1)])
		w.out = appendCellJSON(w.out, cell)
	}
	w.out = append(w.out, ']')
}

// header names the columns by the first row, or reports that it is data.
func (w *recordWriter) header(cells []string) bool {
	cells = cells[:min(len(cells), maxColumns)]
	for _, cell := range cells {
		if isNumeral(strings.TrimSpace(cell)) {
			for i := range cells {
				w.name("c" + strconv.Itoa(i+1))
			}
			return false
		}
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
	w.names = append(w.names, append(appendString([]byte{start}, w.unused(name)), ':'))
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
	return appendString(dst, cell)
}

// isCode reports whether s has digits only and begins with a 0 that a number
// would not have: a postal code, a number of a house or a part.
func isCode(s string) bool {
	if len(s) < 2 || s[0] != '0' {
		return false
	}
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return false
		}
	}
	return true
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

// appendString is [show.AppendQuote], which asks encoding/json, in a fifth of the
// time or less.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0 // of what is written as it is
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
			if (r != utf8.RuneError || size > 1) && r != '\u2028' && r != '\u2029' {
				i += size
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		i += size
		from = i
		switch r {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		default:
			dst = append(dst, '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
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
