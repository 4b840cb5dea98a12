package query

import (
	"errors"
	"strings"
	"testing"

	"rlmproxy/pipeline/doc"
)

// TestMissingFields: a program that names a field which is not there hears of it,
// since what it gives reads like an answer: null, or that there are none.
func TestMissingFields(t *testing.T) {
	const (
		rows  = `[{"city":"Oslo","amount":3,"at":{"x":null}},{"city":"Rome","amount":4,"at":{"x":1}}]`
		deep  = `{"ok":true,"data":{"rows":[{"amount":3,"name":"a"}]}}`
		table = "city,amount\nOslo,3\nRome,4\nLima,5\n"
	)
	for _, tt := range []struct{ input, program, want string }{
		{rows, `.[] | .cty`, "no field cty in the data; nearest: [].city; use: .[] | .city"},
		{rows, `map(select(.cty == "Oslo")) | length`, `no field cty in the data; nearest: [].city; use: map(select(.city == "Oslo")) | length`},
		{rows, `.[] | select(.cty == "Oslo") | .amount`, `the program gave no output; no field cty in the data; nearest: [].city; use: .[] | select(.city == "Oslo") | .amount`},
		{rows, `[.[].at.y]`, "no field [].at.y in the data; nearest: [].at.x, [].at"},
		{rows, `.[0].at.y`, "no field [0].at.y in the data; nearest: [].at.x, [].at"},
		{rows, `.[0].at.x`, ""},
		{rows, `map(select(.city == "Bonn")) | length`, ""},
		{rows, `map({n: .city}) | map(select(.n == "Bonn")) | length`, ""},
		{rows, `map(select(.city == ".cty")) | length`, ""},
		{deep, `.rows`, "no field rows in the data; nearest: data.rows; use: .data.rows"},
		{deep, `.rows | max_by(.amount)`, "bad_jq: no field rows in the data; nearest: data.rows; use: .data.rows | max_by(.amount)"},
		{deep, `.rows[0].amout`, "no field rows[0].amout in the data; nearest: data.rows[].amount; use: .data.rows[].amount"},
		{deep, `[.rows[] | select(.amount > 9)] | length`, "bad_jq: no field rows in the data; nearest: data.rows"},
		{deep, `.data.rows[] | select(.amount > 9)`, "the program gave no output"},
		{deep, `.data["rows"][0].nil`, "no field data.rows[0].nil in the data; nearest: data.rows[].name, data.rows, data.rows[].amount"},
		{deep, `.data | .rows | map(.nme) | unique`, "no field nme in the data; nearest: data.rows[].name, ok, data; use: .data | .rows | map(.name) | unique"},
		{deep, `.data.rows | group_by(.name) | map({n: .[0].nme, all: length}) | map(select(.n == "b"))`, "no field [0].nme in the data; nearest: data.rows[].name, ok, data"},
		{deep, `[.. | .nme?] | map(select(. == "x"))`, "no field nme in the data; nearest: data.rows[].name, ok, data"},
		{deep, `.ok | not`, ""},
		{table, `map(select(.town == "Oslo")) | length`, "no field town in the data; nearest: [].city, [].amount"},
		{table, `map(select(.city == "Bonn")) | length`, ""},
		{`{"caf\u00e9":1}`, `.["café"]`, ""},
		{`{"caf\u00e9":1}`, `.cafe`, `no field cafe in the data; nearest: ["café"]; use: .["café"]`},
	} {
		out, err := (&JQ{Program: tt.program}).Apply(t.Context(), doc.Recognise([]byte(tt.input), nil))
		got := out.Note
		var e *doc.Error
		if errors.As(err, &e) {
			got = e.Code + ": " + e.Hint
		}
		if got != tt.want {
			t.Errorf("%s: %q (%s), want %q", tt.program, got, out.Data, tt.want)
		}
	}
}

// TestNothingMissing: programs that make, set or do without a field, and lists
// that are empty, miss none.
func TestNothingMissing(t *testing.T) {
	const (
		rows  = `[{"city":"Oslo","amount":3,"js":"{\"k\":1}"},{"city":"Rome","amount":4}]`
		plain = `{"a":1,"b":2,"c":null,"name":"x","tags":[],"more":{"list":[ ]}}`
	)
	for _, tt := range []struct{ input, program string }{
		{rows, `{n: length} | .n | select(. > 500)`},
		{rows, `. as $d | {n: 1} | .n | select(. > 3)`},
		{rows, `map(to_entries) | flatten | map(select(.value == 99))`},
		{rows, `.[] | .total = .amount * 2 | select(.total > 100)`},
		{rows, `map(.total |= 5) | map(select(.total > 9))`},
		{rows, `map(.n += 1 | select(.n > 9))`},
		{rows, "# rows by .town\nmap(select(.amount > 200))"},
		{rows, `map(select((.login // .city) == "Bonn"))`},
		{rows, `map(select(.amount > 9 and .login == null))`},
		{rows, `[.[] | select("\(.city | ltrimstr(" .nope ")) x" == "z")]`},
		{rows, `[.[] | .city | sub("(?<q>z)"; .q) | select(. == "u")]`},
		{rows, `try error({code: 1}) catch .code | select(. > 3)`},
		{rows, `.[0].js | fromjson | .q`},
		{plain, `to_entries | map(select(.value == 99))`},
		{plain, `to_entries[] | select(.key == "zz")`},
		{plain, `with_entries(select(.value == 99))`},
		{plain, `.tags[] | .name`},
		{plain, `[.tags[] | select(.price > 3)] | length`},
		{plain, `.tags | map(.price)`},
		{plain, `.more.list[].price`},
		{plain, `.c.d`},
	} {
		out, err := (&JQ{Program: tt.program}).Apply(t.Context(), doc.Recognise([]byte(tt.input), nil))
		if err != nil || strings.Contains(out.Note, "no field") {
			t.Errorf("%s: %q %v", tt.program, out.Note, err)
		}
	}
	// A program that cannot be read is told what is wrong with it.
	var e *doc.Error
	_, err := (&JQ{Program: `.[] | select(.cty === null)`}).Apply(t.Context(), doc.Recognise([]byte(rows), nil))
	if !errors.As(err, &e) || e.Hint != "use: .[] | select(.cty == null)" {
		t.Error(err)
	}
	// A field is missed wherever a record is taken from, also before objects are made.
	out, err := (&JQ{Program: `[.[] | select(.cty == "Oslo") | {city, amount}]`}).Apply(t.Context(), doc.Recognise([]byte(rows), nil))
	if err != nil || out.Note != `no field cty in the data; nearest: [].city; use: [.[] | select(.city == "Oslo") | { city, amount }]` {
		t.Error(out.Note, err)
	}
}
