package search

import "strings"

// stem removes the endings of an English word in lower case, by Porter's
// algorithm (Program 14(3), 1980) with the two departures of his own later
// version: "logi" loses its ending as "log", and "bli" as "ble". Words with
// anything but the letters a to z, or under three of them, stay as they are.
func stem(word string) string {
	if len(word) < 3 {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	word = stemPlural(word)
	word = stemPast(word)
	if n := len(word) - 1; word[n] == 'y' && hasVowel(word[:n]) {
		word = word[:n] + "i"
	}
	word = replaceSuffix(word, 0, step2)
	word = replaceSuffix(word, 0, step3)
	word = dropSuffix(word)
	return stemFinal(word)
}

// stemPlural is step 1a: caresses, ponies, cats.
func stemPlural(w string) string {
	switch {
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ies"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"):
		return w
	}
	return strings.TrimSuffix(w, "s")
}

// stemPast is step 1b: agreed, plastered, motoring.
func stemPast(w string) string {
	if root, ok := strings.CutSuffix(w, "eed"); ok {
		if measure(root) > 0 {
			return w[:len(w)-1]
		}
		return w
	}
	root, ok := strings.CutSuffix(w, "ed")
	if !ok {
		root, ok = strings.CutSuffix(w, "ing")
	}
	if !ok || !hasVowel(root) {
		return w
	}
	switch n := len(root); {
	case strings.HasSuffix(root, "at"), strings.HasSuffix(root, "bl"), strings.HasSuffix(root, "iz"):
		return root + "e"
	case endsDouble(root) && !strings.ContainsRune("lsz", rune(root[n-1])):
		return root[:n-1]
	case measure(root) == 1 && endsShort(root):
		return root + "e"
	}
	return root
}

// Suffixes and what replaces them, the longer before those they end with.
var (
	step2 = [][2]string{
		{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
		{"bli", "ble"}, {"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"},
		{"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"},
		{"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"}, {"logi", "log"},
	}
	step3 = [][2]string{
		{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
	}
	step4 = []string{
		"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
		"ism", "ate", "iti", "ous", "ive", "ize",
	}
)

// replaceSuffix replaces the first suffix that w has, if what stands before
// it has a measure over least.
func replaceSuffix(w string, least int, table [][2]string) string {
	for _, s := range table {
		if root, ok := strings.CutSuffix(w, s[0]); ok {
			if measure(root) > least {
				return root + s[1]
			}
			return w
		}
	}
	return w
}

// dropSuffix is step 4.
func dropSuffix(w string) string {
	for _, s := range step4 {
		root, ok := strings.CutSuffix(w, s)
		if !ok {
			continue
		}
		if s == "ion" && !strings.HasSuffix(root, "s") && !strings.HasSuffix(root, "t") {
			return w
		}
		if measure(root) > 1 {
			return root
		}
		return w
	}
	return w
}

// stemFinal is step 5: probate, controll.
func stemFinal(w string) string {
	if root, ok := strings.CutSuffix(w, "e"); ok {
		if m := measure(root); m > 1 || m == 1 && !endsShort(root) {
			w = root
		}
	}
	if strings.HasSuffix(w, "ll") && measure(w) > 1 {
		return w[:len(w)-1]
	}
	return w
}

// isVowel reports whether w[i] is a vowel: y is one after a consonant.
func isVowel(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	case 'y':
		return i > 0 && !isVowel(w, i-1)
	}
	return false
}

func hasVowel(w string) bool {
	for i := range len(w) {
		if isVowel(w, i) {
			return true
		}
	}
	return false
}

// measure counts the changes from vowels to consonants.
func measure(w string) int {
	m, vowel := 0, false
	for i := range len(w) {
		v := isVowel(w, i)
		if vowel && !v {
			m++
		}
		vowel = v
	}
	return m
}

func endsDouble(w string) bool {
	n := len(w)
	return n > 1 && w[n-1] == w[n-2] && !isVowel(w, n-1)
}

// endsShort reports whether w ends consonant, vowel, consonant, and the
// last is not w, x or y.
func endsShort(w string) bool {
	n := len(w)
	return n > 2 && !isVowel(w, n-1) && isVowel(w, n-2) && !isVowel(w, n-3) && !strings.ContainsRune("wxy", rune(w[n-1]))
}
