package find

import (
	"bytes"
	"context"
	"sort"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
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
	many   bool // of JSON Lines: values on the top level are counted
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

// pathsAt tells for offsets of a JSON text, in ascending order, the path of
// the value that stands there; for a key, that of its value.
func pathsAt(text []byte, offsets []int, many bool) []doc.Path {
	out := make([]doc.Path, 0, len(offsets))
	var at doc.Path
	if many {
		at = doc.Path{{Kind: doc.StepIndex}}
	}
	base := len(at)
	// A frame of the stack is the last step of at. In an object it is the
	// key read last, of which an empty one stands for none yet.
	var objects []bool
	emit := func(before int) {
		for len(out) < len(offsets) && offsets[len(out)] < before {
			out = append(out, append(doc.Path(nil), at...))
		}
	}
	expectKey := false
	for i := 0; i < len(text) && len(out) < len(offsets); {
		switch c := text[i]; {
		case c == '"':
			end := jsonscan.SkipString(text, i)
			if expectKey {
				at[len(at)-1].Key = jsonscan.Unquote(text[i:end])
				expectKey = false
			}
			emit(end)
			i = end
			continue
		case c == '{' || c == '[':
			emit(i + 1)
			objects = append(objects, c == '{')
			step := doc.Step{}
			if c == '[' {
				step.Kind = doc.StepIndex
			}
			at = append(at, step)
			expectKey = c == '{'
		case c == '}' || c == ']':
			if len(at) > base {
				at = at[:len(at)-1]
				objects = objects[:len(objects)-1]
			}
			expectKey = false
			emit(i + 1)
			if len(at) == base && many {
				at[0].Index++
			}
		case c == ',':
			emit(i + 1)
			if n := len(objects); n > 0 && objects[n-1] {
				expectKey = true
			} else if n > 0 {
				at[len(at)-1].Index++
			}
		}
		i++
	}
	emit(len(text) + 1)
	return out
}

// hitPaths returns the path of each hit, in the order of hits.
func (w *view) hitPaths(hits []search.Hit) []doc.Path {
	if !w.isJSON {
		return nil
	}
	order := make([]int, len(hits))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return hits[order[a]].Start < hits[order[b]].Start })
	offsets := make([]int, len(hits))
	for i, h := range order {
		offsets[i] = hits[h].Start
	}
	paths := make([]doc.Path, len(hits))
	for i, p := range pathsAt(w.text, offsets, w.many) {
		paths[order[i]] = p
	}
	return paths
}
