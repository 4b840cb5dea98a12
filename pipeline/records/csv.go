package records

import (
	"context"
	"strconv"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
)

const (
	// maxColumns of a table are named, as many as [digest.Columns] recognises. What
	// a row has beyond them is a list under "rest".
	maxColumns = 500

	csvForm, tsvForm = "CSV", "TSV"
)

// records are the rows as JSON Lines, an object each.
//
// A cell that is a JSON number as it stands becomes one, spelt as it is; true stays
// a string, and so does an empty cell. A column of codes, such as 01234, stays one
// of strings. A row that is short lacks the last keys. A [*doc.Error] says that the
// records would be too large.
func (t *Table) records(ctx context.Context) (doc.Value, error) {
	w := recordWriter{tick: doc.Ticker{Ctx: ctx}, taken: map[string]bool{}}
	hasHeader := t.HasHeader()
	skip := hasHeader
	for row := range t.Rows() {
		for i, cell := range row.Cells[:min(len(row.Cells), maxColumns)] {
			if !skip {
				w.codes.see(i, cell)
			}
		}
		skip = false
		if err := w.tick.Err(); err != nil {
			return doc.Value{}, err
		}
	}
	for row := range t.Rows() {
		var err error
		if len(w.names) == 0 && hasHeader {
			w.header(row.Cells)
		} else {
			err = w.row(row)
		}
		if err != nil {
			return doc.Value{}, err
		}
	}
	return doc.Value{Kind: doc.JSONLines, Data: w.out, Unit: "lines", Items: w.n, Total: w.n}, nil
}

// A recordWriter turns rows into JSON Lines.
type recordWriter struct {
	tick  doc.Ticker
	codes codes
	names [][]byte // of columns, as JSON strings
	taken map[string]bool
	rest  []byte // the name of the list of what maxColumns leaves over, once it is needed
	out   []byte
	n     int // records
}

// header names the columns by the first row.
func (w *recordWriter) header(cells []string) {
	for i, cell := range cells[:min(len(cells), maxColumns)] {
		name := strings.ToValidUTF8(strings.Trim(cell, "\" "), "\ufffd")
		if name == "" {
			name = "column_" + strconv.Itoa(i+1)
		}
		w.names = append(w.names, w.unused(name))
	}
}

// unused is name, or name_2 and so on if there is such a column already.
func (w *recordWriter) unused(name string) []byte {
	s := name
	for n := 2; w.taken[s]; n++ {
		s = name + "_" + strconv.Itoa(n)
	}
	w.taken[s] = true
	return jsonscan.AppendQuote(nil, s)
}

// row writes one record.
func (w *recordWriter) row(row Row) error {
	if len(w.out)+row.End-row.Start > maxRecordBytes {
		return &doc.Error{Code: doc.LimitMemory, Text: "the records of this table are larger than 64 MiB",
			Hint: "use proxy_search, or offset and limit for lines"}
	}
	w.out = append(w.out, '{')
	for i, cell := range row.Cells[:min(len(row.Cells), maxColumns)] {
		if i == len(w.names) {
			w.names = append(w.names, w.unused("c"+strconv.Itoa(i+1)))
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(append(w.out, w.names[i]...), ':')
		if w.codes[i].is {
			w.out = jsonscan.AppendQuote(w.out, cell)
		} else {
			w.out = appendCell(w.out, cell)
		}
	}
	if len(row.Cells) > maxColumns {
		w.more(row.Cells[maxColumns:])
	}
	w.out = append(w.out, "}\n"...)
	w.n++
	return w.tick.Err()
}

// more writes the cells that have no column.
func (w *recordWriter) more(cells []string) {
	if w.rest == nil {
		w.rest = w.unused("rest")
	}
	w.out = append(append(append(w.out, ','), w.rest...), ":["...)
	for i, cell := range cells {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = appendCell(w.out, cell)
	}
	w.out = append(w.out, ']')
}

func appendCell(dst []byte, cell string) []byte {
	if jsonscan.IsNumber(cell) {
		return append(dst, cell...)
	}
	return jsonscan.AppendQuote(dst, cell)
}
