package search

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestStemsAgree(t *testing.T) {
	endings := []string{"s", "sses", "ies", "eed", "ed", "ing", "y", "yy", "e", "ll", "ion", "sion", "ement"}
	for _, table := range [][][2]string{slowStep2, slowStep3} {
		for _, s := range table {
			endings = append(endings, s[0])
		}
	}
	endings = append(endings, slowStep4...)
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-zé1]{0,4}|[aeybtlsz]{0,6}`).Draw(t, "word")
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			word += rapid.SampledFrom(endings).Draw(t, "ending")
		}
		if got, want := string(stem([]byte(word))), slowStem(word); got != want {
			t.Fatalf("%s: %s, want %s", word, got, want)
		}
	})
}

// slowStem is stem written with strings, as in Porter's paper.
func slowStem(word string) string {
	if len(word) < 3 {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	word = slowStemPlural(word)
	word = slowStemPast(word)
	if n := len(word) - 1; word[n] == 'y' && slowHasVowel(word[:n]) {
		word = word[:n] + "i"
	}
	word = slowReplaceSuffix(word, 0, slowStep2)
	word = slowReplaceSuffix(word, 0, slowStep3)
	word = slowDropSuffix(word)
	return slowStemFinal(word)
}

// slowStemPlural is step 1a: caresses, ponies, cats.
func slowStemPlural(w string) string {
	switch {
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ies"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"):
		return w
	}
	return strings.TrimSuffix(w, "s")
}

// slowStemPast is step 1b: agreed, plastered, motoring.
func slowStemPast(w string) string {
	if root, ok := strings.CutSuffix(w, "eed"); ok {
		if slowMeasure(root) > 0 {
			return w[:len(w)-1]
		}
		return w
	}
	root, ok := strings.CutSuffix(w, "ed")
	if !ok {
		root, ok = strings.CutSuffix(w, "ing")
	}
	if !ok || !slowHasVowel(root) {
		return w
	}
	switch n := len(root); {
	case strings.HasSuffix(root, "at"), strings.HasSuffix(root, "bl"), strings.HasSuffix(root, "iz"):
		return root + "e"
	case slowEndsDouble(root) && !strings.ContainsRune("lsz", rune(root[n-1])):
		return root[:n-1]
	case slowMeasure(root) == 1 && slowEndsShort(root):
		return root + "e"
	}
	return root
}

// Suffixes and what replaces them, the longer before those they end with.
var (
	slowStep2 = [][2]string{
		{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
		{"bli", "ble"}, {"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"},
		{"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"},
		{"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"}, {"logi", "log"},
	}
	slowStep3 = [][2]string{
		{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
	}
	slowStep4 = []string{
		"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
		"ism", "ate", "iti", "ous", "ive", "ize",
	}
)

// slowReplaceSuffix replaces the first suffix that w has, if what stands before
// it has a slowMeasure over least.
func slowReplaceSuffix(w string, least int, table [][2]string) string {
	for _, s := range table {
		if root, ok := strings.CutSuffix(w, s[0]); ok {
			if slowMeasure(root) > least {
				return root + s[1]
			}
			return w
		}
	}
	return w
}

// slowDropSuffix is step 4.
func slowDropSuffix(w string) string {
	for _, s := range slowStep4 {
		root, ok := strings.CutSuffix(w, s)
		if !ok {
			continue
		}
		if s == "ion" && !strings.HasSuffix(root, "s") && !strings.HasSuffix(root, "t") {
			return w
		}
		if slowMeasure(root) > 1 {
			return root
		}
		return w
	}
	return w
}

// slowStemFinal is step 5: probate, controll.
func slowStemFinal(w string) string {
	if root, ok := strings.CutSuffix(w, "e"); ok {
		if m := slowMeasure(root); m > 1 || m == 1 && !slowEndsShort(root) {
			w = root
		}
	}
	if strings.HasSuffix(w, "ll") && slowMeasure(w) > 1 {
		return w[:len(w)-1]
	}
	return w
}

// slowIsVowel reports whether w[i] is a vowel: y is one after a consonant.
func slowIsVowel(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	case 'y':
		return i > 0 && !slowIsVowel(w, i-1)
	}
	return false
}

func slowHasVowel(w string) bool {
	for i := range len(w) {
		if slowIsVowel(w, i) {
			return true
		}
	}
	return false
}

// slowMeasure counts the changes from vowels to consonants.
func slowMeasure(w string) int {
	m, vowel := 0, false
	for i := range len(w) {
		v := slowIsVowel(w, i)
		if vowel && !v {
			m++
		}
		vowel = v
	}
	return m
}

func slowEndsDouble(w string) bool {
	n := len(w)
	return n > 1 && w[n-1] == w[n-2] && !slowIsVowel(w, n-1)
}

// slowEndsShort reports whether w ends consonant, vowel, consonant, and the
// last is not w, x or y.
func slowEndsShort(w string) bool {
	n := len(w)
	return n > 2 && !slowIsVowel(w, n-1) && slowIsVowel(w, n-2) && !slowIsVowel(w, n-3) && !strings.ContainsRune("wxy", rune(w[n-1]))
}
