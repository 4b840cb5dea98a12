// Package render writes a document another way: minified, as a table, as lines
// or as text, and in the shortest form that loses nothing.
package render

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/records"
	"rlmproxy/pipeline/show"
)

// Format writes a document another way. It is a stage; the zero Format
// is "json", and leaves text as it is.
//
//	json   minified JSON; JSON Lines stay lines
//	table  a line of field names, a line per record, cells between |
//	lines  one minified JSON value a line: elements of an array, {"key":value} of an object
//	text   strings, and those of an array that has some, without quotes, a line each;
//	       another array or an object as it is, with its own white space;
//	       a document with text around its JSON, or with NaN, as it came
//
// A table loses nothing but the order of keys: a cell is a plain string, or
// JSON where that could be mistaken; an empty cell is a field that the
// record lacks.
//
// Of a text made of records, json, table and lines are of those. Other text
// stays as it is with lines and text.
type Format struct {
	As string // "json", "table", "lines" or "text"; empty means "json"
}

func (f *Format) String() string { return "format " + f.As }

// Check is a [*doc.Error] for an unknown form.
func (f *Format) Check() error {
	switch f.As {
	case "", "json", "table", "lines", "text":
		return nil
	}
	return doc.Invalid(`"format" is json, table, lines or text`, "unknown format %s", show.Quote(show.Clip(f.As, 40)))
}

// Apply is a [*doc.Error] for an unknown form, for text as json or a table,
// and for a table of what are no records.
func (f *Format) Apply(ctx context.Context, in doc.Value) (doc.Value, error) {
	t := doc.Ticker{Ctx: ctx}
	if err := f.Check(); err != nil {
		return doc.Value{}, err
	}
	if f.As == "text" && in.Whole != nil {
		return in.AsText(), nil
	}
	if in.Kind == doc.Text {
		if f.As == "" || f.As == "text" {
			return in, nil
		}
		rows, ok, err := records.Of(ctx, in)
		switch {
		case err != nil:
			return doc.Value{}, err
		case ok:
			in = rows.Value
		case f.As == "lines":
			return in, nil
		case in.Items != in.Total:
			return doc.Value{}, doc.Invalid(`leave "format" out, or select records with "jq":".[20:40]" instead of offset and limit`,
				"format %s needs JSON; this is a part of a text", f.As)
		default:
			return doc.Value{}, doc.Invalid(`leave "format" out`, "format %s needs JSON or a text made of records; this is neither", f.As)
		}
	}
	var (
		out  []byte
		kind = doc.Text
		err  error
	)
	switch f.As {
	case "table":
		if trimmed := bytes.TrimSpace(in.Data); len(trimmed) == 0 || bytes.Equal(trimmed, []byte("[]")) {
			return in, nil // no rows
		}
		var ok bool
		if out, ok = asTable(in, &t); !ok {
			if err := ctx.Err(); err != nil {
				return doc.Value{}, err
			}
			return doc.Value{}, doc.Invalid(`use "format":"lines", or select records first, e.g. "jq":"[.[] | {name, id}]"`,
				"a table needs an array of objects without repeated keys")
		}
	case "lines":
		kind = doc.JSONLines
		out, err = appendLines(nil, in, &t, jsonscan.AppendMinified)
	case "text":
		if IsItself(in) {
			return doc.Derive(in, doc.Text, in.Data), nil
		}
		out, err = appendLines(nil, in, &t, appendText)
	default:
		kind = in.Kind
		if in.Kind == doc.JSONLines {
			out, err = appendLines(nil, in, &t, jsonscan.AppendMinified)
		} else {
			out = jsonscan.AppendMinified(nil, in.Data)
		}
	}
	if err != nil {
		return doc.Value{}, err
	}
	v := doc.Derive(in, kind, out)
	if f.As != "text" {
		v.Unit, v.Items, v.Total = in.Unit, in.Items, in.Total
	}
	return v, nil
}

