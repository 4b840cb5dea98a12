package doc

import (
	"iter"

	"rlmproxy/jsonscan"
)

// Items yields the records of v: elements of an array, or lines. It yields
// nothing for an object.
func Items(v Value) iter.Seq2[int, []byte] {
	if v.Kind == JSON {
		return jsonscan.Items(v.Data)
	}
	return func(yield func(int, []byte) bool) {
		n := 0
		for line := range jsonscan.Lines(v.Data) {
			if !yield(n, line) {
				return
			}
			n++
		}
	}
}
