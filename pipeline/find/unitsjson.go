package find

import (
	"bytes"
	"context"
	"errors"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/search"
)

// jsonUnits divides JSON: objects in arrays are records and so are values of
// objects, as far as they are not too large. Of those the parts are; small
// neighbours are one unit, and long strings divide like text.
func jsonUnits(ctx context.Context, v doc.Value) (*units, error) {
	d := &jsonDivider{
		tick:  doc.Ticker{Ctx: ctx},
		data:  v.Data,
		plain: unescaped(v.Data),
		units: &units{text: v.Data, of: "values", many: v.Kind == doc.JSONLines, nodes: []node{{object: v.Kind == doc.JSON && jsonscan.Kind(v.Data) == '{'}}},
	}
	divide := d.lines
	if v.Kind == doc.JSON {
		divide = func() error { return d.container(v.Data, 0, maxUnitDepth) }
	}
	err := divide()
	if errors.Is(err, errTooManyUnits) {
		d.coarse, d.open, d.records = true, false, 0
		d.units.list, d.units.nodes = d.units.list[:0], d.units.nodes[:1]
		err = divide()
	}
	if err != nil {
		return nil, err
	}
	u := d.units
	if cap(u.list)-len(u.list) > len(u.list)/8 {
		u.list = append(make([]unit, 0, len(u.list)), u.list...)
	}
	if 2*d.records >= len(u.list) {
		u.of = "records"
	}
	u.plain = d.plain
	return u, nil
}

type jsonDivider struct {
	tick    doc.Ticker
	data    []byte
	plain   []byte // data, its strings decoded in place
	units   *units
	coarse  bool // small neighbours are one unit, records too
	open    bool // the last unit is a group that may grow
	records int  // objects of arrays that are units
}

// container divides the parts of value, which is node n.
func (d *jsonDivider) container(value []byte, n uint32, depth int) error {
	d.open = false
	defer func() { d.open = false }()
	if jsonscan.Kind(value) == '{' {
		i := uint32(0)
		for key, value := range jsonscan.Fields(value) {
			if err := d.part(unit{start: d.offset(key), node: n, index: i}, value, depth); err != nil {
				return err
			}
			i++
		}
		return nil
	}
	for i, value := range jsonscan.Items(value) {
		if err := d.part(unit{start: d.offset(value), node: n, index: uint32(i)}, value, depth); err != nil {
			return err
		}
	}
	return nil
}

// lines divides JSON Lines.
func (d *jsonDivider) lines() error {
	n := uint32(0)
	for at := 0; at < len(d.data); {
		end := len(d.data)
		if i := bytes.IndexByte(d.data[at:], '\n'); i >= 0 {
			end = at + i
		}
		if start := jsonscan.SkipSpace(d.data, at); start < end {
			// The capacity is kept, see offsetIn.
			value := d.data[start : start+len(bytes.TrimSpace(d.data[start:end]))]
			if err := d.part(unit{start: uint32(start), index: n}, value, maxUnitDepth); err != nil {
				return err
			}
			n++
		}
		at = end + 1
	}
	return nil
}

func (d *jsonDivider) offset(part []byte) uint32 { return uint32(jsonscan.OffsetIn(d.data, part)) }

// part adds a member or element, of which one has start, node and index.
func (d *jsonDivider) part(one unit, value []byte, depth int) error {
	inArray := !d.units.nodes[one.node].object
	one.end = d.offset(value) + uint32(len(value))
	size := len(value)
	divide := size > maxMember
	switch value[0] {
	case '{':
		divide = size > maxRecord || size > maxMember && !inArray || size > maxGroup && wraps(value)
	case '[':
		divide = divide || (!d.coarse || size >= minMember) && isList(value)
	}
	record := inArray && value[0] == '{'
	switch {
	case jsonscan.IsContainer(value) && divide && depth > 0:
		if err := d.tick.ErrFor(size); err != nil {
			return err
		}
		return d.container(value, d.node(one, value[0] == '{'), depth-1)
	case jsonscan.IsContainer(value) && (size >= minMember || record && !d.coarse):
		one.kind = unitValue
		if record {
			d.records++
		}
		d.add(one)
	case value[0] == '"' && size > maxGroup:
		d.pieces(one, value)
	default:
		if record {
			d.group(one, unitRange, minMember)
		} else {
			d.group(one, unitGroup, maxGroup)
		}
	}
	if !d.coarse && tooMany(len(d.units.list), len(d.units.nodes), len(d.data)) {
		return errTooManyUnits
	}
	return d.tick.Err()
}

// isList reports whether an array has several objects.
func isList(array []byte) bool {
	objects := 0
	for i, e := range jsonscan.Items(array) {
		if e[0] == '{' {
			objects++
		}
		if objects > 1 || i == 10 {
			break
		}
	}
	return objects > 1
}

// wraps reports whether an object is mostly one list, and so no record itself.
func wraps(object []byte) bool {
	for _, value := range jsonscan.Fields(object) {
		if 2*len(value) > len(object) {
			return value[0] == '[' && isList(value)
		}
	}
	return false
}

// node adds what one would be as a container of units.
func (d *jsonDivider) node(one unit, object bool) uint32 {
	d.units.nodes = append(d.units.nodes, node{one.node, one.index, one.start, object})
	return uint32(len(d.units.nodes) - 1)
}

func (d *jsonDivider) add(one unit) {
	d.units.list = append(d.units.list, one)
	d.open = false
}

// group adds a small value to those before it, up to most bytes.
func (d *jsonDivider) group(one unit, kind unitKind, most int) {
	if d.open {
		last := &d.units.list[len(d.units.list)-1]
		if last.kind == unitRange {
			most = minMember
		}
		if int(one.end-last.start) <= most {
			last.end, last.kind = one.end, max(last.kind, kind)
			return
		}
	}
	if one.kind = kind; kind == unitRange {
		d.records++
	}
	d.add(one)
	d.open = true
}

// pieces adds the passages of a long string.
func (d *jsonDivider) pieces(one unit, value []byte) {
	start := one.end - uint32(len(value)) + 1
	text := d.plain[start : one.end-1]
	one.node, one.kind = d.node(one, false), unitPiece
	for _, s := range search.Passages(bytes.TrimRight(text, " ")) {
		one.start, one.end = start+uint32(s.Start), start+uint32(s.End)
		d.add(one)
	}
}

// unescaped is JSON with its strings decoded in place, and filled up with blanks
// at their ends: words are then as they are meant, and offsets tell which string
// they are in. It is data itself if nothing is escaped.
func unescaped(data []byte) []byte {
	at := bytes.IndexByte(data, '\\')
	if at < 0 {
		return data
	}
	out := bytes.Clone(data)
	for {
		// No string ends between its first escape and end, so what precedes it
		// can stay.
		end := at
		for end < len(data) && data[end] != '"' {
			if data[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(data))
		n := at + len(jsonscan.AppendUnescaped(out[at:at], data[at:end]))
		for ; n < end; n++ {
			out[n] = ' '
		}
		next := bytes.IndexByte(data[end:], '\\')
		if next < 0 {
			return out
		}
		at = end + next
	}
}
