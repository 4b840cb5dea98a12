package jq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// A Tree is a document, parsed. It is not modified.
type Tree struct {
	value  any   // scalars as gojq has them, []any, and *object
	size   int64 // bytes of memory, estimated
	mapped int64 // bytes that maps and arrays for gojq would take besides
}

// Size is what the tree takes of memory, the document's bytes included, about.
func (t *Tree) Size() int64 { return t.size }

// Parse reads a document. The tree refers to data, which must not change.
func Parse(ctx context.Context, kind Kind, data []byte) (*Tree, error) {
	return parse(func() error {
		if d, ok := ctx.Deadline(); ok && time.Now().After(d) {
			return context.DeadlineExceeded
		}
		return ctx.Err()
	}, kind, data, math.MaxInt64)
}

// errTooLarge says that a tree would not fit into the memory it may take.
var errTooLarge = errors.New("the tree is too large")

// parse is Parse for a tree of at most maxSize. It asks ended now and then
// whether to go on.
func parse(ended func() error, kind Kind, data []byte, maxSize int64) (*Tree, error) {
	p := parser{ended: ended, s: unsafe.String(unsafe.SliceData(data), len(data)), left: maxSize - int64(len(data))}
	var v any
	var err error
	switch kind {
	case Text:
		p.left -= int64(len(data))
		v = validText(p.s)
	case JSON:
		v, err = p.document()
	case Lines:
		v, err = p.lines()
	default:
		err = fmt.Errorf("jq: no kind %d", kind)
	}
	if err == nil && p.left < 0 {
		err = errTooLarge
	}
	if err != nil {
		return nil, err
	}
	return &Tree{v, maxSize - p.left, p.mapped}, nil
}

// validText is s with U+FFFD for each byte that is not UTF-8, as JSON decoders
// have it.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

// A parser reads JSON into a tree, strings without a copy. It accepts what
// encoding/json does, to maxDepth levels.
type parser struct {
	ended func() error
	s     string
	i     int   // the next byte
	left  int64 // of the memory that the tree may take
	n     uint  // values read

	mapped int64 // see [Tree]
	shapes shapes
	// The values and keys of what is not read to its end yet.
	values []any
	keys   []string
	// Room for the next containers: small ones are cut from large pieces.
	room    []any
	objects []object

	// What comes again is boxed once: names of columns, codes, small numbers.
	strings [1024]any
	ints    [1024]any
}

// Sizes of what a tree is made of.
const (
	sizeValue  = 16
	sizeArray  = 24
	sizeObject = 32
	sizeOwn    = 96 // a shape for one object only, and 16 for a key

	// And of maps for gojq, as the runtime of Go 1.24 and later has them: up to
	// eight members have one group of slots.
	sizeMap  = 48 + 8*(16+sizeValue) + 32
	sizeSlot = 48 // of larger maps, with the slots that are empty
)

const (
	// maxPiece is how many values a container has at most that is cut from a
	// piece of pieceValues.
	maxPiece    = 64
	pieceValues = 1024
	// largeList is from how many values on an array is not copied off the
	// stack, but keeps it.
	largeList = 1 << 16
)

// alloc is room for n values.
func (p *parser) alloc(n int) []any {
	switch {
	case n == 0:
		return []any{}
	case n > maxPiece:
		return make([]any, n)
	}
	if n > len(p.room) {
		p.room = make([]any, pieceValues)
	}
	vals := p.room[:n:n]
	p.room = p.room[n:]
	return vals
}

func (p *parser) document() (any, error) {
	p.space()
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.i < len(p.s) {
		return nil, p.unexpected()
	}
	return v, nil
}

// lines reads one value a line; blank lines do not count.
func (p *parser) lines() (any, error) {
	whole := p.s
	for start := 0; start < len(whole); {
		end := strings.IndexByte(whole[start:], '\n')
		if end < 0 {
			end = len(whole)
		} else {
			end += start
		}
		p.s, p.i = whole[:end], start
		if p.space(); p.i < end {
			v, err := p.document()
			if err != nil {
				return nil, err
			}
			p.push(v)
		}
		start = end + 1
	}
	return p.list(0), nil
}

// list makes an array of the values from base on.
func (p *parser) list(base int) any {
	n := len(p.values) - base
	p.left -= sizeArray
	p.mapped += sizeArray + int64(n)*sizeValue
	if n >= largeList {
		vals := p.values[base:]
		p.left -= int64(cap(vals)-n) * sizeValue
		p.values = slices.Clone(p.values[:base])
		return vals[:n:n]
	}
	vals := p.alloc(n)
	copy(vals, p.values[base:])
	p.values = p.values[:base]
	return vals
}

// push puts the next value of a container on the stack.
func (p *parser) push(v any) {
	p.left -= sizeValue
	p.values = append(p.values, v)
}

