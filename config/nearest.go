package config

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// nearest is the one of known that got was probably meant to be, or "". The
// first of equals wins.
//
// Case, - and _ do not count, so max_response_tokens is maxResponseTokens.
// A third of the letters may differ: enough for two slips in a short key,
// too few to turn "tools" into "type".
func nearest(got string, known []string) string {
	got = letters(got)
	if got == "" || len(got) > 64 {
		return ""
	}
	best, least := "", len(got)/3+1
	for _, k := range known {
		if d := distance(got, letters(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts edits. Letters in another order count as one: "evn".
func distance(a, b string) int {
	if d := levenshtein.ComputeDistance(a, b); d != 2 || !slices.Equal(slices.Sorted(slices.Values([]byte(a))), slices.Sorted(slices.Values([]byte(b)))) {
		return d
	}
	return 1
}

func letters(key string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(key))
}

// didYouMean is the hint for an unknown key, or "".
func didYouMean(got string, known []string) string {
	if near := nearest(got, known); near != "" {
		return meant(near)
	}
	return ""
}

// Nearest is the one of known that a person probably meant with got, or "".
func Nearest(got string, known []string) string { return nearest(got, known) }

func meant(near string) string { return "did you mean " + strconv.Quote(near) + "?" }

// maxPreview is how many characters of an offending value are shown: enough
// to recognise it, on one line.
const maxPreview = 40

// preview quotes s, cut to 40 characters.
func preview(s string) string {
	if utf8.RuneCountInString(s) > maxPreview {
		return strconv.Quote(string([]rune(s)[:maxPreview])) + "…"
	}
	return strconv.Quote(s)
}

// pathTo appends a key to the path of its object.
func pathTo(path, key string) string {
	if path == "" {
		return shownKey(key)
	}
	return path + "." + shownKey(key)
}

// shownKey quotes a key that could be misread inside a path.
func shownKey(key string) string {
	plain := key != "" && utf8.RuneCountInString(key) <= 64
	for _, r := range key {
		plain = plain && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-$/@", r))
	}
	if plain {
		return key
	}
	return preview(key)
}
