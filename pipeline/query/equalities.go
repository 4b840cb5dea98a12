package query

import (
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// equalities writes == where a condition sets.
func equalities(s string) []string {
	q := parsed(s)
	if q == nil || !setsIn(q, true) {
		return nil
	}
	return []string{q.String()}
}

// sets reports that a condition of a program sets a field, where it means to compare.
func sets(s string) bool {
	if !strings.Contains(s, "=") || len(s) > maxAdvised {
		return false
	}
	q := parsed(s)
	return q != nil && setsIn(q, false)
}

func setsIn(q *gojq.Query, mend bool) (found bool) {
	var condition func(q *gojq.Query)
	condition = func(q *gojq.Query) {
		switch {
		case q.Op == gojq.OpAssign:
			if found = true; mend {
				q.Op = gojq.OpEq
			}
		case q.Op == gojq.OpAnd, q.Op == gojq.OpOr:
			condition(q.Left)
			condition(q.Right)
		}
	}
	walk(q, func(f *gojq.Func) {
		if len(f.Args) == 1 && slices.Contains([]string{"select", "any", "all"}, f.Name) {
			condition(f.Args[0])
		}
	})
	walk(q, func(f *gojq.If) { condition(f.Cond) })
	return found
}