func (p *parser) unexpected() error {
	if p.i >= len(p.s) {
		return errors.New("jq: parse document: unexpected end")
	}
	return fmt.Errorf("jq: parse document: unexpected %q at byte %d", p.s[p.i], p.i)
}

func (p *parser) space() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

// more is asked for at each value.
func (p *parser) more() error {
	if p.left < 0 {
		return errTooLarge
	}
	if p.n++; p.n%1024 != 0 {
		return nil
	}
	return p.ended()
}

func (p *parser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("jq: parse document: deeper than %d levels", maxDepth)
	}
	if err := p.more(); err != nil {
		return nil, err
	}
	if p.i >= len(p.s) {
		return nil, p.unexpected()
	}
	switch c := p.s[p.i]; c {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		s, err := p.text()
		if err != nil {
			return nil, err
		}
		return p.box(s), nil
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return p.number()
		}
		return nil, p.unexpected()
	}
}

func (p *parser) word(w string) error {
	if !strings.HasPrefix(p.s[p.i:], w) {
		return p.unexpected()
	}
	p.i += len(w)
	return nil
}

func (p *parser) array(depth int) (any, error) {
	p.i++
	base := len(p.values)
	if p.space(); p.i < len(p.s) && p.s[p.i] == ']' {
		p.i++
		return p.list(base), nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.push(v)
		p.space()
		if p.i >= len(p.s) {
			return nil, p.unexpected()
		}
		switch p.s[p.i] {
		case ',':
			p.i++
			p.space()
		case ']':
			p.i++
			return p.list(base), nil
		default:
			return nil, p.unexpected()
		}
	}
}

func (p *parser) object(depth int) (any, error) {
	p.i++
	base, at := len(p.values), &p.shapes.root
	names := len(p.keys)
	if p.space(); p.i < len(p.s) && p.s[p.i] == '}' {
		p.i++
		return p.made(base, names, at), nil
	}
	for {
		key, next, err := p.key(at, len(p.keys)-names)
		if err != nil {
			return nil, err
		}
		at = next
		p.keys = append(p.keys, key)
		if p.space(); p.i >= len(p.s) || p.s[p.i] != ':' {
			return nil, p.unexpected()
		}
		p.i++
		p.space()
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.push(v)
		p.space()
		if p.i >= len(p.s) {
			return nil, p.unexpected()
		}
		switch p.s[p.i] {
		case ',':
			p.i++
			p.space()
		case '}':
			p.i++
			return p.made(base, names, at), nil
		default:
			return nil, p.unexpected()
		}
	}
}

// key reads the key at p.i, the one after at, which is nil where shapes are not
// shared. Most keys are those that came there before.
func (p *parser) key(at *step, depth int) (string, *step, error) {
	if p.i >= len(p.s) || p.s[p.i] != '"' {
		return "", nil, p.unexpected()
	}
	if at != nil && at.next != nil && at.next.plain {
		k := at.next.key
		if end := p.i + 1 + len(k); end < len(p.s) && p.s[end] == '"' && p.s[p.i+1:end] == k {
			p.i = end + 1
			return k, at.next, nil
		}
	}
	k, err := p.text()
	if err != nil || at == nil {
		return k, nil, err
	}
	return k, p.shapes.take(at, k, depth), nil
}

// made makes an object of the values from base and the keys from names on,
// which lead to at.
func (p *parser) made(base, names int, at *step) any {
	keys, values := p.keys[names:], p.values[base:]
	p.left -= sizeObject
	p.mapped += sizeMap + sizeSlot*int64(max(len(keys)-8, 0))
	if at == nil {
		p.left -= sizeOwn + 16*int64(len(keys))
	}
	if len(p.objects) == 0 {
		p.objects = make([]object, 256)
	}
	o := &p.objects[0]
	p.objects = p.objects[1:]
	o.shape, o.vals = p.shapes.fit(at, keys, values, p.alloc(len(keys)))
	p.keys, p.values = p.keys[:names], p.values[:base]
	return o
}

// box is s as a value; short strings that come again share one.
func (p *parser) box(s string) any {
	if len(s) > 24 {
		p.left -= sizeValue
		return s
	}
	h := uint32(2166136261)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint32(s[i])) * 16777619
	}
	kept := &p.strings[(h^h>>15)%uint32(len(p.strings))]
	if was, ok := (*kept).(string); ok && was == s {
		return *kept
	}
	p.left -= sizeValue
	*kept = s
	return *kept
}

