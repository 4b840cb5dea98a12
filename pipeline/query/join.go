package query

import (
	"context"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/show"
)

// maxJoined bounds the bytes of documents that are put together.
const maxJoined = 64 << 20

// Join returns the array of documents, each as jq sees it alone: JSON Lines and records
// as arrays, other text as a string. It copies them. It is a [*doc.Error] if they are
// more than 64 MiB.
func Join(ctx context.Context, docs []doc.Value) (doc.Value, error) {
	var keys []string
	out := []byte{'['}
	for i, v := range docs {
		data, kind, err := read(ctx, v)
		if err != nil {
			return doc.Value{}, err
		}
		if len(out)+len(data) > maxJoined {
			return doc.Value{}, &doc.Error{Code: doc.LimitMemory, Text: "these results together have more than " + show.Count(maxJoined) + " bytes",
				Hint: "narrow each one first, then join those results"}
		}
		if i > 0 {
			out = append(out, ',')
		}
		switch kind {
		case jq.JSON:
			out = append(out, data...)
		case jq.Lines:
			out = append(out, '[')
			for line := range jsonscan.Lines(data) {
				if out[len(out)-1] != '[' {
					out = append(out, ',')
				}
				out = append(out, line...)
			}
			out = append(out, ']')
		default:
			out = jsonscan.AppendQuote(out, string(data))
		}
		keys = append(keys, v.Key)
	}
	v := doc.Counted(doc.JSON, append(out, ']'), nil)
	if !strings.Contains(" "+strings.Join(keys, " ")+" ", "  ") { // each has one
		v.Key = strings.Join(keys, " ")
	}
	return v, nil
}
