package doc

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"

	"rlmproxy/pipeline/show"
)

// NoSuchPath names the paths that path may have meant.
func NoSuchPath(path Path, known []Path) *Error {
	like := path
	if pointed := pointer(path); pointed != nil {
		like = pointed
		for _, p := range known {
			if Bare(p) == Bare(pointed) {
				return Invalid("this is a JSON Pointer: "+pointed.String(), "no field %s in the data", show.Clip(path.String(), 120))
			}
		}
	}
	var names []string
	for _, p := range nearest(like, known, 3) {
		if name := p.String(); len(name) <= 120 { // a part of a path leads nowhere
			names = append(names, name)
		}
	}
	hint := "proxy_explore shows which fields exist"
	if len(names) > 0 {
		hint = "nearest: " + strings.Join(names, ", ")
	}
	return Invalid(hint, "no field %s in the data", show.Clip(path.String(), 120))
}

// pointer reads a path of one key, such as /items/0/name, as a JSON Pointer (RFC
// 6901); nil if it is none.
func pointer(path Path) (p Path) {
	if len(path) != 1 || path[0].Kind != StepKey || !strings.HasPrefix(path[0].Key, "/") {
		return nil
	}
	for _, key := range strings.Split(path[0].Key[1:], "/") {
		if n, err := strconv.Atoi(key); err == nil && n >= 0 {
			p = append(p, Step{Kind: StepIndex, Index: n})
			continue
		}
		p = append(p, Step{Key: strings.NewReplacer("~1", "/", "~0", "~").Replace(key)})
	}
	return p
}

// nearest returns up to limit of the known paths, most similar first, and none that
// is much less so than the first: same last key, then fewest edits over the whole
// or over its end, then document order.
func nearest(path Path, known []Path, limit int) []Path {
	type scored struct {
		path Path
		edit int
	}
	want := strings.ToLower(Bare(path))
	all := make([]scored, 0, len(known))
	for _, p := range known {
		have := strings.ToLower(Bare(p))
		if len(have) > 200 || len(want) > 200 {
			continue // edits are quadratic, and such a name says little
		}
		s := scored{p, levenshtein.ComputeDistance(want, have)}
		if end := lastKeys(have, strings.Count(want, ".")+1); end != have {
			s.edit = min(s.edit, 1+levenshtein.ComputeDistance(want, end))
		}
		if last := lastKey(path); last != "" && strings.EqualFold(last, lastKey(p)) {
			s.edit = min(s.edit, 1)
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.edit, b.edit) })
	out := make([]Path, 0, limit)
	for _, s := range all[:min(limit, len(all))] {
		if best := all[0].edit; best <= len(want)/2 && s.edit > best+len(want)/4 || best == 0 && s.edit > 0 {
			break
		}
		out = append(out, s.path)
	}
	return out
}

// lastKeys is the end of a path as [bare] writes it, of n keys.
func lastKeys(path string, n int) string {
	at := len(path)
	for range n {
		if at = strings.LastIndexByte(path[:at], '.'); at < 0 {
			return path
		}
	}
	return path[at+1:]
}

// Bare writes a path without the arrays, which are implied anyway.
func Bare(p Path) string {
	var keys []string
	for _, s := range p {
		if s.Kind == StepKey {
			keys = append(keys, s.Key)
		}
	}
	return strings.Join(keys, ".")
}

func lastKey(p Path) string {
	for _, s := range slices.Backward(p) {
		if s.Kind == StepKey {
			return s.Key
		}
	}
	return ""
}
