package pipeline

import (
	"testing"

	"rlmproxy/pipeline/doctest"
	"rlmproxy/pipeline/preview"
)

// TestNearestPaths: an error names the paths that may have been meant, and those
// alone.
func TestNearestPaths(t *testing.T) {
	const input = `{"ok":true,"data":{"count":2,"rows":[{"amount":3,"a/b":4,"kids":[{"kids":[{"x":1}]}]},{"amount":1}]}}`
	for _, tt := range []struct{ path, want string }{
		{"amount", "nearest: data.rows[].amount"},
		{"rows.amout", "nearest: data.rows[].amount"},
		{"data.rows.amunt", `nearest: data.rows[].amount, data.rows[]["a/b"]`},
		{"data.rows[1].kids", "nearest: data.rows[].kids"},
		{"dta", "nearest: data"},
		{"/rows/0/amount", "nearest: data.rows[].amount, data.count, data.rows"},
	} {
		e := doctest.ApplyError(t, &preview.Outline{Path: tt.path}, input)
		if e.Hint != tt.want {
			t.Errorf("%s: %s, want %s", tt.path, e.Hint, tt.want)
		}
	}
}
