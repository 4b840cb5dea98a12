package schema

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

// A Outlier is a record that differs from the others.
type Outlier struct {
	N     int
	Why   string // e.g. `max delay`
	score float64
}

const (
	// Below minRecords nothing is rare.
	minRecords = 20
	// rareShare of the records, or fewer, have what is called rare: 1 in 50.
	rareShare = 50
	// An extreme is as many standard deviations from the mean: in a normal
	// distribution 1 of 16,000 is.
	farDeviations = 4
	// A large record has as many times the mean size.
	largeFactor = 4
)

// Outliers returns the records that stand out, the oddest first: another
// type, a rare field or value, what is called an error, an extreme number, a
// large size. One pass over the records, two levels deep.
func Outliers(l List) []Outlier {
	if l.Elem == nil || l.N < minRecords {
		return nil
	}
	f := newFinder(l.Elem)
	n := -1
	for _, value := range l.All() {
		n++
		f.record(n, value)
	}
	return f.best()
}

// A finder looks at one record after the other.
type finder struct {
	elem   *Node
	fields map[string]*fieldFinder // by the key as it is mostly written
	kind   int                     // that most records have
	found  []Outlier
	large  int // bytes of the largest record so far
	where  int // its place in found, or -1
	kinds  [numKinds]bool
}

// A fieldFinder knows what would be odd in one field.
type fieldFinder struct {
	name   string
	rare   bool            // to have it at all
	isErr  bool            // its name says error
	values map[string]bool // rare values, as spelt; false once found
	errors map[string]bool // values that are called errors
	min    []byte          // an extreme, as spelt, or nil
	max    []byte
	minZ   float64
	maxZ   float64
	below  map[string]*fieldFinder
}

func newFinder(elem *Node) *finder {
	f := &finder{elem: elem, where: -1, fields: fieldFinders(elem, "", 2)}
	for k, n := range elem.Kinds {
		if n > elem.Kinds[f.kind] {
			f.kind = k
		}
	}
	return f
}

// fieldFinders returns those of the fields of node in which something is odd.
func fieldFinders(node *Node, prefix string, depth int) map[string]*fieldFinder {
	if depth == 0 || node.Rest != nil {
		return nil
	}
	out := map[string]*fieldFinder{}
	for _, f := range node.Fields {
		c := &fieldFinder{name: prefix + f.Name, below: fieldFinders(f.Node, prefix+f.Name+".", depth-1)}
		n, objects := f.Node.Count, node.Kinds[IsObject]
		odd := c.below != nil
		if objects >= minRecords && n*rareShare <= objects {
			c.rare, odd = true, true
		}
		if isErrorWord(f.Name) && f.Node.Kinds[isNull] < n {
			c.isErr, odd = true, true
		}
		for _, v := range f.Node.Values.List {
			// A field of ids has many values that are there once, and what is rare
			// among numbers is an extreme.
			if !c.isErr && typeOf(v.raw[0]) != isNumber && n >= minRecords && v.count*rareShare <= n && len(f.Node.Values.List) <= 2*fewDistinct {
				c.values, odd = put(c.values, v.raw), true
			}
			if v.raw[0] == '"' && 2*v.count < n && isErrorWord(jsonscan.Unquote(v.raw)) {
				c.errors, odd = put(c.errors, v.raw), true
			}
		}
		if s := &f.Node.Numbers; s.N >= minRecords && s.deviation() > 0 {
			if z := (s.mean - s.Min) / s.deviation(); z >= farDeviations {
				c.min, c.minZ, odd = s.minRaw, z, true
			}
			if z := (s.Max - s.mean) / s.deviation(); z >= farDeviations && !s.Rising {
				c.max, c.maxZ, odd = s.maxRaw, z, true
			}
		}
		if odd {
			out[f.Name] = c
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func put(m map[string]bool, raw []byte) map[string]bool {
	if m == nil {
		m = map[string]bool{}
	}
	m[string(raw)] = true
	return m
}

// isErrorWord reports whether s is one of the words for what went wrong.
func isErrorWord(s string) bool {
	if len(s) > 20 {
		return false
	}
	switch strings.ToLower(s) {
	case "error", "errors", "err", "fatal", "critical", "panic", "exception", "failed", "failure", "fail",
		"denied", "timeout", "crashed", "aborted", "rejected", "unhealthy", "degraded":
		return true
	}
	return false
}

// isNothing reports a value that says that there was no error.
func isNothing(raw []byte) bool {
	switch string(raw) {
	case "null", "false", `""`, "0", "[]", "{}":
		return true
	}
	return false
}

func (f *finder) record(n int, value []byte) {
	if k := typeOf(value[0]); k != f.kind && !f.kinds[k] {
		f.kinds[k] = true
		f.add(n, kindNames[k], 6)
	}
	if len(value)*f.elem.Count > largeFactor*f.elem.Bytes && len(value) > f.large && len(value) > 400 {
		s := Outlier{n, "largest", 2}
		if f.large = len(value); f.where < 0 {
			f.where = len(f.found)
			f.found = append(f.found, s)
		} else {
			f.found[f.where] = s
		}
	}
	if value[0] == '{' && f.fields != nil {
		f.members(n, value, f.fields)
	}
}

func (f *finder) members(n int, value []byte, fields map[string]*fieldFinder) {
	for key, raw := range jsonscan.Fields(value) {
		if len(key) < 2 {
			continue
		}
		c := fields[string(key[1:len(key)-1])]
		if c == nil {
			continue
		}
		if c.rare {
			c.rare = false
			f.add(n, "has "+c.name, 5)
		}
		if c.isErr && !isNothing(raw) {
			c.isErr = false
			f.add(n, c.name, 5.5)
		}
		if c.errors[string(raw)] {
			c.errors[string(raw)] = false
			if c.values != nil {
				c.values[string(raw)] = false
			}
			f.add(n, c.name+" "+show.Clip(string(raw), 30), 5.2)
		} else if c.values[string(raw)] {
			c.values[string(raw)] = false
			f.add(n, c.name+" "+show.Clip(string(raw), 30), 4)
		}
		if c.max != nil && bytes.Equal(raw, c.max) {
			c.max = nil
			f.add(n, "max "+c.name, 3+min(c.maxZ/100, 0.9))
		}
		if c.min != nil && bytes.Equal(raw, c.min) {
			c.min = nil
			f.add(n, "min "+c.name, 3+min(c.minZ/100, 0.9))
		}
		if c.below != nil && raw[0] == '{' {
			f.members(n, raw, c.below)
		}
	}
}

// add notes that a record stands out; reasons of one record join.
func (f *finder) add(n int, why string, score float64) {
	why = show.Clip(strings.ToValidUTF8(why, "�"), 60)
	if last := len(f.found) - 1; last >= 0 && f.found[last].N == n && last != f.where {
		if s := &f.found[last]; strings.Count(s.Why, ",") < 2 {
			s.Why = fmt.Sprintf("%s, %s", s.Why, why)
			s.score = max(s.score, score) + 0.1
		}
		return
	}
	if len(f.found) < 1000 {
		f.found = append(f.found, Outlier{n, why, score})
	}
}

// best is the oddest first, equals in document order.
func (f *finder) best() []Outlier {
	slices.SortStableFunc(f.found, func(a, b Outlier) int {
		return cmp.Or(cmp.Compare(b.score, a.score), a.N-b.N)
	})
	return f.found
}
