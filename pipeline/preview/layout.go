package preview

import (
	"fmt"
	"slices"
	"strings"

	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// A layout is a preview in the making. It is filled best first, while the
// budget lasts, and read in order: the notes as they came, then the items by
// number, with a mark wherever some are missing.
type layout struct {
	left  int    // tokens
	total int    // items that there are
	form  string // of a text that is made of records, or empty
	seen  string // what jq and fields see of it

	budget int
	added  []entry // in the order of the calls
	shown  []int   // numbers of the items, sorted
}

// An entry is a line of a layout.
type entry struct {
	item bool
	n    int // of an item, from 0
	text string
}

// gapTokens is what the mark for missing items costs at most.
const gapTokens = 9

func newLayout(budget, total int) *layout {
	return &layout{left: budget, budget: budget, total: total}
}

func lineTokens(line string) int {
	n, _ := tokens.Count([]byte(line + "\n"))
	return n
}

// note adds a line to the upper part, if it fits and leaves reserve tokens.
func (s *layout) note(line string, reserve int) bool {
	n := lineTokens(line)
	if n > s.left-reserve {
		return false
	}
	s.left -= n
	s.added = append(s.added, entry{text: line})
	return true
}

// first adds the note that must be there, cut if need be.
func (s *layout) first(line string) {
	if !s.note(line, 0) {
		b := []byte(line)
		s.added = append(s.added, entry{text: string(b[:tokens.Prefix(b, s.left)])})
		s.left = 0
	}
}

// item adds item n, unless it is there, if it fits and leaves reserve tokens.
// It reports whether the layout has the item now.
func (s *layout) item(n int, line string, reserve int) bool {
	at, have := slices.BinarySearch(s.shown, n)
	if have {
		return true
	}
	// An item among the missing makes of one mark two; one beside another that
	// is shown moves a mark or removes it.
	before := n > 0 && (at == 0 || s.shown[at-1] != n-1)
	after := n < s.total-1 && (at == len(s.shown) || s.shown[at] != n+1)
	cost := lineTokens(line) - gapTokens
	if before {
		cost += gapTokens
	}
	if after {
		cost += gapTokens
	}
	if len(s.shown) == 0 {
		cost += gapTokens // there was no mark yet
	}
	if cost > s.left-reserve {
		return false
	}
	s.left -= cost
	s.added = append(s.added, entry{true, n, line})
	s.shown = slices.Insert(s.shown, at, n)
	return true
}

// items is how many are shown.
func (s *layout) items() int { return len(s.shown) }

// bytes writes the layout. Counts of lines need not add up to the count of the
// text, so the sum is checked, and what came last goes if it is over.
func (s *layout) bytes() []byte {
	for {
		b := []byte(s.render())
		if tokens.AtMost(b, s.budget) {
			return b
		}
		last := len(s.added) - 1
		if last <= 0 {
			return b[:tokens.Prefix(b, s.budget)]
		}
		if e := s.added[last]; e.item {
			at, _ := slices.BinarySearch(s.shown, e.n)
			s.shown = slices.Delete(s.shown, at, at+1)
		}
		s.added = s.added[:last]
	}
}

func (s *layout) render() string {
	var lines []string
	var items []entry
	for _, e := range s.added {
		if e.item {
			items = append(items, e)
		} else {
			lines = append(lines, e.text)
		}
	}
	slices.SortFunc(items, func(a, b entry) int { return a.n - b.n })
	next := 0
	gap := func(n int) {
		if n > next {
			lines = append(lines, fmt.Sprintf("… %s left out …", show.Count(n-next)))
		}
		next = n + 1
	}
	for _, e := range items {
		gap(e.n)
		lines = append(lines, e.text)
	}
	if len(items) > 0 {
		gap(s.total)
	}
	return strings.Join(lines, "\n")
}
