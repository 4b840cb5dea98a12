package find

import "bytes"

const (
	// unitCost is what a unit takes, in bytes: its own, and a span, a line, a length
	// and its share of the words in the index.
	unitCost = 44
	// freeUnits is what documents may have however short they are.
	freeUnits = 1500
	// smallUnit bounds the units that become one with their neighbours where there
	// are too many.
	smallUnit = 64
)

// A unitList is the units of a text. If they take more than twice the text, because
// they have fewer than 22 bytes on average, small neighbours become one.
type unitList struct {
	text []byte
	list []unit
	join bool // there are too many
}

// add appends a unit. It may be joined to the group before it, up to most bytes.
func (l *unitList) add(one unit, most int) {
	if l.joined(one, most) {
		return
	}
	l.list = append(l.list, one)
	if n := len(l.list); !l.join && n > freeUnits && unitCost*n > 2*len(l.text) {
		all := l.list
		l.join, l.list = true, all[:0]
		for _, one := range all {
			if !l.joined(one, 0) {
				l.list = append(l.list, one)
			}
		}
	}
}

// joined adds one to the last unit, if nothing but a comma and space is between them.
func (l *unitList) joined(one unit, most int) bool {
	if len(l.list) == 0 || one.kind == unitPiece {
		return false
	}
	last := &l.list[len(l.list)-1]
	if last.kind != unitGroup && last.kind != unitRange {
		most = 0
	}
	if l.join {
		most = max(most, smallUnit)
	}
	if last.kind == unitPiece || int(one.end-last.start) > most || len(bytes.Trim(l.text[last.end:one.start], ", \t\r\n")) > 0 {
		return false
	}
	last.end = one.end
	switch {
	case one.kind == unitLines:
	case one.kind == unitRecord || one.kind == unitRange || last.kind == unitRecord || last.kind == unitRange:
		last.kind = unitRange
	default:
		last.kind = unitGroup
	}
	return true
}
