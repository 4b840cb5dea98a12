package digest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

const (
	// maxTemplates of a log are told apart, and as many again by their first
	// word and length only. What comes then is one template.
	maxTemplates = 3000

	// maxMask bytes of a line make its template.
	maxMask = 300

	// sameWords of a hundred make two templates one. Drain takes 50 and asks
	// for the same first words besides; with the masks before, fewer differ.
	sameWords = 60

	// maxNear clusters are compared with a template.
	maxNear = 60
)

const wild = "<*>"

// A template stands for lines that differ in numbers, names and quoted words.
type template struct {
	level       level
	bad         bool // sounds like a failure, without a level
	count       int
	first, last Line
	cause       []Line  // lines below the first that name a cause
	words       []int32 // ids of its words; wildID for one that differs
}

// templates clusters lines: first those that are equal behind their masks,
// then those with most words in common. Its memory is bounded.
type templates struct {
	byText map[string]*template
	coarse map[string]*template
	list   []*template // in the order of their first lines
	texts  []string
	buf    []byte
}

func newTemplates() *templates {
	return &templates{byText: map[string]*template{}, coarse: map[string]*template{}}
}

// add counts line n with its message, and with what is kept of it as it is.
func (ts *templates) add(l level, bad bool, n int, line, message, kept []byte) *template {
	ts.buf = maskLine(append(ts.buf[:0], byte(l)), message)
	if kept != nil {
		ts.buf = append(append(ts.buf, ' '), kept...)
	}
	t := ts.byText[string(ts.buf)]
	if t == nil && len(ts.byText) < maxTemplates {
		t = ts.new(string(ts.buf))
		ts.byText[string(ts.buf)] = t
	}
	if t == nil {
		word, _, _ := bytes.Cut(ts.buf, []byte(" "))
		key := string(word)
		if t = ts.coarse[key]; t == nil && len(ts.coarse) >= maxTemplates {
			key = string(ts.buf[:1])
			t = ts.coarse[key]
		}
		if t == nil {
			t = ts.new(key + " " + wild)
			ts.coarse[key] = t
		}
	}
	if t.count++; t.count == 1 {
		t.level, t.bad, t.first = l, bad, Line{n, line}
	}
	t.last = Line{n, line}
	return t
}

func (ts *templates) new(text string) *template {
	t := &template{}
	ts.list = append(ts.list, t)
	ts.texts = append(ts.texts, text[1:])
	return t
}

// A cluster is some templates as one.
type cluster struct {
	template
	text string
}

// merge makes one of templates with the same level and length and the same
// first word, of whose words so many of a hundred are the same. The result is in the order of
// first lines.
func (ts *templates) merge(percent int) []*cluster {
	const wildID = -1
	type group struct {
		level level
		words int
		first int32
	}
	ids := map[string]int32{}
	near := map[group][]*cluster{}
	var out []*cluster
	spelt := map[*cluster][]string{}
	for i, t := range ts.list {
		words := strings.Fields(ts.texts[i])
		t.words = make([]int32, len(words))
		for j, w := range words {
			id, ok := ids[w]
			if !ok {
				id = int32(len(ids))
				ids[w] = id
			}
			if w == wild {
				id = wildID
			}
			t.words[j] = id
		}
		g := group{level: t.level, words: len(words)}
		if len(words) > 0 {
			g.first = t.words[0]
		}
		var best *cluster
		most := 0
		for _, c := range near[g] {
			if same := common(c.words, t.words); same > most {
				best, most = c, same
			}
		}
		if best == nil || 100*most < percent*len(words) || len(words) < 3 {
			c := &cluster{template: *t}
			spelt[c] = words
			out = append(out, c)
			if len(near[g]) < maxNear {
				near[g] = append(near[g], c)
			}
			continue
		}
		best.count += t.count
		best.bad = best.bad || t.bad
		if t.last.N > best.last.N {
			best.last = t.last
		}
		for j, id := range t.words {
			if best.words[j] != id {
				best.words[j] = wildID
				spelt[best][j] = wild
			}
		}
	}
	for _, c := range out {
		c.text = strings.Join(spelt[c], " ")
	}
	slices.SortStableFunc(out, func(a, b *cluster) int { return cmp.Compare(a.first.N, b.first.N) })
	return out
}

func common(a, b []int32) int {
	n := 0
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}
