// Package items divides a document into what one question is asked about, item by item, and
// writes it again with the answers.
//
//	Value ─► Divide ─► List: texts for a model ─► With(column, answers) ─► the records with one column more
package items

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/page"
	"rlmproxy/pipeline/project"
	"rlmproxy/pipeline/records"
	"rlmproxy/pipeline/show"
	"rlmproxy/search"
)

// Kinds are what an item may be. An empty kind is a record, or a line where there are none.
var Kinds = []string{"record", "line", "passage", "whole"}

// Max is how many items a document may have.
const Max = 50_000

// A List is the items of a document.
type List struct {
	Kind  string   // one of Kinds
	Texts []string // one for each item: a record is minified JSON
	rows  [][]byte // the records that they become, objects; shared with the document, never modified
	at    string   // where in the document the records are, as a path; "" is the document
}

// Divide divides a document. Blank lines and passages are no items. The error is a
// [*doc.Error] where there are no such items, or more than [Max].
func Divide(ctx context.Context, v doc.Value, kind string) (*List, error) {
	l := &List{Kind: kind}
	var err error
	switch kind {
	case "whole":
		l.Texts, l.rows = []string{string(v.AsText().Data)}, [][]byte{[]byte("{}")}
	case "line":
		l.lines(v.AsText().Data)
	case "passage":
		l.passages(v.AsText().Data)
	default:
		var ok bool
		if ok, err = l.records(ctx, v); !ok && err == nil {
			err = l.otherwise(v)
		}
	}
	if err == nil && len(l.Texts) > Max {
		err = doc.Invalid(`select fewer with jq, as in "jq":".[:1000]"`, "the document has more than %s %ss, which is what can be asked about at once", show.Count(Max), l.Kind)
	}
	return l, err
}

// otherwise is for a document without records.
func (l *List) otherwise(v doc.Value) error {
	switch {
	case v.Kind == doc.Text && l.Kind == "":
		l.Kind = "line"
		l.lines(v.Data)
		return nil
	case v.Kind == doc.Text:
		return doc.Invalid(`use "each":"line" or "passage"`, "this text is not made of records")
	}
	return doc.Invalid(`select the list with jq, as in "jq":".items[]", or use "each":"whole"`, "this JSON is not a list of records, and none stands out in it")
}

// records finds the records of a document: its elements, or those of the list that it is about.
func (l *List) records(ctx context.Context, v doc.Value) (ok bool, err error) {
	if v.Kind == doc.Text {
		rows, ok, err := records.Of(ctx, v)
		if !ok || err != nil {
			return false, err
		}
		v = rows.Value
	}
	if list, below := page.Below(v); below {
		v, l.at = list.Value, list.At.String()
	}
	if v.Kind == doc.JSON && jsonscan.Kind(v.Data) != '[' {
		return false, nil
	}
	l.Kind = "record"
	t := doc.Ticker{Ctx: ctx}
	for _, item := range doc.Items(v) {
		if err := t.Err(); err != nil {
			return false, err
		}
		if item = bytes.TrimSpace(item); len(item) > 0 {
			l.add(string(jsonscan.AppendMinified(nil, item)), item)
		}
		if len(l.Texts) > Max {
			break
		}
	}
	return true, nil
}

func (l *List) add(text string, row []byte) {
	if jsonscan.Kind(row) != '{' {
		row = jsonscan.Object("value", row)
	}
	l.Texts, l.rows = append(l.Texts, text), append(l.rows, row)
}

// lines has an item for each line that is not blank, whose record has its number, from 1.
func (l *List) lines(text []byte) {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimRight(line, "\r\n"); len(bytes.TrimSpace(line)) > 0 && len(l.Texts) <= Max {
			l.add(string(line), row(n, line))
		}
	}
}

// passages likewise: a passage has the number of its first line.
func (l *List) passages(text []byte) {
	n, at := 1, 0
	for _, s := range search.Passages(text) {
		n += bytes.Count(text[at:s.Start], []byte{'\n'})
		at = s.Start
		if passage := bytes.TrimRight(text[s.Start:s.End], "\r\n"); len(bytes.TrimSpace(passage)) > 0 && len(l.Texts) <= Max {
			l.add(string(passage), row(n, passage))
		}
	}
}

func row(n int, text []byte) []byte {
	return jsonscan.With(jsonscan.Object("line", fmt.Append(nil, n)), "text", jsonscan.Quote(string(text)))
}

// Narrow leaves of the texts some fields of the records, by paths from a record or from the
// document. The records themselves stay whole. The error is a [*doc.Error].
func (l *List) Narrow(ctx context.Context, fields, exclude []string) error {
	if len(fields)+len(exclude) == 0 || len(l.Texts) == 0 {
		return nil
	}
	if l.Kind != "record" {
		return doc.Invalid("leave them out, or select with jq", "fields and exclude are of records, and the items are %ss", l.Kind)
	}
	v := doc.Counted(doc.JSON, []byte("["+strings.Join(l.Texts, ",")+"]"), nil)
	out, err := (&project.Project{Fields: fields, Exclude: exclude}).Apply(ctx, v)
	if err != nil && l.at != "" {
		below := &project.Project{Fields: l.below(fields), Exclude: l.below(exclude)}
		if again, e := below.Apply(ctx, v); e == nil {
			out, err = again, nil
		}
	}
	if err != nil {
		return err
	}
	var texts []string
	for _, item := range doc.Items(out) {
		texts = append(texts, string(item))
	}
	if len(texts) != len(l.Texts) {
		return doc.Invalid("leave fields and exclude out", "some items are no objects, and have no such fields")
	}
	l.Texts = texts
	return nil
}

// below are paths from the document as those from a record.
func (l *List) below(paths []string) []string {
	paths = slices.Clone(paths)
	for i, path := range paths {
		for _, begin := range []string{l.at + "[].", l.at + "."} {
			if rest, ok := strings.CutPrefix(strings.TrimPrefix(path, "."), begin); ok {
				paths[i] = rest
				break
			}
		}
	}
	return paths
}

// Has reports whether some record has a field of this name.
func (l *List) Has(field string) bool {
	return slices.ContainsFunc(l.rows, func(row []byte) bool { return jsonscan.Member(row, field) != nil })
}

// An Answer is what one record gets. Nil is left out, but for Value, which is null then.
type Answer struct{ Value, Confidence []byte }

// With is the records as an array, each with its answer in a column, and beside it the
// confidence, where there is one.
func (l *List) With(column string, answers []Answer) []byte {
	out := []byte{'['}
	for i, row := range l.rows {
		if i > 0 {
			out = append(out, ",\n"...)
		}
		value := answers[i].Value
		if value == nil {
			value = []byte("null")
		}
		row = jsonscan.With(jsonscan.AppendMinified(nil, row), column, value)
		if c := answers[i].Confidence; c != nil {
			row = jsonscan.With(row, column+"_confidence", c)
		}
		out = append(out, row...)
	}
	return append(out, ']')
}
