package records

import (
	"context"
	"strconv"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
)

// A writer writes objects as JSON Lines. A text that makes more than limit bytes of them
// has no records.
type writer struct {
	tick  doc.Ticker
	err   error // nobody waits any more
	out   []byte
	n     int // objects that are closed
	limit int
	names []string // of the members of the object that was opened last
}

// A text of n bytes may have that many of records.
func newWriter(ctx context.Context, n int) *writer {
	return &writer{tick: doc.Ticker{Ctx: ctx}, limit: min(3*n+(1<<10), maxRecordBytes)}
}

// ok reports whether the records are still within the limit, and wanted.
func (w *writer) ok() bool {
	if w.err == nil {
		w.err = w.tick.Err()
	}
	return len(w.out) <= w.limit && w.err == nil
}

// key writes the name of the next member.
func (w *writer) key(name string) {
	if last := w.out[len(w.out)-1]; last != '{' {
		w.out = append(w.out, ',')
	}
	w.names = append(w.names, name)
	w.out = append(jsonscan.AppendQuote(w.out, name), ':')
}

// text writes a member that is a string, unless it is empty.
func (w *writer) text(name string, value []byte) {
	if len(value) > 0 {
		w.key(name)
		w.out = jsonscan.AppendQuote(w.out, string(value))
	}
}

// scalar writes a member that is a number if it is spelt as one, else a string.
func (w *writer) scalar(name string, value []byte) {
	if s := string(value); jsonscan.IsNumber(s) {
		w.key(name)
		w.out = append(w.out, s...)
	} else {
		w.text(name, value)
	}
}

// number writes a member that is n.
func (w *writer) number(name string, n int) {
	w.key(name)
	w.out = strconv.AppendInt(w.out, int64(n), 10)
}

// list writes an array of n elements, which write writes.
func (w *writer) list(n int, write func(i int)) {
	w.out = append(w.out, '[')
	for i := range n {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		write(i)
	}
	w.out = append(w.out, ']')
}

func (w *writer) open() {
	w.out = append(w.out, '{')
	w.names = w.names[:0]
}

func (w *writer) close() {
	w.out = append(w.out, "}\n"...)
	w.n++
}

// records are the objects written, nil if they are too many or nobody waits for them.
func (w *writer) records(form string) (*Records, error) {
	if w.err != nil || w.n == 0 || len(w.out) > w.limit {
		return nil, w.err
	}
	return &Records{doc.Value{Kind: doc.JSONLines, Data: w.out, Unit: "lines", Items: w.n, Total: w.n}, form}, nil
}
