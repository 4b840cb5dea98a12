package rights

import (
	"maps"
	"slices"
)

// A Glob is one of the rules, and where it stands, as agents.alice.deny.
type Glob struct{ Setting, Glob string }

// Unmatched are the globs that match none of the tools: a misspelt name in deny denies
// nothing.
func (r *Rules) Unmatched(tools []Name) (globs []Glob) {
	look := func(setting string, list []string) {
		for _, g := range list {
			one := []string{g}
			if !slices.ContainsFunc(tools, func(t Name) bool { return Match(one, t.Listed) || Match(one, t.Bare) || g == t.Stable }) {
				globs = append(globs, Glob{setting, g})
			}
		}
	}
	for _, section := range []struct {
		name    string
		entries map[string]Entry
	}{{"agents", r.Agents}, {"scopes", r.Scopes}} {
		for _, who := range slices.Sorted(maps.Keys(section.entries)) {
			look(section.name+"."+who+".allow", section.entries[who].Allow)
			look(section.name+"."+who+".deny", section.entries[who].Deny)
		}
	}
	return globs
}
