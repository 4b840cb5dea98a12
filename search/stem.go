package search

// stem removes the endings of an English word in lower case, by Porter's
// algorithm (Program 14(3), 1980) with the two departures of his own later
// version: "logi" loses its ending as "log", and "bli" as "ble". Words with
// anything but the letters a to z, or under three of them, stay as they are.
//
// It works in place: what it returns is the beginning of w.
func stem(w []byte) []byte {
	if len(w) < 3 {
		return w
	}
	for _, b := range w {
		if b < 'a' || b > 'z' {
			return w
		}
	}
	w = stemPlural(w)
	w = stemPast(w)
	if n := len(w) - 1; w[n] == 'y' && hasVowel(w[:n]) {
		w[n] = 'i'
	}
	w = step2.replace(w)
	w = step3.replace(w)
	w = dropSuffix(w)
	return stemFinal(w)
}

// stemPlural is step 1a: caresses, ponies, cats.
func stemPlural(w []byte) []byte {
	n := len(w)
	switch {
	case w[n-1] != 's':
		return w
	case endsWith(w, "sses"), endsWith(w, "ies"):
		return w[:n-2]
	case w[n-2] == 's':
		return w
	}
	return w[:n-1]
}

// stemPast is step 1b: agreed, plastered, motoring.
func stemPast(w []byte) []byte {
	n := len(w)
	if endsWith(w, "eed") {
		if measure(w[:n-3]) > 0 {
			return w[:n-1]
		}
		return w
	}
	var root []byte
	switch {
	case endsWith(w, "ed"):
		root = w[:n-2]
	case endsWith(w, "ing"):
		root = w[:n-3]
	default:
		return w
	}
	if !hasVowel(root) {
		return w
	}
	n = len(root)
	switch {
	case endsWith(root, "at"), endsWith(root, "bl"), endsWith(root, "iz"):
		return append(root, 'e')
	case endsDouble(root) && root[n-1] != 'l' && root[n-1] != 's' && root[n-1] != 'z':
		return root[:n-1]
	case measure(root) == 1 && endsShort(root):
		return append(root, 'e')
	}
	return root
}

// suffixes says what replaces an ending; by the ending's last letter, and the
// longer before those they end with. No replacement is longer than its ending.
type suffixes ['z' + 1][][2]string

func newSuffixes(table ...[2]string) *suffixes {
	var s suffixes
	for _, t := range table {
		last := t[0][len(t[0])-1]
		s[last] = append(s[last], t)
	}
	return &s
}

var (
	step2 = newSuffixes([][2]string{
		{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
		{"bli", "ble"}, {"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"},
		{"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"},
		{"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"}, {"logi", "log"},
	}...)
	step3 = newSuffixes([][2]string{
		{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
	}...)
	step4 = newSuffixes([][2]string{
		{"al"}, {"ance"}, {"ence"}, {"er"}, {"ic"}, {"able"}, {"ible"}, {"ant"}, {"ement"}, {"ment"}, {"ent"}, {"ion"}, {"ou"},
		{"ism"}, {"ate"}, {"iti"}, {"ous"}, {"ive"}, {"ize"},
	}...)
)

// find returns the first ending that w has, what replaces it and what stands
// before it.
func (s *suffixes) find(w []byte) (root []byte, end, by string) {
	for _, t := range s[w[len(w)-1]] {
		if endsWith(w, t[0]) {
			return w[:len(w)-len(t[0])], t[0], t[1]
		}
	}
	return w, "", ""
}

// replace replaces the ending of w, if there is a syllable before it.
func (s *suffixes) replace(w []byte) []byte {
	if root, end, by := s.find(w); end != "" && measure(root) > 0 {
		return append(root, by...)
	}
	return w
}

// dropSuffix is step 4.
func dropSuffix(w []byte) []byte {
	root, end, _ := step4.find(w)
	if end == "" || end == "ion" && !endsWith(root, "s") && !endsWith(root, "t") || measure(root) < 2 {
		return w
	}
	return root
}

// stemFinal is step 5: probate, controll.
func stemFinal(w []byte) []byte {
	if n := len(w) - 1; w[n] == 'e' {
		if m := measure(w[:n]); m > 1 || m == 1 && !endsShort(w[:n]) {
			w = w[:n]
		}
	}
	if endsWith(w, "ll") && measure(w) > 1 {
		return w[:len(w)-1]
	}
	return w
}

func endsWith(w []byte, end string) bool {
	return len(w) >= len(end) && string(w[len(w)-len(end):]) == end
}

// isVowel reports whether b is a vowel: y is one after a consonant.
func isVowel(b byte, afterConsonant bool) bool {
	switch b {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	}
	return b == 'y' && afterConsonant
}

func hasVowel(w []byte) bool {
	for i, b := range w {
		// Before the first vowel are consonants only.
		if isVowel(b, i > 0) {
			return true
		}
	}
	return false
}

// measure counts the changes from vowels to consonants.
func measure(w []byte) int {
	m, vowel := 0, true
	for i, b := range w {
		v := isVowel(b, !vowel)
		if i > 0 && vowel && !v {
			m++
		}
		vowel = v
	}
	return m
}

func endsDouble(w []byte) bool {
	n := len(w)
	return n > 1 && w[n-1] == w[n-2] && !isVowel(w[n-1], !vowelAt(w, n-2))
}

// endsShort reports whether w ends consonant, vowel, consonant, and the
// last is not w, x or y.
func endsShort(w []byte) bool {
	n := len(w)
	if n < 3 || w[n-1] == 'w' || w[n-1] == 'x' || w[n-1] == 'y' || vowelAt(w, n-3) {
		return false
	}
	return isVowel(w[n-2], true) && !isVowel(w[n-1], false)
}

// vowelAt reports whether w[i] is a vowel: of several y every second is one.
func vowelAt(w []byte, i int) bool {
	start := i
	for start > 0 && w[start] == 'y' {
		start--
	}
	v := isVowel(w[start], false)
	for start++; start <= i; start++ {
		v = isVowel(w[start], !v)
	}
	return v
}
