package find

import (
	"bytes"
	"context"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/search"
)

// maxIndent is where indentation stops to grow: at 1,000 levels it would be
// most of the text.
const maxIndent = 20

// A view is the text in which a search looks.
type view struct {
	text   []byte
	lines  *search.LineTable
	isJSON bool
	many   bool   // of JSON Lines: values on the top level are counted
	kind   string // of a text, see [digest.Kind]
	head   string // of a table: a line that names its columns, or ""
}

// viewOf returns text as it is, JSON indented, and a JSON string decoded.
func viewOf(ctx context.Context, v doc.Value) (*view, error) {
	return doc.Memoised(v, "search-view", func() (*view, int64, error) {
		w := &view{text: v.Data, isJSON: v.Kind != doc.Text, many: v.Kind == doc.JSONLines}
		var size int64
		switch {
		case v.Kind == doc.JSON && jsonscan.Kind(v.Data) != '"':
			w.text = appendIndented(nil, v.Data)
			size = int64(len(w.text))
		case v.Kind == doc.JSONLines:
			var text []byte
			for line := range jsonscan.Lines(v.Data) {
				text = append(appendIndented(text, line), '\n')
			}
			w.text, size = text, int64(len(text))
		default:
			// Log text as one JSON string has its lines inside.
			if s := bytes.TrimSpace(v.Data); len(s) > 1 && s[0] == '"' && jsonscan.Valid(s, 0) {
				w.text, w.isJSON = []byte(jsonscan.Unquote(s)), false
				size = int64(len(w.text))
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		w.lines = search.NewLineTable(w.text)
		if !w.isJSON {
			w.kind, w.head = digest.Kind(w.text), columns(v, w.text)
		}
		return w, size + w.lines.SizeBytes(), nil
	})
}

// appendIndented writes a value a line, two spaces a level.
func appendIndented(dst, data []byte) []byte {
	depth := 0
	line := func() {
		dst = append(dst, '\n')
		for range min(depth, maxIndent) {
			dst = append(dst, "  "...)
		}
	}
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c == '"':
			end := jsonscan.SkipString(data, i)
			dst = append(dst, data[i:end]...)
			i = end
			continue
		case jsonscan.IsSpace(c):
		case c == '{' || c == '[':
			dst = append(dst, c)
			if j := jsonscan.SkipSpace(data, i+1); j < len(data) && data[j] == c+2 { // ] and } follow their brackets by two
				dst = append(dst, c+2)
				i = j
				break
			}
			depth++
			line()
		case c == '}' || c == ']':
			depth--
			line()
			dst = append(dst, c)
		case c == ',':
			dst = append(dst, c)
			line()
		case c == ':':
			dst = append(dst, ": "...)
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// columns is a line that names the columns of a table, "" for a text that is none.
func columns(v doc.Value, text []byte) string {
	const head = 4 << 10 // a table with quotes is read to its end to open it
	if len(text) > head {
		text = text[:bytes.LastIndexByte(text[:head], '\n')+1]
	}
	rows := rowsOf(v, text)
	if rows == nil || !rows.HasHeader() {
		return ""
	}
	for row := range rows.Rows() {
		return columnsLine(text[row.Start:row.End])
	}
	return ""
}

func columnsLine(row []byte) string {
	return "columns: " + show.Clip(show.Printable(bytes.TrimSpace(row)), maxPassage) + "\n"
}

// A place is where something stands in JSON: the path of its value, and where the
// container that each step is in begins.
type place struct {
	path   doc.Path
	starts []int
}

// pathsAt returns the paths at offsets in a JSON text, see [visitPlaces].
func pathsAt(text []byte, offsets []int, many bool) []doc.Path {
	hits := make([]search.Hit, len(offsets))
	for i, at := range offsets {
		hits[i].Start = at
	}
	out := make([]doc.Path, len(hits))
	visitPlaces(text, hits, many, func(i int, p place) bool {
		out[i] = slices.Clone(p.path)
		return true
	})
	return out
}

// visitPlaces tells for the starts of hits in a JSON text, in its order, the place of the
// value that stands there; for a key, that of its value. With many, the text is JSON
// Lines: their array, which begins nowhere. A place is valid until visit returns.
func visitPlaces(text []byte, hits []search.Hit, many bool, visit func(i int, p place) bool) {
	order := make([]int, len(hits)) // the first in the text first
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return hits[a].Start - hits[b].Start })
	// The last step of at is in the innermost container: the key or the index read
	// last.
	var at doc.Path
	var starts []int
	if many {
		at, starts = doc.Path{{Kind: doc.StepIndex}}, []int{-1}
	}
	top := len(at)
	found := func(before int) { // what stands before an offset is at at
		for len(order) > 0 && hits[order[0]].Start < before {
			if !visit(order[0], place{at, starts}) {
				order = nil
				return
			}
			order = order[1:]
		}
	}
	isKey := false // the next string is one
	for i := 0; i < len(text) && len(order) > 0; {
		c := text[i]
		switch end := i + 1; c {
		case '{', '[':
			found(end)
			step := doc.Step{}
			if isKey = c == '{'; !isKey {
				step.Kind = doc.StepIndex
			}
			at, starts = append(at, step), append(starts, i)
			i = end
			continue
		case ',':
			found(end)
			if last := &at[len(at)-1]; last.Kind == doc.StepIndex {
				last.Index++
			} else {
				isKey = true
			}
			i = end
			continue
		case ' ', '\n', '\r', '\t', ':':
			i = end
			continue
		case '}', ']':
			at, starts, isKey = at[:len(at)-1], starts[:len(starts)-1], false
			found(end)
			i = end
		case '"':
			i = jsonscan.SkipString(text, i)
			if isKey {
				at[len(at)-1].Key, isKey = jsonscan.Unquote(text[end-1:i]), false
				found(i)
				continue
			}
			found(i)
		default: // a number, true, false or null
			for i = end; i < len(text) && bytes.IndexByte([]byte(",]} \n\r\t"), text[i]) < 0; {
				i++
			}
			found(i)
		}
		if many && len(at) == top { // a line has ended
			at[0].Index++
		}
	}
	found(len(text) + 1)
}
