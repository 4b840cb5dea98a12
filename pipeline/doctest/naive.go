package doctest

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"rlmproxy/pipeline/doc"
)

// inString is what v holds, or v if that is no container.
func inString(v any) any {
	s, ok := v.(string)
	if !ok || !doc.IsDocument([]byte(s)) {
		return v
	}
	inner, err := decodeTree([]byte(s))
	if err != nil {
		return v
	}
	return inner
}

// Entered is tree with what its strings hold for them.
func Entered(tree any) any {
	switch v := tree.(type) {
	case string:
		if inner := inString(v); isTree(inner) {
			return Entered(inner)
		}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Entered(e)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = Entered(e)
		}
		return out
	}
	return tree
}

// naiveNext are the paths that go on in a member or an element; whole is
// true if one of them ends there.
func naiveNext(paths []doc.Path, key string, index int, inArray bool) (next []doc.Path, whole bool) {
	for _, p := range paths {
		s := p[0]
		switch {
		case inArray && s.Kind == doc.StepKey:
			next = append(next, p)
			continue
		case s.Kind == doc.StepEach, inArray && s.Kind == doc.StepIndex && s.Index == index, !inArray && s.Kind == doc.StepKey && s.Key == key:
			if len(p) == 1 {
				whole = true
			} else {
				next = append(next, p[1:])
			}
		}
	}
	return next, whole
}

func isTree(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

func NaiveInclude(v any, paths []doc.Path) any {
	part := func(e any, next []doc.Path, whole bool) (any, bool) {
		if whole {
			return e, true
		}
		return NaiveInclude(e, next), len(next) > 0 && isTree(inString(e))
	}
	return naiveWalk(inString(v), paths, part)
}

func NaiveExclude(v any, paths []doc.Path) any {
	part := func(e any, next []doc.Path, whole bool) (any, bool) { return NaiveExclude(e, next), !whole }
	inner := inString(v)
	out := naiveWalk(inner, paths, part)
	if cmp.Equal(out, inner) {
		return v // a string that is not hit
	}
	return out
}

func naiveWalk(v any, paths []doc.Path, part func(e any, next []doc.Path, whole bool) (any, bool)) any {
	switch v := v.(type) {
	case []any:
		out := []any{}
		for i, e := range v {
			next, whole := naiveNext(paths, "", i, true)
			if e, ok := part(e, next, whole); ok {
				out = append(out, e)
			}
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			next, whole := naiveNext(paths, k, 0, false)
			if e, ok := part(e, next, whole); ok {
				out[k] = e
			}
		}
		return out
	}
	return v
}

// Fatal is what *testing.T and *rapid.T have in common.
type Fatal interface {
	Helper()
	Fatalf(string, ...any)
}

func ManyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i)
	}
	return b.String()
}

// rows joins what row makes of 0 to n-1.
func GenRecords(n int, row func(i int) string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = row(i)
	}
	return "[" + strings.Join(out, ",") + "]"
}
