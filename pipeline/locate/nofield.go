package locate

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
)

// NoField is the error for a path that leads nowhere in v. It names the paths that
// may have been meant. In a document without any field nothing is missing: it is
// nil there.
func NoField(ctx context.Context, v doc.Value, path doc.Path) error {
	known, err := schema.KnownPaths(ctx, v)
	if err != nil || len(known) == 0 {
		return err
	}
	return noField(path, known)
}

func noField(path doc.Path, known []doc.Path) *doc.Error {
	text := "no field " + show.Clip(path.String(), 120) + " in the data"
	var names []string
	for _, p := range Nearest(path, known, 3) {
		if name := p.String(); len(name) <= 120 { // a part of a path leads nowhere
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return doc.Invalid("proxy_explore shows which fields exist", "%s", text)
	}
	return doc.Invalid("nearest: "+strings.Join(names, ", "), "%s", text)
}

// Nearest returns up to limit of the known paths, most similar first, and none that
// is much less so than the first: same last key, then fewest edits over the whole
// or over its end, then document order.
func Nearest(path doc.Path, known []doc.Path, limit int) []doc.Path {
	type scored struct {
		path doc.Path
		edit int
	}
	want := strings.ToLower(bare(path))
	all := make([]scored, 0, len(known))
	for _, p := range known {
		have := strings.ToLower(bare(p))
		if len(have) > 200 || len(want) > 200 {
			continue // edits are quadratic, and such a name says little
		}
		s := scored{p, levenshtein.ComputeDistance(want, have)}
		if end := lastKeys(have, strings.Count(want, ".")+1); end != have {
			s.edit = min(s.edit, 1+levenshtein.ComputeDistance(want, end))
		}
		if last := lastKey(path); last != "" && strings.EqualFold(last, lastKey(p)) {
			s.edit = min(s.edit, 1)
		} else if near(last, lastKey(p)) {
			s.edit = min(s.edit, 2)
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.edit, b.edit) })
	out := make([]doc.Path, 0, limit)
	for _, s := range all[:min(limit, len(all))] {
		if best := all[0].edit; best <= len(want)/2 && s.edit > best+len(want)/4 || best == 0 && s.edit > 0 {
			break
		}
		out = append(out, s.path)
	}
	return out
}

// near reports that one of two keys is a part of the other: total of total_count. _ and
// the case of letters do not count.
func near(a, b string) bool {
	if !doc.IsWord(a) {
		return false
	}
	a, b = strings.ToLower(strings.ReplaceAll(a, "_", "")), strings.ToLower(strings.ReplaceAll(b, "_", ""))
	return min(len(a), len(b)) >= 3 && (strings.Contains(a, b) || strings.Contains(b, a))
}

// Meant reports that a path may stand for another: their last keys are alike.
func Meant(path, known doc.Path) bool {
	a, b := lastKey(path), lastKey(known)
	return near(a, b) || levenshtein.ComputeDistance(strings.ToLower(a), strings.ToLower(b)) <= (len(a)+1)/3
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

// bare writes a path without the arrays, which are implied anyway.
func bare(p doc.Path) string {
	var keys []string
	for _, s := range p {
		if s.Kind == doc.StepKey {
			keys = append(keys, s.Key)
		}
	}
	return strings.Join(keys, ".")
}

func lastKey(p doc.Path) string {
	for _, s := range slices.Backward(p) {
		if s.Kind == doc.StepKey {
			return s.Key
		}
	}
	return ""
}
