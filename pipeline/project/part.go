package project

import (
	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
)

// part writes the value at i as part n, if b leaves any of it.
func (w *projector) part(i int, b *branch, s *state, n, key, end int) (int, bool) {
	to := w.follow(b, s)
	switch {
	case to.exclude:
		w.lead(n, key, end)
		return w.without(i, to), true
	case to.leaf || jsonscan.IsContainer(w.src[i:]):
		w.lead(n, key, end)
		return w.within(i, to), true
	}
	behind := jsonscan.SkipValue(w.src, i)
	inner, ok := doc.EnterString(w.src[i:behind])
	if ok {
		w.lead(n, key, end)
		w.inside(inner, i, to)
	}
	return behind, ok
}

// within writes the part of the value at i that s, of fields, names.
func (w *projector) within(i int, s *state) int {
	if !s.leaf {
		return w.container(i, s)
	}
	// Deeper paths are inside what is kept whole, but must be counted.
	w.flush()
	before := len(w.out)
	if jsonscan.IsContainer(w.src[i:]) {
		w.container(i, s)
	} else if inner, ok := doc.EnterString(w.src[i:jsonscan.SkipValue(w.src, i)]); ok {
		w.inside(inner, i, s)
	}
	w.cut(before)
	return w.value(i)
}

// without writes the value at i without the parts that s, of exclude, names. A
// string that holds none of them stays as it is.
func (w *projector) without(i int, s *state) int {
	switch w.src[i] {
	case '{', '[':
		return w.container(i, s)
	case '"':
		end := jsonscan.SkipString(w.src, i)
		inner, ok := doc.EnterString(w.src[i:end])
		if !ok {
			break
		}
		w.flush()
		before, dropped := len(w.out), w.dropped
		if w.inside(inner, i, s); w.dropped > dropped {
			return end
		}
		w.cut(before)
	}
	return w.value(i)
}

// inside writes what s leaves of the JSON that the string at i holds.
func (w *projector) inside(inner []byte, i int, s *state) {
	back := w.open(inner, i)
	w.container(jsonscan.SkipSpace(inner, 0), s)
	w.close(back)
}

// value writes the value at i, minified.
func (w *projector) value(i int) int {
	data := w.src
	if !jsonscan.IsContainer(data[i:]) {
		end := jsonscan.SkipValue(data, i)
		w.put(i, end)
		return end
	}
	from := i // of what is not written yet
	for depth := 0; i < len(data); {
		switch c := data[i]; c {
		case '"':
			i = jsonscan.SkipString(data, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				w.put(from, i+1)
				return i + 1
			}
		case ' ', '\n', '\t', '\r':
			w.put(from, i)
			i = jsonscan.SkipSpace(data, i)
			from = i
			continue
		}
		i++
	}
	w.put(from, i)
	return i
}
