// Package records makes JSON of texts that are made of records.
//
//	text ──► Of ──► Records: what jq and fields see
//	CSV  ──► OpenTable ──► Table ──► Rows: cells, and where in the text they stand
//
// Whatever asks such a text for fields sees the records; the text stays what it is for
// all else: pages, searches, "format": "text". A text that is not surely of a form has no
// records.
package records

import (
	"context"
	"slices"

	"rlmproxy/pipeline/digest"
	"rlmproxy/pipeline/doc"
)

// maxRecordBytes bounds the records of one text: names are repeated in each, so that
// 500 bytes of separators can become 60 KB.
const maxRecordBytes = 64 << 20

// Records are what jq and fields see of a text: JSON Lines, or JSON.
type Records struct {
	doc.Value
	Form string // of the text, as an agent reads it: "CSV", "TSV"
}

// Of returns the records of a text, and false for a text that has none. A page of
// lines has none: the line that names its columns may be on another.
func Of(ctx context.Context, v doc.Value) (r Records, ok bool, err error) {
	if v.Kind != doc.Text || v.Items != v.Total {
		return Records{}, false, nil
	}
	found, err := doc.Memoised(v, "records", func() (*Records, int64, error) {
		r, err := read(ctx, v.Data)
		if r == nil || err != nil {
			return nil, 64, err
		}
		return r, 64 + int64(len(r.Data)), nil
	})
	if found == nil || err != nil {
		return Records{}, false, err
	}
	r = *found
	r.Note = v.Note
	if v.Memo != nil { // what is derived from the records is kept beside them
		r.Memo = func(key string, build func() (any, int64, error)) (any, error) {
			return v.Memo("records/"+key, build)
		}
	}
	return r, true, nil
}

// read is [Of] without the memo, nil for a text without records.
func read(ctx context.Context, text []byte) (*Records, error) {
	if isCommit(text) {
		return readGit(ctx, text)
	}
	switch form := digest.Kind(text); form {
	case "diff":
		return readGit(ctx, text)
	case csvForm, tsvForm:
		rows, err := OpenTable(text).records(ctx)
		return &Records{rows, form}, err
	case "log":
		return readLog(ctx, text)
	case "table":
		return readBlanks(ctx, text)
	case "HTML":
		return readHTML(ctx, text)
	case "XML":
		return readXML(ctx, text)
	case "YAML":
		return readYAML(ctx, text)
	case "plain text", "source", "configuration":
		if r := readTOML(text); r != nil {
			return r, nil
		}
		return readINI(text), nil
	}
	return nil, nil
}

// IsTable reports that the records are the rows of CSV or TSV.
func (r *Records) IsTable() bool { return r.Form == csvForm || r.Form == tsvForm }

// given are the names of fields that stand in no text: its records have them.
var given = []string{
	"time", "level", "source", "tag", "message", "host", "program", "pid", "fields", "rest", // logs
	"ip", "user", "method", "path", "query", "protocol", "request", "status", "bytes", "referer", "agent",
	"hash", "refs", "merge", "author", "email", "date", "subject", "body", "files", // git
	"old_path", "added", "deleted", "hunks", "header", "lines",
	"table", "under", // HTML
}

// Gives reports whether records can have a field of that name without the text having it.
func Gives(name string) bool { return slices.Contains(given, name) }
