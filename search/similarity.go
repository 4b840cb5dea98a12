package search

import "github.com/agnivade/levenshtein"

// Similarity returns how alike query and s are, from 0 to 1: one minus
// their edit distance over the length of query, in runes, ignoring case.
// It is the score that [Fuzzy] gives to a hit whose text is s. A query
// without words is like nothing.
func Similarity(query, s string) float64 {
	q := foldQuery(query)
	if len(q) == 0 {
		return 0
	}
	folded := make([]rune, 0, len(s))
	for _, r := range s {
		folded = append(folded, foldRune(r))
	}
	dist := levenshtein.ComputeDistance(string(q), string(folded))
	return max(0, 1-float64(dist)/float64(len(q)))
}
