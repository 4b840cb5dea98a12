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
	switch form := digest.Kind(text); form {
	case csvForm, tsvForm:
		rows, err := OpenTable(text).records(ctx)
		return &Records{rows, form}, err
	}
	return nil, nil
}
