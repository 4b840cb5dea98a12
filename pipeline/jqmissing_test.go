package pipeline

import (
	"errors"
	"testing"
)

// TestMissingFields: a program that names a field which is not there hears of it,
// since what it gives reads like an answer: null, or that there are none.
func TestMissingFields(t *testing.T) {
	const (
		rows  = `[{"city":"Oslo","amount":3,"at":{"x":null}},{"city":"Rome","amount":4,"at":{"x":1}}]`
		deep  = `{"ok":true,"data":{"rows":[{"amount":3,"name":"a"}]}}`
		table = "city,amount\nOslo,3\nRome,4\nLima,5\n"
	)
	for _, tt := range []struct{ doc, program, want string }{
		{rows, `.[] | .cty`, "no field cty in the data; nearest: [].city"},
		{rows, `map(select(.cty == "Oslo")) | length`, "no field cty in the data; nearest: [].city"},
		{rows, `.[] | select(.cty == "Oslo") | .amount`, "the program gave no output; no field cty in the data; nearest: [].city"},
		{rows, `[.[].at.y]`, ""}, // says something
		{rows, `.[0].at.y`, "no field [0].at.y in the data; nearest: [].at.x, [].at"},
		{rows, `.[0].at.x`, ""},
		{rows, `map(select(.city == "Bonn")) | length`, ""},
		{rows, `map({n: .city}) | map(select(.n == "Bonn")) | length`, ""},
		{rows, `map(select(.city == ".cty")) | length`, ""},
		{deep, `.rows`, "no field rows in the data; nearest: data.rows"},
		{deep, `.rows | max_by(.amount)`, "bad_jq: no field rows in the data; nearest: data.rows"},
		{deep, `.rows[0].amout`, "no field rows[0].amout in the data; nearest: data.rows[].amount"},
		{deep, `[.rows[] | select(.amount > 9)] | length`, "bad_jq: no field rows in the data; nearest: data.rows"},
		{deep, `.data.rows[] | select(.amount > 9)`, "the program gave no output"},
		{deep, `.data["rows"][0].nil`, ""},
		{deep, `.ok | not`, ""},
		{table, `map(select(.town == "Oslo")) | length`, "no field town in the data; nearest: [].city, [].amount"},
		{table, `map(select(.city == "Bonn")) | length`, ""},
		{`{"caf\u00e9":1}`, `.cafe`, ""},
	} {
		out, err := (&JQ{Program: tt.program}).Apply(t.Context(), Recognise([]byte(tt.doc), nil))
		got := out.Note
		var e *Error
		if errors.As(err, &e) {
			got = e.Code + ": " + e.Hint
		}
		if got != tt.want {
			t.Errorf("%s: %q (%s), want %q", tt.program, got, out.Data, tt.want)
		}
	}
}