// appendLines writes the items of v, each by one, a line each.
func appendLines(dst []byte, v doc.Value, t *doc.Ticker, one func(dst, value []byte) []byte) ([]byte, error) {
	switch {
	case v.Kind == doc.JSON && jsonscan.Kind(v.Data) == '{':
		for key, value := range jsonscan.Fields(v.Data) {
			dst = append(append(append(dst, '{'), key...), ':')
			dst = append(jsonscan.AppendMinified(dst, value), "}\n"...)
			if err := t.Err(); err != nil {
				return nil, err
			}
		}
	case v.Kind == doc.JSON && jsonscan.Kind(v.Data) != '[':
		dst = append(one(dst, v.Data), '\n')
	default:
		for _, value := range doc.Items(v) {
			dst = append(one(dst, value), '\n')
			if err := t.Err(); err != nil {
				return nil, err
			}
		}
	}
	return dst, nil
}

func appendText(dst, value []byte) []byte {
	if value = bytes.TrimSpace(value); jsonscan.Kind(value) == '"' {
		return append(dst, jsonscan.Unquote(value)...)
	}
	return append(dst, value...)
}

// IsItself reports whether "text" leaves v as it is: it is text, an object, or an array
// without strings.
func IsItself(v doc.Value) bool {
	switch k := jsonscan.Kind(v.Data); {
	case v.Kind != doc.JSON:
		return v.Kind == doc.Text
	case k == '[':
		for _, item := range jsonscan.Items(v.Data) {
			if jsonscan.Kind(item) == '"' {
				return false
			}
		}
		return true
	default:
		return k == '{'
	}
}

// asTable writes records as rows, and reports false for what has none. The
// columns are in the order of first appearance.
func asTable(v doc.Value, t *doc.Ticker) ([]byte, bool) {
	if v.Kind == doc.JSON && jsonscan.Kind(v.Data) != '[' {
		return nil, false
	}
	var (
		columns []string
		at      = map[string]int{}
		rows    [][][]byte
	)
	for _, record := range doc.Items(v) {
		if jsonscan.Kind(record) != '{' || t.Err() != nil {
			return nil, false
		}
		row := make([][]byte, len(columns))
		for key, value := range jsonscan.Fields(record) {
			name := jsonscan.Unquote(key)
			i, known := at[name]
			if !known {
				// Thousands of columns are a map, which no table shows well.
				if i = len(columns); i >= 500 {
					return nil, false
				}
				at[name] = i
				columns = append(columns, name)
			}
			for len(row) <= i {
				row = append(row, nil)
			}
			if row[i] != nil {
				return nil, false
			}
			row[i] = value
		}
		rows = append(rows, row)
	}
	if len(columns) == 0 {
		return nil, false
	}
	var out []byte
	for i, name := range columns {
		if i > 0 {
			out = append(out, '|')
		}
		out = AppendCell(out, jsonscan.AppendQuote(nil, name))
	}
	for _, row := range rows {
		out = append(out, '\n')
		for i := range columns {
			if i > 0 {
				out = append(out, '|')
			}
			if i < len(row) && row[i] != nil {
				out = AppendCell(out, row[i])
			}
		}
	}
	return append(out, '\n'), true
}

// AppendCell writes a value so that it reads back: a string without quotes
// only if nothing else looks like it.
func AppendCell(dst, value []byte) []byte {
	if value[0] != '"' {
		// Compact JSON has a bare | only inside strings, where the JSON
		// escape says the same.
		cell := jsonscan.AppendMinified(nil, value)
		return append(dst, bytes.ReplaceAll(cell, []byte{'|'}, []byte(`\u007c`))...)
	}
	s := value[1 : len(value)-1]
	plain := len(s) > 0 && !jsonscan.IsSpace(s[0]) && !jsonscan.IsSpace(s[len(s)-1]) &&
		!slices.Contains([]byte(`"{[`), s[0]) && !bytes.ContainsAny(s, "|\\") && !json.Valid(s)
	if plain {
		return append(dst, s...)
	}
	return append(dst, bytes.ReplaceAll(value, []byte{'|'}, []byte(`\u007c`))...)
}
