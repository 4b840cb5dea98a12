package jq

import "testing"

// TestSlips: what people write who mean another language is answered with what
// they meant.
func TestSlips(t *testing.T) {
	for _, tt := range []struct{ program, want string }{
		{`jq '.info.title'`, `the program alone: .info.title`},
		{`jq -r '.items[] | .id'`, `the program alone: .items[] | .id`},
		{`$.info.title`, `this is JSONPath: .info.title`},
		{`.a[] | select(.id == 'x')`, `strings take double quotes: .a[] | select(.id == "x")`},
	} {
		if got := slipHint(tt.program); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.program, got, tt.want)
		}
	}
}
