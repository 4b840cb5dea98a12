package records

import (
	"bytes"
	"context"

	"rlmproxy/pipeline/digest/columns"
)

// readBlanks reads a table made of blanks whose columns have names, as kubectl and ps
// write it. Numbers are numbers, unless they have a unit. It is nil for a table without
// names, or of which one line in ten is no row.
func readBlanks(ctx context.Context, text []byte) (*Records, error) {
	t := columns.Find(text)
	if t == nil || t.Header < 0 {
		return nil, nil
	}
	w := newWriter(ctx, len(text))
	n, odd := -1, 0
	for line := range bytes.Lines(text) {
		if n++; n < t.First || len(bytes.Trim(line, "-=+ \r\n")) == 0 {
			continue
		}
		cells, ok := t.Cells(bytes.TrimRight(line, " \r\n"))
		if !ok {
			odd++
			continue
		}
		w.open()
		for i, cell := range cells {
			w.scalar(t.Names[i], []byte(cell))
		}
		if w.close(); !w.ok() {
			break
		}
	}
	if 10*odd > w.n {
		return nil, w.tick.Ctx.Err()
	}
	return w.records("table")
}
