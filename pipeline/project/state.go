package project

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"rlmproxy/jsonscan"
)

// A state is the masks that are active at one place. Several are, where
// items.name and items[3].id meet. Places with the same way down share it.
type state struct {
	masks   []*mask
	exclude bool
	leaf    bool    // a path ends here
	objects []*mask // that look for a key here

	keys  map[string]*branch // of the keys that a path names
	other *branch            // of all other keys
	index map[int]*branch
	item  *branch // of all other elements

	// Records repeat their keys, and mostly in the same order: so the next
	// member is guessed from those before.
	first slot // is before the first member
	slots map[string]*slot
}

// A branch is the way from a state to that of a member or an element.
type branch struct {
	act   action
	hits  []*mask // that the step leads to
	masks []*mask // what is active there
	to    *state  // nil until it is needed, or if round has passed
	round int
}

// An action says what becomes of a member or an element.
type action uint8

const (
	skip  action = iota // it is left out
	drop                // left out, as the end of a path of exclude
	whole               // it is copied
	enter               // it depends on what is inside
)

// A slot is what stands before the value of a member: a comma, unless it is
// the first, the key and the colon, with the space between.
type slot struct {
	text     string
	size     int // of text, which one that is not kept lacks
	key, end int // where in text the key is, with its quotes
	branch   *branch

	next, rarer *slot // those that were behind it before
}

const (
	// maxSlots of a state are told apart. Behind more, keys are looked up: they
	// are those of a map.
	maxSlots     = 256
	maxSlotBytes = 128

	// maxCells slots and branches are kept, of some 200 bytes each.
	maxCells = 1 << 16
)

// newState is the state at the root, nil for a list without paths.
func newState(m *mask, exclude bool) *state {
	if len(m.paths) == 0 {
		return nil
	}
	return stateOf([]*mask{m}, exclude)
}

func stateOf(masks []*mask, exclude bool) *state {
	s := &state{masks: masks, exclude: exclude, keys: map[string]*branch{}}
	for _, m := range masks {
		s.leaf = s.leaf || m.leaf
		if len(m.keys) == 0 {
			continue
		}
		owner := m
		if m.owner != nil {
			owner = m.owner
		}
		s.objects = append(s.objects, owner)
	}
	s.other = s.branch(func(*mask) *mask { return nil }, false)
	s.item = s.branch(func(*mask) *mask { return nil }, true)
	for _, m := range masks {
		for name := range m.keys {
			if s.keys[name] == nil {
				s.keys[name] = s.branch(func(m *mask) *mask { return m.keys[name] }, false)
			}
		}
		for n := range m.index {
			if s.index == nil {
				s.index = map[int]*branch{}
			}
			if s.index[n] == nil {
				s.index[n] = s.branch(func(m *mask) *mask { return m.index[n] }, true)
			}
		}
	}
	return s
}

// branch collects the masks that apply to a member or an element. An element
// keeps its array's masks for their keys alone: that is the implied array.
func (s *state) branch(pick func(*mask) *mask, implied bool) *branch {
	b := &branch{}
	leaf, deeper := false, false
	for _, m := range s.masks {
		for _, c := range []*mask{pick(m), m.each} {
			if c != nil {
				b.hits = append(b.hits, c)
				b.masks = append(b.masks, c)
			}
		}
		if implied && len(m.keys) > 0 {
			b.masks = append(b.masks, m.implied())
		}
	}
	for _, m := range b.masks {
		leaf = leaf || m.leaf
		deeper = deeper || m.each != nil || len(m.keys) > 0 || len(m.index) > 0
	}
	switch {
	case s.exclude && leaf:
		b.act = drop
	case s.exclude && len(b.masks) == 0, leaf && !deeper:
		b.act = whole
	case len(b.masks) > 0:
		b.act = enter
	}
	return b
}

// take counts that a value is there.
func (b *branch) take() {
	for _, m := range b.hits {
		m.hits++
	}
}

// key returns the branch for a key as it is written.
func (s *state) key(raw []byte) *branch {
	if len(s.keys) == 0 {
		return s.other
	}
	name := raw[1:max(1, len(raw)-1)]
	b := s.keys[string(name)]
	if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
		b = s.keys[jsonscan.Text(raw)]
	}
	if b == nil {
		return s.other
	}
	return b
}

func (s *state) element(n int) *branch {
	if b := s.index[n]; b != nil {
		return b
	}
	return s.item
}

// before reports whether data goes on with t at i.
func (t *slot) before(data []byte, i int) bool {
	return len(data)-i >= len(t.text) && string(data[i:i+len(t.text)]) == t.text
}

// follow returns the state that b leads to from s.
func (w *projector) follow(b *branch, s *state) *state {
	if b.to != nil && b.round == w.round {
		return b.to
	}
	if slices.Equal(b.masks, s.masks) {
		b.to = s
	} else {
		b.to = stateOf(b.masks, s.exclude)
		w.keep(3 + len(b.to.keys) + len(b.to.index))
	}
	b.round = w.round
	return b.to
}

// keep counts cells, and lets go of all states but those in use when they
// become too many.
func (w *projector) keep(cells int) {
	if w.cells += cells; w.cells > maxCells {
		w.cells = 0
		w.round++
	}
}

// member reads the member at i of an object, behind at. It returns nil at the
// end. The slot is valid until the next call.
func (w *projector) member(i int, s *state, at *slot) *slot {
	data := w.src
	key := jsonscan.SkipSpace(data, i)
	if key < len(data) && data[key] == ',' {
		key = jsonscan.SkipSpace(data, key+1)
	}
	if key >= len(data) || data[key] != '"' {
		return nil
	}
	end := jsonscan.SkipString(data, key)
	value := jsonscan.SkipSpace(data, end)
	if value < len(data) && data[value] == ':' {
		value = jsonscan.SkipSpace(data, value+1)
	}
	text := data[i:value]
	if at != &w.loose && len(text) <= maxSlotBytes {
		t := s.slots[string(text)]
		if t == nil && len(s.slots) < maxSlots {
			if s.slots == nil {
				s.slots = map[string]*slot{}
			}
			t = &slot{text: string(text), size: len(text), key: key - i, end: end - i, branch: s.key(data[key:end])}
			s.slots[t.text] = t
			w.keep(1)
		}
		if t != nil {
			at.next, at.rarer = t, at.next
			return t
		}
	}
	w.loose = slot{size: len(text), key: key - i, end: end - i, branch: s.key(data[key:end])}
	return &w.loose
}
