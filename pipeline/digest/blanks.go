package digest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/pipeline/digest/columns"
	"rlmproxy/pipeline/show"
)

func isBlanks(s *sample) bool { return columns.Find(s.data) != nil }

const (
	fewValues  = 20 // different values of a column that are all listed
	maxOddRows = 12 // rows that differ that are shown
)

// A column of a table, as its cells tell.
type column struct {
	values   tally
	words    tally // what cells of several words begin with
	numbers  int
	sum      float64
	min, max float64
	low, top string // as written
	at       int    // the line of max
}

func (c *column) add(cell string, n int) {
	if cell == "" {
		cell = "(empty)"
	}
	c.values.add([]byte(cell), n)
	if word, _, more := strings.Cut(cell, " "); more && isLetter(word[0]) {
		c.words.add([]byte(word+" …"), n)
	} else {
		c.words.add([]byte(cell), n)
	}
	f, ok := columns.Number(cell)
	if !ok {
		return
	}
	if c.numbers == 0 || f < c.min {
		c.min, c.low = f, cell
	}
	if c.numbers == 0 || f > c.max {
		c.max, c.top, c.at = f, cell, n
	}
	c.numbers++
	c.sum += f
}

// readBlanks tells the values of each column, and finds the rows that differ: by a value
// that hardly any other has, by a number far above the others.
func readBlanks(d *Digest, r *reader) {
	t := columns.Find(r.data)
	if t == nil {
		readPlain(d, r)
		return
	}
	all := make([]column, len(t.Names))
	rows := 0
	var odd []int // lines that are no rows
	for n, line := range r.lines {
		if n < t.First || len(bytes.Trim(line, "-=+ ")) == 0 {
			continue
		}
		cells, ok := t.Cells(head(line, 4000))
		if !ok {
			if len(odd) < maxOddRows {
				odd = append(odd, n)
			}
			continue
		}
		rows++
		for i, cell := range cells {
			all[i].add(cell, n)
		}
	}
	d.factf("%s of %s", show.Plural(rows, "rows"), show.Plural(len(all), "columns"))
	d.EndLines, d.Preamble = 3, t.First
	p := Part{Title: "columns", Find: "proxy_explore shows the rest"}
	var rare []*counted
	for i := range all {
		c := &all[i]
		p.addf(-1, 0, "%s: %s", show.Clip(t.Names[i], 60), c.describe(rows))
		rare = append(rare, c.rare(rows)...)
		if c.numbers > 20 && c.max*float64(c.numbers) > 10*c.sum && c.sum > 0 {
			rare = append(rare, &counted{count: 2, first: c.at})
		}
	}
	d.Parts = append(d.Parts, p)
	if t.Header > 0 {
		odd = append(odd, t.Header)
	}
	slices.SortStableFunc(rare, func(a, b *counted) int { return cmp.Compare(a.count, b.count) })
	for _, c := range rare {
		if len(odd) < maxOddRows && !slices.Contains(odd, c.first) {
			odd = append(odd, c.first)
		}
	}
	d.highlight(r, odd)
}

// highlight adds the lines of these numbers, in this order.
func (d *Digest) highlight(r *reader, numbers []int) {
	lines := map[int][]byte{}
	for n, line := range r.lines {
		if slices.Contains(numbers, n) {
			lines[n] = line
		}
		if len(lines) == len(numbers) {
			break
		}
	}
	for _, n := range numbers {
		if text, ok := lines[n]; ok {
			d.Highlights = append(d.Highlights, Line{n, text})
		}
	}
}

// describe tells the values if they are few or come often, the range of numbers, and
// else an example.
func (c *column) describe(rows int) string {
	different := len(c.values.order)
	var facts []string
	if c.numbers > 0 && 10*c.numbers >= 9*rows && different > 3 && c.min < c.max {
		facts = append(facts, fmt.Sprintf("%s .. %s (line %d)", c.low, c.top, c.at+1))
		different = max(different, fewValues+1)
	}
	switch {
	case different <= fewValues && (different < rows || rows < 8):
		return c.values.list(fewValues)
	case len(c.words.order) <= fewValues && 4*len(c.words.order) <= rows:
		facts = append(facts, c.words.list(fewValues))
	case len(c.values.order) == rows && rows > 0:
		facts = append(facts, "all different")
	default:
		facts = append(facts, show.Count(len(c.values.order))+" different"+map[bool]string{true: " or more"}[len(c.values.order) == maxNames])
		if most := c.values.sorted()[:min(1, len(c.values.order))]; len(most) > 0 && 20*most[0].count >= rows {
			return strings.Join(append(facts, c.values.list(4)), ", ")
		}
	}
	if c.numbers == 0 && len(c.values.order) > 0 {
		facts = append(facts, "as "+show.Clip(c.values.order[0].name, 60))
	}
	return strings.Join(facts, ", ")
}

// list is the most frequent values. Of many that come once, no one says much.
func (t *tally) list(most int) string {
	sorted := t.sorted()
	once := slices.IndexFunc(sorted, func(c *counted) bool { return c.count == 1 })
	if once >= 0 && len(sorted)-once > 4 {
		most = min(most, max(once, 1))
	}
	return t.top(most, " · ")
}

// rare are the values that few rows have, of a column in which most have one of a few.
func (c *column) rare(rows int) (rare []*counted) {
	const most = 3
	values := c.values.sorted()
	if len(values) > fewValues {
		values = c.words.sorted()
	}
	if len(values) < 2 || len(values) > fewValues || 4*len(values) > rows || 2*values[0].count < rows {
		return nil
	}
	for _, v := range values[1:] {
		if 40*v.count <= rows {
			rare = append(rare, v)
		}
	}
	if len(rare) > most {
		return nil
	}
	return rare
}
