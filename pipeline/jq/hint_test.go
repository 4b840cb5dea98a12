package jq

import "testing"

// TestSlips: what people write who mean another language is answered with what
// they meant.
func TestSlips(t *testing.T) {
	for _, tt := range []struct{ program, want string }{
		{`jq '.info.title'`, `the program alone: .info.title`},
		{`jq -r '.items[] | .id'`, `the program alone: .items[] | .id`},
		{`/rows/0/amount`, `this is a JSON Pointer: .rows[0].amount`},
		{`/0/a~1b/c`, `this is a JSON Pointer: .[0]["a/b"].c`},
		{`/paths/~1repos~1{owner}/get`, `this is a JSON Pointer: .paths["/repos/{owner}"].get`},
		{`.a/b/c`, `proxy_explore shows which fields exist; a program looks like .items[] | {name, id}`},
		{`.paths./repos`, `keys with a slash need brackets and quotes: .paths["/repos"]`},
		{`.paths./repos/{owner}.get.summary`, `keys with a slash need brackets and quotes: .paths["/repos/{owner}"].get.summary`},
		{`$.info.title`, `this is JSONPath: .info.title`},
		{`.a[] | select(.id == 'x')`, `strings take double quotes: .a[] | select(.id == "x")`},
	} {
		if got := slipHint(tt.program); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.program, got, tt.want)
		}
	}
}
