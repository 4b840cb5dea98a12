package find

import (
	"bytes"
	"errors"

	"rlmproxy/jsonscan"
	"rlmproxy/search"
)

// What a unit and a node take: their own 20 and 16 bytes, and of a unit a span,
// a line and a length in the index.
const (
	unitCost = 44
	nodeCost = 16
	// freeUnits is what documents may have however short they are.
	freeUnits = 1500
)

// errTooManyUnits has JSON divided anew, into less.
var errTooManyUnits = errors.New("too many units")

// tooMany reports whether units take more than twice the document: they have
// fewer than 22 bytes on average. What is in them takes up to twice as much
// again.
func tooMany(units, nodes, bytes int) bool {
	return units > freeUnits && unitCost*units+nodeCost*nodes > 2*bytes
}

// A spanList is the units of a text. If they get too many, small neighbours become
// one.
type spanList struct {
	bytes int // of the text; 0: never too many
	list  []search.Span
	join  bool
}

func (l *spanList) add(s search.Span) {
	if l.join && l.joined(s) {
		return
	}
	l.list = append(l.list, s)
	if l.bytes > 0 && !l.join && tooMany(len(l.list), 0, l.bytes) {
		all := l.list
		l.join, l.list = true, all[:0]
		for _, s := range all {
			if !l.joined(s) {
				l.list = append(l.list, s)
			}
		}
	}
}

// joined adds s to the last span, if both are small.
func (l *spanList) joined(s search.Span) bool {
	if n := len(l.list); n > 0 && s.End-l.list[n-1].Start <= minMember {
		l.list[n-1].End = s.End
		return true
	}
	return false
}

// elements are those of a unit of several.
func (u *units) elements(one unit) [][]byte {
	var all [][]byte
	raw := u.text[one.start:one.end]
	if u.many && one.node == 0 {
		for line := range bytes.Lines(raw) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				all = append(all, line)
			}
		}
		return all
	}
	for _, e := range jsonscan.Items([]byte("[" + string(raw) + "]")) {
		all = append(all, e)
	}
	return all
}
