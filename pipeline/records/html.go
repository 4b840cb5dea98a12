package records

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"rlmproxy/jsonscan"
)

const (
	maxCells    = 100_000 // of a page, if that is more than one in eight bytes
	maxSpan     = 200     // columns or rows that a cell stands for
	maxSpanText = 4000    // bytes of one that stands for several; of a heading
)

// An htmlTable is one that is open, or has ended.
type htmlTable struct {
	under  string // its caption, or the heading above it
	header []string
	rows   [][]string
	outer  bool // it has another one inside, which is how pages are laid out

	row   []string
	heads int         // cells of row that are th
	below map[int]int // rows that the cell of a column goes on, of those with rowspan
	texts map[int]string
	span  [2]int // columns and rows of the open cell
	cell  *strings.Builder
}

// maxHTMLBytes are read: previews read records without a deadline, and wide tables take
// 100 ms a megabyte.
const maxHTMLBytes = 16 << 20

// readHTML reads the rows of the tables of a page, objects by the names of columns. Where
// there are several tables, a row has the number of its table, and what heading is above.
func readHTML(ctx context.Context, text []byte) (*Records, error) {
	if len(text) > maxHTMLBytes {
		return nil, nil
	}
	w := newWriter(ctx, len(text))
	z := html.NewTokenizer(bytes.NewReader(text))
	var open, done []*htmlTable
	var heading strings.Builder
	inHeading, skip, cells := false, "", 0
	closeTable := func() {
		t := open[len(open)-1]
		t.endRow()
		open = open[:len(open)-1]
		if !t.outer && len(t.rows) > 0 && len(t.header) > 1 {
			done = append(done, t)
		}
	}
	for w.ok() {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		var t *htmlTable
		if len(open) > 0 {
			t = open[len(open)-1]
		}
		if kind == html.TextToken {
			switch {
			case skip != "":
			case inHeading && heading.Len() < maxSpanText:
				heading.Write(z.Text())
			case !inHeading && t != nil && t.cell != nil:
				t.cell.Write(z.Text())
			}
			continue
		}
		if kind == html.CommentToken || kind == html.DoctypeToken {
			continue
		}
		raw, hasAttr := z.TagName()
		name, starts := string(raw), kind != html.EndTagToken
		switch name {
		case "script", "style":
			if skip = ""; kind == html.StartTagToken {
				skip = name
			}
		case "h1", "h2", "h3", "h4", "h5", "h6", "caption":
			if inHeading = starts; starts {
				heading.Reset()
			} else if name == "caption" && t != nil {
				t.under = words(heading.String())
			}
		case "table":
			if starts {
				if t != nil {
					t.outer = true
				}
				open = append(open, &htmlTable{under: words(heading.String()), below: map[int]int{}, texts: map[int]string{}})
			} else if t != nil {
				closeTable()
			}
		case "tr":
			if t != nil {
				t.endRow()
			}
		case "td", "th":
			if t == nil {
				break
			}
			t.endCell()
			if starts {
				if cells++; cells > max(maxCells, len(text)/8) || len(t.row) == maxColumns {
					return nil, nil // a part of the rows would look like all
				}
				t.begin(z, name == "th", hasAttr)
			}
		case "br", "p", "li", "div":
			if t != nil && t.cell != nil {
				t.cell.WriteByte(' ')
			}
		}
	}
	for len(open) > 0 && w.ok() {
		closeTable()
	}
	for i, t := range done {
		for _, row := range t.rows {
			w.open()
			if len(done) > 1 {
				w.number("table", i+1)
				w.text("under", []byte(t.under))
			}
			t.write(w, row)
			w.close()
			if !w.ok() {
				return w.records("HTML")
			}
		}
	}
	return w.records("HTML")
}

// words is text as a browser shows it.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// begin begins a cell.
func (t *htmlTable) begin(z *html.Tokenizer, head, hasAttr bool) {
	t.cell, t.span = &strings.Builder{}, [2]int{1, 1}
	if head {
		t.heads++
	}
	for hasAttr {
		var key, value []byte
		key, value, hasAttr = z.TagAttr()
		if n, err := strconv.Atoi(string(value)); err == nil && n > 1 {
			switch string(key) {
			case "colspan":
				t.span[0] = min(n, maxSpan)
			case "rowspan":
				t.span[1] = min(n, maxSpan)
			}
		}
	}
}

// endCell adds the cell that is open to the row, behind those that rows above reach into.
func (t *htmlTable) endCell() {
	if t.cell == nil {
		return
	}
	text := words(t.cell.String())
	t.cell = nil
	t.fromAbove()
	for n := range t.span[0] {
		if len(t.row) == maxColumns {
			return
		}
		if n > 0 && len(text) > maxSpanText {
			text = ""
		}
		if t.span[1] > 1 && len(text) <= maxSpanText {
			t.below[len(t.row)], t.texts[len(t.row)] = t.span[1]-1, text
		}
		t.row = append(t.row, text)
	}
}

func (t *htmlTable) fromAbove() {
	for t.below[len(t.row)] > 0 && len(t.row) < maxColumns {
		t.below[len(t.row)]--
		t.row = append(t.row, t.texts[len(t.row)])
	}
}

// endRow ends the row that is open. The first of a table names its columns if all its
// cells are heads.
func (t *htmlTable) endRow() {
	t.endCell()
	if len(t.row) == 0 {
		return
	}
	t.fromAbove()
	if t.header == nil {
		isHeader := t.heads > 1
		for i := range t.row {
			name := "c" + strconv.Itoa(i+1)
			if isHeader && t.row[i] != "" {
				name = t.row[i]
			}
			t.header = append(t.header, name)
		}
		unique(t.header)
		if isHeader {
			t.row, t.heads = nil, 0
			return
		}
	}
	if len(t.header) < len(t.row) {
		for len(t.header) < len(t.row) {
			t.header = append(t.header, "c"+strconv.Itoa(len(t.header)+1))
		}
		unique(t.header)
	}
	if slices.ContainsFunc(t.row, func(cell string) bool { return cell != "" }) {
		t.rows = append(t.rows, t.row)
	}
	t.row, t.heads = nil, 0
}

// unique makes names different that are the same.
func unique(names []string) {
	taken := map[string]bool{"table": true, "under": true}
	next := map[string]int{} // numbers of a name, those before it are taken
	for i, name := range names {
		for taken[names[i]] {
			n := max(2, next[name])
			names[i], next[name] = name+"_"+strconv.Itoa(n), n+1
		}
		taken[names[i]] = true
	}
}

func (t *htmlTable) write(w *writer, row []string) {
	for i, cell := range row {
		w.key(t.header[i])
		if jsonscan.IsNumber(cell) {
			w.out = append(w.out, cell...)
		} else {
			w.out = jsonscan.AppendQuote(w.out, cell)
		}
	}
}
