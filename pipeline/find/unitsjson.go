package find

import (
	"bytes"
	"context"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/search"
)

const (
	// maxMember bounds a member of an object that is one unit, maxRecord an
	// object in an array, in bytes. Of larger ones the parts are units.
	maxMember = 4 << 10
	maxRecord = 16 << 10
	// minMember is what an object or array must have to be a unit; smaller ones
	// go with their neighbours, up to maxGroup together.
	minMember = 64
	maxGroup  = 1200
	// maxUnitDepth bounds how deep parts of parts are looked for, as each level
	// is one more pass. What is deeper is divided like text.
	maxUnitDepth = 24
)

// jsonUnits divides JSON: objects in arrays are records and so are values of
// objects, as far as they are not too large. Of those the parts are; small
// neighbours are one unit, and long strings divide like text.
func jsonUnits(ctx context.Context, v doc.Value) (*units, error) {
	d := &jsonDivider{
		tick:  doc.Ticker{Ctx: ctx},
		units: &units{text: v.Data, plain: unescaped(v.Data), of: "values", many: v.Kind == doc.JSONLines},
	}
	if err := d.divide(v); err != nil {
		return nil, err
	}
	u := d.units
	records := 0
	for _, one := range u.list {
		if one.kind == unitRecord {
			records++
		}
	}
	if 2*records >= len(u.list) {
		u.of = "records"
	}
	return u, nil
}

type jsonDivider struct {
	tick  doc.Ticker
	units *units
}

func (d *jsonDivider) divide(v doc.Value) error {
	if v.Kind == doc.JSON {
		return d.container(v.Data, maxUnitDepth)
	}
	for line := range jsonscan.Lines(v.Data) {
		if err := d.part(line, line, true, maxUnitDepth); err != nil {
			return err
		}
	}
	return nil
}

// container divides the parts of an object or array.
func (d *jsonDivider) container(value []byte, depth int) error {
	for key, member := range jsonscan.Fields(value) {
		if err := d.part(key, member, false, depth); err != nil {
			return err
		}
	}
	for _, item := range jsonscan.Items(value) {
		if err := d.part(item, item, true, depth); err != nil {
			return err
		}
	}
	return nil
}

// part adds a member or element, which starts where first does.
func (d *jsonDivider) part(first, value []byte, inArray bool, depth int) error {
	if err := d.tick.ErrFor(len(value)); err != nil {
		return err
	}
	u := d.units
	end := jsonscan.OffsetIn(u.text, value) + len(value)
	one := unit{start: uint32(jsonscan.OffsetIn(u.text, first)), end: uint32(end), kind: unitValue}
	switch {
	case jsonscan.IsContainer(value) && depth > 0 && divides(value, inArray):
		return d.container(value, depth-1)
	case inArray && value[0] == '{':
		one.kind = unitRecord
		u.list = append(u.list, one)
	case jsonscan.IsContainer(value) && len(value) >= minMember:
		u.list = append(u.list, one)
	case value[0] == '"' && len(value) > maxGroup:
		d.pieces(end-len(value), end)
	default:
		d.group(one)
	}
	return nil
}

// group adds a small value to the group before it, if nothing but a comma and space
// is between them.
func (d *jsonDivider) group(one unit) {
	u := d.units
	one.kind = unitGroup
	if n := len(u.list); n > 0 {
		last := &u.list[n-1]
		if last.kind == unitGroup && one.end-last.start <= maxGroup && len(bytes.Trim(u.text[last.end:one.start], ", \t\r\n")) == 0 {
			last.end = one.end
			return
		}
	}
	u.list = append(u.list, one)
}

// divides reports whether the parts of a container are units, and not itself.
func divides(value []byte, inArray bool) bool {
	size := len(value)
	switch {
	case value[0] == '[':
		return size > maxMember || size >= minMember && isList(value)
	case inArray:
		return size > maxRecord || size > maxGroup && wraps(value)
	}
	return size > maxMember || size > maxGroup && wraps(value)
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

// pieces adds the passages of a long string, which is text[start:end].
func (d *jsonDivider) pieces(start, end int) {
	u := d.units
	for _, s := range search.Passages(bytes.TrimRight(u.plain[start+1:end-1], " ")) {
		from := uint32(start + 1)
		u.list = append(u.list, unit{start: from + uint32(s.Start), end: from + uint32(s.End), inside: uint32(start), kind: unitPiece})
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
