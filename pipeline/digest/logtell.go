package digest

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rlmproxy/pipeline/show"
)

// summary tells the span of time and the levels.
func (r *logReader) summary(d *Digest) {
	if r.stamps > 0 {
		order := ""
		if bytes.Compare(r.first, r.last) > 0 && yearFirst(r.first) {
			order = ", newest first"
		}
		d.say("span: %s .. %s%s", r.from, r.to, order)
	}
	var counts []string
	if r.access {
		for class, n := range r.classes {
			if n > 0 && class > 0 {
				counts = append(counts, fmt.Sprintf("%dxx %s", class, show.Count(n)))
			}
		}
		if n := r.classes[0]; n > 0 {
			counts = append(counts, "no status "+show.Count(n))
		}
	} else {
		for l := numLevels - 1; l >= noLevel; l-- {
			if n := r.levels[l]; n > 0 {
				name := levelNames[l]
				if l == noLevel && r.bad > 0 {
					name += fmt.Sprintf(" (%s with words like error, failed)", show.Count(r.bad))
				}
				counts = append(counts, name+" "+show.Count(n))
			}
		}
	}
	if r.inside > 0 {
		counts = append(counts, "lines inside entries "+show.Count(r.inside))
	}
	if r.access {
		d.say("statuses: %s", strings.Join(counts, ", "))
	} else {
		d.say("levels: %s", strings.Join(counts, ", "))
	}
}

// rows lists the templates, the most frequent first.
func (r *logReader) rows(d *Digest, clusters []*cluster) {
	byCount := slices.Clone(clusters)
	slices.SortStableFunc(byCount, func(a, b *cluster) int { return cmp.Compare(b.count, a.count) })
	p := Part{Title: "templates, times × first line", Share: 45}
	once := len(byCount) - slices.IndexFunc(byCount, func(c *cluster) bool { return c.count == 1 })
	if once <= len(byCount) {
		p.Title += "; " + show.Count(once) + " more seen once"
		byCount = byCount[:len(byCount)-once]
	}
	for i, c := range byCount {
		p.addf(-1, i/8, "%s× %d  %s", show.Count(c.count), c.first.N+1, show.Clip(c.text, 130))
	}
	if len(p.Rows) > 0 {
		d.Parts = append(d.Parts, p)
	}
}

// picks are the lines to be read first: the worst, then the rare.
func (r *logReader) picks(d *Digest, clusters []*cluster) {
	worst := slices.Clone(clusters)
	rank := func(c *cluster) int {
		switch {
		case c.level >= errorLevel:
			return int(c.level)
		case c.bad:
			return int(warnLevel)
		case c.level == warnLevel:
			return int(warnLevel) - 1
		}
		return 0
	}
	slices.SortStableFunc(worst, func(a, b *cluster) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a.count, b.count))
	})
	for l := fatalLevel; l >= errorLevel; l-- {
		if r.levels[l] > 0 {
			d.Picks = append(d.Picks, r.firstOf[l])
			for _, c := range worst {
				if c.first.N == r.firstOf[l].N {
					d.Picks = append(d.Picks, c.cause...)
				}
			}
		}
	}
	add := func(most int, want func(c *cluster) bool) {
		for _, c := range worst {
			if most > 0 && want(c) {
				d.Picks = append(append(d.Picks, c.first), c.cause...)
				most--
			}
		}
	}
	add(12, func(c *cluster) bool { return rank(c) >= int(errorLevel) })
	d.Picks = append(d.Picks, r.traces...)
	for l := fatalLevel; l >= errorLevel; l-- {
		if r.levels[l] > 1 {
			d.Picks = append(d.Picks, r.lastOf[l])
		}
	}
	add(8, func(c *cluster) bool { return rank(c) == int(warnLevel) })
	if len(d.Picks) < 12 {
		add(12, func(c *cluster) bool { return rank(c) == int(warnLevel)-1 && c.count <= 2 })
		// Where most lines are like no other, none stands out.
		add(10, func(c *cluster) bool {
			return rank(c) == 0 && c.count <= 2 && len(clusters) < 400
		})
	}
}

// calls search for the worst level there is, as it is written, and go to where
// it is first seen.
func (r *logReader) calls(d *Digest, clusters []*cluster) {
	if len(d.Picks) > 0 {
		n := max(d.Picks[0].N-10, 0)
		defer func() {
			d.page(n, 30)
		}()
	}
	var patterns []string
	if r.access {
		for class := 5; class >= 4 && len(patterns) == 0; class-- {
			if r.classes[class] > 0 {
				patterns = append(patterns, fmt.Sprintf(`" %d\d\d `, class))
			}
		}
	}
	for l := fatalLevel; l >= warnLevel && !r.access; l-- {
		if l == warnLevel && len(patterns) > 0 {
			break
		}
		for _, s := range r.spelt[l] {
			if len(s) == 1 {
				s = "^" + s + `\d`
			} else {
				s = regexp.QuoteMeta(s)
			}
			patterns = append(patterns, s)
		}
	}
	switch {
	case len(patterns) > 0:
		d.search(strings.Join(patterns, "|"), "context_lines", "2")
	case r.bad > 0:
		d.search(badWords, "case_insensitive", "true", "context_lines", "2")
	default:
		var rare *cluster
		for _, c := range clusters {
			if rare == nil || c.count < rare.count {
				rare = c
			}
		}
		if rare == nil {
			return
		}
		if word := longestWord(rare.text); word != "" {
			d.search(word, "context_lines", "2")
		}
	}
}

// longestWord of letters in s, or nothing.
func longestWord(s string) string {
	best := ""
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r > '~' || !isAlpha(byte(r)) }) {
		if len(w) > len(best) && len(w) > 3 && len(w) < 40 {
			best = w
		}
	}
	return best
}
