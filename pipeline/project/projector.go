package project

import (
	"bytes"
	"context"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
)

// A cursor is a place in a mask that a value of the document is at. Several are
// active at once where items.name and items[3].id meet.
type cursor struct {
	*mask
	// implied says that the value is an element of an array that no step names.
	// Keys of the mask apply to it; [] and indexes were meant for the array, and
	// what ends at the array does not end here.
	implied bool
}

// A projector writes the parts of one document that a mask leaves.
type projector struct {
	exclude bool // the mask says what is left out, not what is kept
	tick    doc.Ticker
	out     []byte
	dropped int        // values that were left out because of exclude
	levels  [][]cursor // for below: a slice for each level of the walk
	key     []byte     // for below: the key, decoded
	err     error
}

// apply returns the part of in that m keeps, or what is left without it.
func apply(ctx context.Context, in doc.Value, m *mask, exclude bool) (doc.Value, error) {
	p := &projector{exclude: exclude, tick: doc.Ticker{Ctx: ctx}}
	root := []cursor{{mask: m}}
	if in.Kind == doc.JSON {
		p.write(bytes.TrimSpace(in.Data), root, 0)
	} else { // JSON Lines are the array of their lines
		n := 0
		for line := range jsonscan.Lines(in.Data) {
			active := root
			if exclude || !m.leaf {
				active = p.below(root, nil, n, 0)
			}
			if p.write(line, active, 1) {
				p.out = append(p.out, '\n')
			}
			n++
		}
	}
	if p.err != nil {
		return doc.Value{}, p.err
	}
	return doc.Derive(in, in.Kind, p.out), nil
}

// write appends what is left of value, and reports whether anything is.
func (p *projector) write(value []byte, active []cursor, level int) bool {
	if p.err == nil {
		p.err = p.tick.ErrFor(len(value))
	}
	if p.err != nil {
		return false
	}
	if p.exclude {
		return p.without(value, active, level)
	}
	leaf, deeper := ends(active)
	switch start := len(p.out); {
	case leaf:
		if deeper { // what deeper paths name is kept anyway, but must be counted
			p.container(entered(value), active, level)
			p.out = p.out[:start]
		}
		p.out = jsonscan.AppendMinified(p.out, value)
		return true
	case deeper:
		return p.container(entered(value), active, level)
	}
	return false
}

// without is write for exclude. A string that holds none of what is excluded
// stays as it is.
func (p *projector) without(value []byte, active []cursor, level int) bool {
	leaf, deeper := ends(active)
	if leaf {
		p.dropped++
		return false
	}
	if deeper {
		start, dropped := len(p.out), p.dropped
		if p.container(entered(value), active, level) && (p.dropped > dropped || value[0] != '"') {
			return true
		}
		p.out = p.out[:start]
	}
	p.out = jsonscan.AppendMinified(p.out, value)
	return true
}

// entered is what a string holds that is JSON of its own; other values are
// themselves.
func entered(value []byte) []byte {
	if inner, ok := doc.EnterString(value); ok {
		return inner
	}
	return value
}

// ends reports whether a path ends at the active places, and whether one goes on.
func ends(active []cursor) (leaf, deeper bool) {
	for _, c := range active {
		leaf = leaf || c.leaf && !c.implied
		deeper = deeper || len(c.keys) > 0 || !c.implied && (c.each != nil || len(c.index) > 0)
	}
	return leaf, deeper
}

// container appends what is left of an object or an array, and reports whether
// value is one.
func (p *projector) container(value []byte, active []cursor, level int) bool {
	switch jsonscan.Kind(value) {
	case '{':
		for _, c := range active {
			if len(c.keys) > 0 {
				c.objects++
			}
		}
		p.out = append(p.out, '{')
		for key, member := range jsonscan.Fields(value) {
			p.part(key, member, p.below(active, key, 0, level), level)
		}
		p.out = append(p.out, '}')
		return true
	case '[':
		p.out = append(p.out, '[')
		for n, item := range jsonscan.Items(value) {
			p.part(nil, item, p.below(active, nil, n, level), level)
		}
		p.out = append(p.out, ']')
		return true
	}
	return false
}

// part appends what is left of a member or, without a key, of an item, with the
// comma before it.
func (p *projector) part(key, value []byte, active []cursor, level int) {
	start := len(p.out)
	if c := p.out[start-1]; c != '{' && c != '[' {
		p.out = append(p.out, ',')
	}
	if key != nil {
		p.out = append(append(p.out, key...), ':')
	}
	if !p.write(value, active, level+1) {
		p.out = p.out[:start]
	}
}

// below returns the places that are active in a member of what active is at or,
// without a key, in item n. It is valid until the next call for this level.
func (p *projector) below(active []cursor, key []byte, n, level int) []cursor {
	if level == len(p.levels) {
		p.levels = append(p.levels, nil)
	}
	next := p.levels[level][:0]
	if key != nil {
		p.key = jsonscan.AppendUnquoted(p.key[:0], key)
	}
	hit := func(m *mask) {
		if m != nil {
			m.hits++
			next = append(next, cursor{mask: m})
		}
	}
	for _, c := range active {
		if key != nil {
			hit(c.keys[string(p.key)])
		} else if !c.implied {
			hit(c.index[n])
		}
		if !c.implied {
			hit(c.each)
		}
		if key == nil && len(c.keys) > 0 {
			next = append(next, cursor{c.mask, true})
		}
	}
	p.levels[level] = next
	return next
}
