package redact

// keywords finds many words at once, in any case of letters, by Aho and Corasick's
// automaton (1975): one step a byte.
type keywords struct {
	class   [256]uint8 // of a byte; 0: in no word
	classes int
	next    []uint16 // by state and class
	found   [][]hit  // by state: the words that end there
}

// A hit is a word that ends where the automaton is.
type hit struct{ word, length int }

// newKeywords returns what finds words, which are in lower case.
func newKeywords(words []string) *keywords {
	k := &keywords{classes: 1}
	for _, w := range words {
		for i := range len(w) {
			if c := w[i]; k.class[c] == 0 {
				k.class[c] = uint8(k.classes)
				k.classes++
			}
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		k.class[c] = k.class[c-'A'+'a']
	}
	add := func() uint16 {
		k.next = append(k.next, make([]uint16, k.classes)...)
		k.found = append(k.found, nil)
		return uint16(len(k.found) - 1)
	}
	add()
	for n, w := range words {
		state := 0
		for i := range len(w) {
			at := state*k.classes + int(k.class[w[i]])
			if k.next[at] == 0 {
				to := add()
				k.next[at] = to
			}
			state = int(k.next[at])
		}
		k.found[state] = append(k.found[state], hit{n, len(w)})
	}
	k.link()
	return k
}

// link has each state go on where the longest end of what it has read is the beginning of
// a word.
func (k *keywords) link() {
	fail := make([]int, len(k.found))
	var queue []int
	for c := range k.classes {
		if to := int(k.next[c]); to != 0 {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		k.found[state] = append(k.found[state], k.found[fail[state]]...)
		for c := range k.classes {
			at, else_ := state*k.classes+c, k.next[fail[state]*k.classes+c]
			if to := int(k.next[at]); to != 0 {
				fail[to] = int(else_)
				queue = append(queue, to)
			} else {
				k.next[at] = else_
			}
		}
	}
}

// each calls f with every word in text and where it begins, in the order of their ends,
// until f returns false.
func (k *keywords) each(text []byte, f func(word, at int) bool) {
	state := 0
	for i, c := range text {
		state = int(k.next[state*k.classes+int(k.class[c])])
		for _, h := range k.found[state] {
			if !f(h.word, i+1-h.length) {
				return
			}
		}
	}
}
