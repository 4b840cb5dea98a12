package search

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// stem removes the endings of an English word in lower case, as Snowball's
// English stemmer does (Porter's second): general, generate and generic are three
// words, correctly is correct. Words with anything but the letters a to z, or
// under three of them, stay as they are.
//
// Snowball keeps the s of a word without a vowel. Longer ones than dns are
// plurals, such as vpcs, and lose it.
//
// It works in place: what it returns is the beginning of w, rewritten, as no stem
// is longer than its word.
func stem(w []byte) []byte {
	if len(w) < 3 {
		return w
	}
	for _, b := range w {
		if b < 'a' || b > 'z' {
			return w
		}
	}
	slot := &stems[maphash.Bytes(stemSeed, w)%uint64(len(stems))]
	s := slot.Load()
	if s == nil || s.word != string(w) {
		word := string(w)
		s = &stemmed{word, snowball(word)}
		slot.Store(s)
	}
	return append(w[:0], s.stem...)
}

func snowball(word string) string {
	if len(word) > 3 && !strings.ContainsAny(word, "aeiouy") && !strings.HasSuffix(word, "ss") {
		return strings.TrimSuffix(word, "s")
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}

// stems are of words seen lately, by their hash. Identifiers are made of few
// words: of five pieces of an API's names, four were seen before. They take under
// 700 KB, as tokens have at most 64 letters.
var (
	stems    [4096]atomic.Pointer[stemmed]
	stemSeed = maphash.MakeSeed()
)

type stemmed struct{ word, stem string }
