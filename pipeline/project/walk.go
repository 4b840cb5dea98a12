package project

import (
	"context"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
)

// A projector walks a document along states, once, and writes what they leave
// of it.
type projector struct {
	copier
	tick doc.Ticker
	left int // parts until the context is asked
	err  error

	parts   int // that were written of the container that ended last
	dropped int // values that exclude left out

	cells, round int
	loose        slot // of a member that no state keeps
}

func newProjector(ctx context.Context, src []byte) *projector {
	return &projector{copier: newCopier(src), tick: doc.Ticker{Ctx: ctx}}
}

// stop reports whether the call has ended. Who is told returns the end of the
// source, as if there was nothing more.
func (w *projector) stop() bool {
	if w.left > 0 {
		w.left--
		return false
	}
	return w.ended()
}

func (w *projector) ended() bool {
	if w.err == nil {
		w.err = w.tick.ErrFor(1 << 20) // enough for the ticker to look
	}
	if w.err != nil {
		return true
	}
	w.left = 1023
	return false
}

// document writes what s leaves of the document at src[i:end], nil being all
// of it, and returns how many parts are left; below 0 if they must be counted.
func (w *projector) document(i, end int, s *state) int {
	i = jsonscan.SkipSpace(w.src, i)
	switch {
	case i >= end:
		return -1
	case s == nil:
		w.value(i)
		return -1
	case s.exclude:
		w.without(i, s)
		if jsonscan.IsContainer(w.src[i:]) {
			return w.parts
		}
		return -1
	case s.leaf:
		w.within(i, s)
		return -1
	case w.src[i] == '"':
		if inner, ok := doc.EnterString(w.src[i:end]); ok {
			w.inside(inner, i, s)
			return w.parts
		}
		return -1
	case jsonscan.IsContainer(w.src[i:]):
		w.container(i, s)
		return w.parts
	}
	return -1
}

// container writes the object or array at i and returns the offset behind it,
// as all below do.
func (w *projector) container(i int, s *state) int {
	if w.src[i] == '{' {
		return w.object(i, s)
	}
	return w.array(i, s)
}

func (w *projector) object(i int, s *state) int {
	data := w.src
	for _, m := range s.objects {
		m.objects++
	}
	w.put(i, i+1)
	i++
	n := 0
	for at := &s.first; i < len(data) && data[i] != '}'; {
		if w.stop() {
			return len(data)
		}
		t := at.next
		if t == nil || !t.before(data, i) {
			if t = at.rarer; t == nil || !t.before(data, i) {
				if t = w.member(i, s, at); t == nil {
					i = jsonscan.SkipSpace(data, i)
					break
				}
			}
		}
		at = t
		v := i + t.size
		if v < len(data) && jsonscan.IsSpace(data[v]) {
			v = jsonscan.SkipSpace(data, v)
		}
		if v >= len(data) {
			i = v
			break
		}
		b := t.branch
		b.take()
		switch b.act {
		case skip:
			i = jsonscan.SkipValue(data, v)
		case drop:
			w.dropped++
			i = jsonscan.SkipValue(data, v)
		case whole:
			w.lead(n, i+t.key, i+t.end)
			i = w.value(v)
			n++
		case enter:
			end, ok := w.part(v, b, s, n, i+t.key, i+t.end)
			if i = end; ok {
				n++
			}
		}
	}
	w.putByte('}')
	w.parts = n
	return i + 1
}

func (w *projector) array(i int, s *state) int {
	data := w.src
	w.put(i, i+1)
	i++
	n := 0
	for k := 0; ; k++ {
		if i = jsonscan.SkipSpace(data, i); i < len(data) && data[i] == ',' {
			i = jsonscan.SkipSpace(data, i+1)
		}
		if i >= len(data) || data[i] == ']' {
			break
		}
		if w.stop() {
			return len(data)
		}
		b := s.element(k)
		b.take()
		switch b.act {
		case skip:
			i = jsonscan.SkipValue(data, i)
		case drop:
			w.dropped++
			i = jsonscan.SkipValue(data, i)
		case whole:
			w.lead(n, 0, 0)
			i = w.value(i)
			n++
		case enter:
			end, ok := w.part(i, b, s, n, 0, 0)
			if i = end; ok {
				n++
			}
		}
	}
	w.putByte(']')
	w.parts = n
	return i + 1
}

// lead writes what stands before part n of a container: a comma, and the key
// at src[key:end] unless that is empty.
func (w *projector) lead(n, key, end int) {
	if n > 0 {
		w.putByte(',')
	}
	if key < end {
		w.put(key, end)
		w.putByte(':')
	}
}
