package pipeline

import "testing"

// TestNearestPaths: an error names the paths that may have been meant, and those
// alone.
func TestNearestPaths(t *testing.T) {
	const doc = `{"ok":true,"data":{"count":2,"rows":[{"amount":3,"a/b":4,"kids":[{"kids":[{"x":1}]}]},{"amount":1}]}}`
	for _, tt := range []struct{ path, want string }{
		{"amount", "nearest: data.rows[].amount"},
		{"rows.amout", "nearest: data.rows[].amount"},
		{"data.rows.amunt", `nearest: data.rows[].amount, data.rows[]["a/b"]`},
		{"data.rows[1].kids", "nearest: data.rows[].kids"},
		{"dta", "nearest: data"},
		{"/data/rows/0/amount", "this is a JSON Pointer: data.rows[0].amount"},
		{"/data/rows/0/a~1b", `this is a JSON Pointer: data.rows[0]["a/b"]`},
		{"/rows/0/amount", `nearest: data.rows[].amount`},
	} {
		e := applyError(t, &Outline{Path: tt.path}, doc)
		if e.Hint != tt.want {
			t.Errorf("%s: %s, want %s", tt.path, e.Hint, tt.want)
		}
	}
}
