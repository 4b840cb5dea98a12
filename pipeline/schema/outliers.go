package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

// An Outlier is a record that differs from the others.
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
	// A value that more than maxRare have is told with the field's others.
	maxRare = 3
	// A field has few values if it has maxStates, and what is rare among them is odd.
	maxStates = 16
	// An extreme is as many standard deviations from the mean: in a normal
	// distribution 1 of 16,000 is.
	farDeviations = 4
	// A large record has as many times the mean size.
	largeFactor = 4
)

// Outliers returns the records that stand out, the oddest first: another
// type, a rare field or value, what is called an error, an extreme number, a
// large size. The highest value of the field ranked, "" for none, counts as extreme.
// One pass over the records, two levels deep.
func Outliers(l List, ranked string) []Outlier {
	if l.Elem == nil || l.N < minRecords {
		return nil
	}
	f := newFinder(l.Elem, ranked)
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
	kinds  [numKinds]bool          // others that were found
	found  []Outlier
	large  int // bytes of the largest record so far
	where  int // its place in found, or -1
}

// A reason is why a record stands out.
type reason struct {
	why   string
	score float64
}

// A fieldFinder knows what would be odd in one field, until it is found.
type fieldFinder struct {
	rare   *reason           // to have it at all
	failed *reason           // to have anything in it: its name says error
	values map[string]reason // by value, as spelt
	below  map[string]*fieldFinder
}

func newFinder(elem *Node, ranked string) *finder {
	f := &finder{elem: elem, where: -1, fields: fieldFinders(elem, ranked, "", 2)}
	for k, n := range elem.Kinds {
		if n > elem.Kinds[f.kind] {
			f.kind = k
		}
	}
	return f
}

// fieldFinders returns those of the fields of node in which something is odd.
func fieldFinders(node *Node, ranked, prefix string, depth int) map[string]*fieldFinder {
	if depth == 0 || node.Rest != nil {
		return nil
	}
	out := map[string]*fieldFinder{}
	for _, f := range node.Fields {
		name := prefix + f.Name
		c := &fieldFinder{values: map[string]reason{}, below: fieldFinders(f.Node, ranked, name+".", depth-1)}
		n, objects := f.Node.Count, node.Kinds[IsObject]
		if objects >= minRecords && n*rareShare <= objects {
			c.rare = &reason{"has " + name, 5}
		}
		if isErrorWord(f.Name) && f.Node.Kinds[isNull] < n {
			c.failed = &reason{name, 5.5}
		}
		for _, v := range f.Node.Values.List {
			why := name + " " + show.Clip(string(v.raw), 30)
			switch {
			case v.raw[0] == '"' && 2*v.count < n && isErrorWord(jsonscan.Unquote(v.raw)):
				c.values[string(v.raw)] = reason{why, 5.2}
			case c.failed == nil && typeOf(v.raw[0]) != isNumber && n >= minRecords && v.count <= maxRare && v.count*rareShare <= n && len(f.Node.Values.List) <= maxStates && !isDate(v.raw):
				// A field of ids has many values that are there once, and what is rare
				// among numbers is an extreme.
				c.values[string(v.raw)] = reason{why, 4}
			}
		}
		if s := &f.Node.Numbers; s.N >= minRecords && s.deviation() > 0 {
			if z := (s.mean - s.Min) / s.deviation(); z >= farDeviations {
				c.values[string(s.minRaw)] = reason{"min " + name, 3 + min(z/100, 0.9)}
			}
			if z := (s.Max - s.mean) / s.deviation(); name == ranked {
				c.values[string(s.maxRaw)] = reason{"max " + name, 5.6}
			} else if z >= farDeviations && !s.Rising {
				c.values[string(s.maxRaw)] = reason{"max " + name, 3 + min(z/100, 0.9)}
			}
		}
		if c.rare != nil || c.failed != nil || len(c.values)+len(c.below) > 0 {
			out[f.Name] = c
		}
	}
	return out
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
		f.add(n, reason{kindNames[k], 6})
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
	f.members(n, value, f.fields)
}

func (f *finder) members(n int, value []byte, fields map[string]*fieldFinder) {
	if len(fields) == 0 {
		return
	}
	for key, raw := range jsonscan.Fields(value) {
		c := fields[string(key[1:len(key)-1])]
		if c == nil {
			continue
		}
		if c.rare != nil {
			f.add(n, *c.rare)
			c.rare = nil
		}
		if c.failed != nil && !isNothing(raw) {
			f.add(n, *c.failed)
			c.failed = nil
		}
		if r, ok := c.values[string(raw)]; ok {
			f.add(n, r)
			delete(c.values, string(raw))
		}
		f.members(n, raw, c.below)
	}
}

// add notes that a record stands out; reasons of one record join.
func (f *finder) add(n int, r reason) {
	why := show.Clip(strings.ToValidUTF8(r.why, "\ufffd"), 60)
	if last := len(f.found) - 1; last >= 0 && f.found[last].N == n && last != f.where {
		if s := &f.found[last]; strings.Count(s.Why, ",") < 2 {
			s.Why = fmt.Sprintf("%s, %s", s.Why, why)
			s.score = max(s.score, r.score) + 0.1
		}
		return
	}
	if len(f.found) < 1000 {
		f.found = append(f.found, Outlier{n, why, r.score})
	}
}

// best is the oddest first, equals in document order.
func (f *finder) best() []Outlier {
	slices.SortStableFunc(f.found, func(a, b Outlier) int {
		return cmp.Or(cmp.Compare(b.score, a.score), a.N-b.N)
	})
	return f.found
}
