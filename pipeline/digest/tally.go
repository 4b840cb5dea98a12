package digest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/pipeline/show"
)

// maxNames are counted each for itself, the first that come.
const maxNames = 3000

// A tally counts names.
type tally struct {
	byName map[string]*counted
	order  []*counted // as the names came
}

type counted struct {
	name  string
	count int
	first int // line
}

// add counts a name of line n, and returns how often it has come; 0 if it is not kept.
func (t *tally) add(name []byte, n int) int { return t.change(name, n, 1) }

// change is add for many at a time, or less.
func (t *tally) change(name []byte, n, by int) int {
	c := t.byName[string(name)]
	if c == nil {
		if len(t.order) == maxNames {
			return 0
		}
		if t.byName == nil {
			t.byName = map[string]*counted{}
		}
		c = &counted{name: string(name), first: n}
		t.byName[c.name] = c
		t.order = append(t.order, c)
	}
	c.count += by
	return c.count
}

// sorted has the most frequent names first.
func (t *tally) sorted() []*counted {
	order := slices.Clone(t.order)
	slices.SortStableFunc(order, func(a, b *counted) int { return cmp.Compare(b.count, a.count) })
	return order
}

// top is "ts 12, md 3, … 4 more" if between is ", ".
func (t *tally) top(most int, between string) string {
	var parts []string
	for i, c := range t.sorted() {
		if i == most {
			parts = append(parts, fmt.Sprintf("… %s more", show.Count(len(t.order)-i)))
			break
		}
		parts = append(parts, show.Clip(c.name, 60)+" "+show.Count(c.count))
	}
	return strings.Join(parts, between)
}

// part lists the names with how often each is there and on which line first.
func (t *tally) part(title string) Part {
	p := Part{Title: title + ", count × first line", Share: 45, Find: "the most frequent"}
	for i, c := range t.sorted() {
		p.addf(-1, i/8, "%s× %d  %s", show.Count(c.count), c.first+1, show.Clip(c.name, 120))
	}
	return p
}