// number keeps what int or float64 would spell otherwise as json.Number: large
// integers, exponents, 1.0 and -0.
func (p *parser) number() (any, error) {
	start := p.i
	neg := p.s[p.i] == '-'
	if neg {
		p.i++
	}
	digits := p.i
	whole, ok := p.digits()
	if !ok || p.s[digits] == '0' && p.i > digits+1 {
		return nil, p.unexpected()
	}
	n := p.i - digits
	end := byte(0)
	if p.i < len(p.s) {
		end = p.s[p.i]
	}
	plain := n <= 15
	fraction := 0
	if end == '.' {
		p.i++
		from := p.i
		part, ok := p.digits()
		if !ok {
			return nil, p.unexpected()
		}
		fraction = p.i - from
		plain = n+fraction <= 15 && p.s[p.i-1] != '0'
		if plain {
			whole = whole*powers[fraction] + part
		}
		if p.i < len(p.s) {
			end = p.s[p.i]
		}
	}
	if p.i < len(p.s) && (end == 'e' || end == 'E') {
		plain = false
		p.i++
		if p.i < len(p.s) && (p.s[p.i] == '+' || p.s[p.i] == '-') {
			p.i++
		}
		if _, ok := p.digits(); !ok {
			return nil, p.unexpected()
		}
	}
	switch {
	case plain && fraction > 0:
		f := float64(whole) / float64(powers[fraction])
		if f < 1e-6 {
			break // spelt with an exponent
		}
		if neg {
			f = -f
		}
		p.left -= 8
		return f, nil
	case plain && !(neg && whole == 0):
		i := int(whole)
		if neg {
			i = -i
		}
		if int64(i) != int64(whole) && !neg {
			break // a 32-bit int
		}
		kept := &p.ints[uint(i)%uint(len(p.ints))]
		if was, ok := (*kept).(int); ok && was == i {
			return *kept, nil
		}
		p.left -= 8
		*kept = i
		return *kept, nil
	}
	p.left -= sizeValue
	return json.Number(p.s[start:p.i]), nil
}

var powers = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// digits reads at least one, and returns their value, if that is no more than
// a uint64.
func (p *parser) digits() (n uint64, ok bool) {
	start := p.i
	for p.i < len(p.s) && p.s[p.i]-'0' <= 9 {
		n = n*10 + uint64(p.s[p.i]-'0')
		p.i++
	}
	return n, p.i > start
}

// text reads a string.
func (p *parser) text() (string, error) {
	p.i++
	start := p.i
	high := false
	for ; p.i < len(p.s); p.i++ {
		switch c := p.s[p.i]; {
		case c == '"':
			s := p.s[start:p.i]
			p.i++
			if high && !utf8.ValidString(s) {
				s = validText(s)
				p.left -= int64(len(s))
			}
			return s, nil
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", p.unexpected()
		case c >= utf8.RuneSelf:
			high = true
		}
	}
	return "", p.unexpected()
}

// escaped reads the rest of a string that has escapes; p.i is at the first.
func (p *parser) escaped(start int) (string, error) {
	end := p.i
	for end < len(p.s) && p.s[end] != '"' {
		if p.s[end] == '\\' {
			end++
		}
		end++
	}
	b := append(make([]byte, 0, max(min(end, len(p.s))-start, 0)), p.s[start:p.i]...)
	for p.i < len(p.s) {
		// Runs between escapes are copied as they are.
		from := p.i
		for p.i < len(p.s) && p.s[p.i] >= ' ' && p.s[p.i] != '"' && p.s[p.i] != '\\' {
			p.i++
		}
		b = append(b, p.s[from:p.i]...)
		if p.i >= len(p.s) {
			break
		}
		switch p.s[p.i] {
		case '"':
			p.i++
			p.left -= int64(cap(b))
			return validText(unsafe.String(unsafe.SliceData(b), len(b))), nil
		case '\\':
			var ok bool
			if b, ok = p.escape(b); !ok {
				return "", p.unexpected()
			}
		default:
			return "", p.unexpected()
		}
	}
	return "", p.unexpected()
}

func (p *parser) escape(b []byte) ([]byte, bool) {
	p.i++
	if p.i >= len(p.s) {
		return b, false
	}
	c := p.s[p.i]
	if c == 'u' {
		r := p.hex(p.i + 1)
		if r < 0 {
			return b, false
		}
		p.i += 5
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if strings.HasPrefix(p.s[p.i:], `\u`) {
				pair = utf16.DecodeRune(r, p.hex(p.i+2))
			}
			if pair != utf8.RuneError {
				p.i += 6
			}
			r = pair
		}
		return utf8.AppendRune(b, r), true
	}
	at := strings.IndexByte(`"\/bfnrt`, c)
	if at < 0 {
		return b, false
	}
	p.i++
	return append(b, "\"\\/\b\f\n\r\t"[at]), true
}

// hex reads four digits at i, -1 if they are not there.
func (p *parser) hex(i int) rune {
	if i+4 > len(p.s) {
		return -1
	}
	n, err := strconv.ParseUint(p.s[i:i+4], 16, 32)
	if err != nil {
		return -1
	}
	return rune(n)
}
