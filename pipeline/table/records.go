// Package table reads CSV and TSV.
//
//	text ──► Records ──► JSON Lines, an object for each row
//
// Whatever asks a table for fields sees these records; the text stays what it is.
package table

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"unicode/utf8"

	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/doc"
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

// Records returns the rows of CSV or TSV as JSON Lines, an object each,
// and false for a text that is neither. A page of lines is neither: the line
// that names its columns may be on another.
//
// A cell that is a JSON number as it stands becomes one, spelt as it is; true
// stays a string, and so does an empty cell. A column of codes, see [codeFinder],
// stays one of strings. A row that is short lacks the last keys. An [*Error] says that the records would be too
// large.
func Records(ctx context.Context, v doc.Value) (doc.Value, bool, error) {
	if v.Kind != doc.Text || v.Items != v.Total {
		return doc.Value{}, false, nil
	}
	t, err := doc.Memoised(v, "csv-records", func() (csvTable, int64, error) {
		sep := Separator(v.Data)
		if sep == 0 {
			return csvTable{}, 64, nil
		}
		r, err := readCSV(ctx, v.Data, sep)
		return csvTable{r, true}, 64 + int64(len(r.Data)), err
	})
	if !t.is || err != nil {
		return doc.Value{}, false, err
	}
	t.records.Note = v.Note
	if v.Memo != nil { // what is derived from the records is kept beside them
		t.records.Memo = func(key string, build func() (any, int64, error)) (any, error) {
			return v.Memo("csv-records/"+key, build)
		}
	}
	return t.records, true, nil
}

// A csvTable is the records of a text, if it is one.
type csvTable struct {
	records doc.Value
	is      bool
}

// Separator is that of the cells of a text, 0 if it is no table.
func Separator(data []byte) byte {
	sep, _ := digest.Columns(data)
	if sep == 0 {
		return 0
	}
	// Lines of a log or of Markdown can have as many commas each.
	if kind := digest.Kind(data); kind != "CSV" && kind != "TSV" {
		return 0
	}
	return sep
}

// readCSV is [csvRecords] without the memo. It reads the table anew when a
// column turns out to be of codes; the first rows alone tell nearly all.
func readCSV(ctx context.Context, data []byte, sep byte) (doc.Value, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var codes codeFinder
	var out []byte
	lines, limit := false, 200
	for {
		w := RecordWriter{tick: doc.Ticker{Ctx: ctx}, Taken: map[string]bool{}, out: out[:0], codes: codes, limit: limit}
		rows := NewRowReader(data, sep, lines)
		err := w.rows(&rows)
		before := codes
		out, codes = w.out, w.codes
		switch {
		case errors.Is(err, errQuote):
			// A quote that is not closed would take the rows behind it into
			// its cell.
			lines = true
		case err != nil:
			return doc.Value{}, err
		case w.stopped:
			// The other rows should be as long as these.
			used := len(data) - len(rows.data)
			size := int(float64(len(out)) * float64(len(data)) / float64(used) * 17 / 16)
			out, limit = make([]byte, 0, min(size, maxRecordBytes)), 0
		case codes.same(before):
			return doc.Value{Kind: doc.JSONLines, Data: out, Unit: "lines", Items: w.n, Total: w.n}, nil
		}
	}
}

// A RecordWriter turns rows into JSON Lines.
type RecordWriter struct {
	tick  doc.Ticker
	names [][]byte // as the start of a member: {"name": or ,"name":
	Taken map[string]bool
	rest  []byte // as names, of what maxColumns leaves over
	out   []byte
	n     int // records
	codes codeFinder

	limit   int  // of records; 0 is none
	stopped bool // there were more
}

// rows reads the rows and writes the records.
func (w *RecordWriter) rows(r *rowReader) error {
	look := *r
	if some, err := look.Next(); !some {
		return err
	}
	first := look.Row()
	if _, err := look.Next(); err != nil {
		return err
	}
	if w.Header(first, look.Row()) {
		if _, err := r.Next(); err != nil {
			return err
		}
	}
	for {
		some, err := r.Next()
		if !some {
			return err
		}
		if w.stopped = w.limit > 0 && w.n >= w.limit; w.stopped {
			return nil
		}
		if err := w.row(r); err != nil {
			return err
		}
	}
}

// row writes one record.
func (w *RecordWriter) row(r *rowReader) error {
	size := len(w.out)
	for _, c := range r.cells {
		size += c.to - c.from
	}
	if size > maxRecordBytes {
		return &doc.Error{Code: doc.LimitMemory, Text: "the records of this table are larger than 64 MiB",
			Hint: "use proxy_search, or offset and limit for lines"}
	}
	for i := range r.cells {
		if i == maxColumns {
			w.more(r)
			break
		}
		if i == len(w.names) {
			w.name("c" + strconv.Itoa(i+1))
		}
		w.out = append(w.out, w.names[i]...)
		if cell := r.cell(i); w.codes.isCode(i, cell) {
			w.out = appendCellText(w.out, cell)
		} else {
			w.out = appendCellJSON(w.out, cell)
		}
	}
	w.out = append(w.out, '}', '\n')
	w.n++
	return w.tick.Err()
}

// more writes the cells that have no column.
func (w *RecordWriter) more(r *rowReader) {
	if w.rest == nil {
		w.rest = append(show.AppendQuote([]byte{','}, w.unused("rest")), ':')
	}
	w.out = append(w.out, w.rest...)
	for i := maxColumns; i < len(r.cells); i++ {
		w.out = append(w.out, "[,"[min(i-maxColumns, 1)])
		w.out = appendCellJSON(w.out, r.cell(i))
	}
	w.out = append(w.out, ']')
}

// Header names the columns by the first row, or reports that it is data: a row
// with numbers, unless they are years above what is none.
func (w *RecordWriter) Header(cells, second [][]byte) bool {
	cells = cells[:min(len(cells), maxColumns)]
	numbers, years, below := 0, 0, 0
	for i, cell := range cells {
		if cell = bytes.TrimSpace(cell); !isNumeral(cell) {
			continue
		}
		numbers++
		if isYear(cell) {
			years++
		}
		if i < len(second) && isYear(bytes.TrimSpace(second[i])) {
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
		name := utf8Text(bytes.Trim(cell, "\" "))
		if name == "" {
			name = "column_" + strconv.Itoa(i+1)
		}
		w.name(name)
	}
	return true
}

// name adds a column.
func (w *RecordWriter) name(name string) {
	start := byte(',')
	if len(w.names) == 0 {
		start = '{'
	}
	w.names = append(w.names, append(show.AppendQuote([]byte{start}, w.unused(name)), ':'))
}

// unused is name, or name_2 and so on if there is such a column already.
func (w *RecordWriter) unused(name string) string {
	s := name
	for n := 2; w.Taken[s]; n++ {
		s = name + "_" + strconv.Itoa(n)
	}
	w.Taken[s] = true
	return s
}

func appendCellJSON(dst, cell []byte) []byte {
	if isNumeral(cell) {
		return append(dst, cell...)
	}
	return appendCellText(dst, cell)
}

// appendCellText is [show.AppendQuote]. Most cells need no escape.
func appendCellText(dst, cell []byte) []byte {
	for _, c := range cell {
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return show.AppendQuote(dst, string(cell))
		}
	}
	dst = append(dst, '"')
	dst = append(dst, cell...)
	return append(dst, '"')
}
