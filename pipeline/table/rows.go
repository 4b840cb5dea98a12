package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
)

// errQuote says that a quote is not closed, or stands inside of a cell.
var errQuote = errors.New("read CSV: a quote that is none")

// A rowReader reads the rows of CSV or TSV as [csv.Reader] does, without a
// string for each.
type rowReader struct {
	data  []byte // what is not read yet
	sep   byte
	lines bool // a row is a line, whatever its quotes

	cells []cell // of the row
	src   []byte // where those are that stand there as they are
	text  []byte // where those are that were quoted
}

// A cell is a part of the source, or of the text if it was quoted. A slice each
// would be a write barrier each, while the garbage collector runs.
type cell struct {
	from, to int
	quoted   bool
}

func NewRowReader(data []byte, sep byte, lines bool) rowReader {
	return rowReader{data: data, src: data, sep: sep, lines: lines}
}

// Next reads the next row that is not blank, and reports whether there is one.
// The error is [errQuote]; there is none if r reads lines.
func (r *rowReader) Next() (bool, error) {
	for len(r.data) > 0 {
		r.cells, r.text = r.cells[:0], r.text[:0]
		at := len(r.src) - len(r.data)
		line, end := r.line()
		switch {
		case bytes.IndexByte(line, '"') < 0:
			r.plain(at, line)
		case r.lines:
			if err := r.lazy(line); err != nil {
				return false, err
			}
		default:
			if err := r.quoted(line, end); err != nil {
				return false, err
			}
		}
		if len(r.cells) > 1 || len(bytes.TrimSpace(r.cell(0))) > 0 {
			return true, nil
		}
	}
	r.cells = nil
	return false, nil
}

// cell returns one of the row, until the next.
func (r *rowReader) cell(i int) []byte {
	c := r.cells[i]
	if c.quoted {
		return r.text[c.from:c.to]
	}
	return r.src[c.from:c.to]
}

// Row returns a copy of the cells, nil at the end.
func (r *rowReader) Row() (cells [][]byte) {
	for i := range r.cells {
		cells = append(cells, bytes.Clone(r.cell(i)))
	}
	return cells
}

// line takes the next line, and what stood at its end: a newline, or nothing.
func (r *rowReader) line() (line, end []byte) {
	line = r.data
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line, end = line[:i], line[i:i+1]
	}
	r.data = r.data[len(line)+len(end):]
	return bytes.TrimSuffix(line, []byte{'\r'}), end
}

// plain splits a line without quotes, which stands at from.
func (r *rowReader) plain(from int, line []byte) {
	end := from + len(line)
	for {
		i := bytes.IndexByte(line, r.sep)
		if i < 0 {
			r.cells = append(r.cells, cell{from: from, to: end})
			return
		}
		r.cells = append(r.cells, cell{from: from, to: from + i})
		from, line = from+i+1, line[i+1:]
	}
}

// quoted splits a line with quotes, and takes those behind it that its last
// cell goes on in.
func (r *rowReader) quoted(line, end []byte) error {
	for {
		from := len(r.text)
		if len(line) == 0 || line[0] != '"' {
			text, rest, more := bytes.Cut(line, []byte{r.sep})
			if bytes.IndexByte(text, '"') >= 0 {
				return errQuote
			}
			r.text = append(r.text, text...)
			r.cells = append(r.cells, cell{from, len(r.text), true})
			if !more {
				return nil
			}
			line = rest
			continue
		}
		line = line[1:]
		for closed := false; !closed; {
			i := bytes.IndexByte(line, '"')
			switch {
			case i < 0 && len(r.data) == 0:
				return errQuote
			case i < 0:
				r.text = append(append(r.text, line...), end...)
				line, end = r.line()
			case i+1 < len(line) && line[i+1] == '"':
				r.text = append(r.text, line[:i+1]...)
				line = line[i+2:]
			default:
				r.text = append(r.text, line[:i]...)
				line = line[i+1:]
				closed = true
			}
		}
		r.cells = append(r.cells, cell{from, len(r.text), true})
		switch {
		case len(line) == 0:
			return nil
		case line[0] != r.sep:
			return errQuote
		}
		line = line[1:]
	}
}

// lazy splits a line whose quotes are not those of cells.
func (r *rowReader) lazy(line []byte) error {
	// The reader takes a carriage return from the end.
	c := csv.NewReader(bytes.NewReader(append(bytes.Clone(line), '\r')))
	c.Comma = rune(r.sep)
	c.LazyQuotes = true
	cells, err := c.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read CSV: %w", err)
	}
	for _, c := range cells {
		from := len(r.text)
		r.text = append(r.text, c...)
		r.cells = append(r.cells, cell{from, len(r.text), true})
	}
	return nil
}
