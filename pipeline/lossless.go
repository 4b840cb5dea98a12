package pipeline

import (
	"context"

	"rlmproxy/pipeline/tokens"
)

// minified is v without the white space of JSON, if that is within budget.
func minified(v Value, budget int) (Value, bool) {
	if tokens.AtMost(v.Data, budget) {
		return v, true
	}
	// A token is 128 bytes at most, and white space is most of what minifying
	// saves, so what is far longer is not tried.
	if v.Kind == Text || len(v.Data)/512 > budget {
		return v, false
	}
	compact, err := (&Format{As: "json"}).Apply(context.Background(), v)
	return compact, err == nil && tokens.AtMost(compact.Data, budget)
}

// Lossless returns a form of v that says everything v does in at most budget
// tokens, and false if there is none: v itself, minified JSON, or else the
// table of [Format]. A Note tells when it is not v itself.
func Lossless(v Value, budget int) (Value, bool) {
	if tokens.AtMost(v.Data, budget) {
		return v, true
	}
	if v.Kind == Text || len(v.Data)/512 > budget {
		return v, false
	}
	ctx := context.Background()
	compact, err := (&Format{As: "json"}).Apply(ctx, v)
	if err == nil && tokens.AtMost(compact.Data, budget) {
		compact.addNote("minified, nothing left out")
		return compact, true
	}
	rows, err := (&Format{As: "table"}).Apply(ctx, v)
	if err == nil && tokens.AtMost(rows.Data, budget) {
		rows.addNote("as a table, nothing left out; an empty cell is a missing field")
		return rows, true
	}
	return v, false
}
