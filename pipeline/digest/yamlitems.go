package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

const (
	// maxKeysTold of items are told, the most frequent.
	maxKeysTold = 30

	// itemEnds are the lines of head and tail worth showing: an item or two.
	itemEnds = 20

	// maxItemsTold is enough to see what the items are called.
	maxItemsTold = 20
)

// A yamlItems reads a document that is one sequence, most of its items mappings.
type yamlItems struct {
	items, mappings int
	inner           int // indent of the keys of the item that is open, or -1
	keys            tally
	rows            Part

	at            int // line of the item that is open
	best, largest int // line and lines of the largest that is a page
}

// digestItems tells how many items there are and which keys they have. It
// reports false for a document that is not one sequence of mappings.
func digestItems(d *Digest, data []byte, t *ticker) (bool, error) {
	y := &yamlItems{rows: Part{Title: "items", Even: true, Share: 35, Most: maxItemsTold, Find: `proxy_search "^- " finds all`}}
	n, last := 0, 0 // last is behind the last line that is not blank
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return false, err
		}
		if s := bytes.TrimSpace(line[:min(len(line), 500)]); len(s) > 0 {
			if !y.line(n, last, line, s) {
				return false, nil
			}
			last = n + 1
		}
		n++
	}
	y.end(last)
	if y.items < 2 || 2*y.mappings <= y.items {
		return false, nil
	}
	d.Ends = itemEnds
	d.Facts = append(d.Facts, show.Plural(y.items, "items"))
	d.say("keys, in how many items: %s", y.keys.top(maxKeysTold, " · "))
	d.Parts = append(d.Parts, y.rows)
	y.calls(d)
	return true, nil
}

// line reads line n, s without space around it, and reports whether it can be
// of such a document.
func (y *yamlItems) line(n, last int, line, s []byte) bool {
	in := indent(line)
	switch {
	case s[0] == '#':
		return true
	case in > 0:
		if in == y.inner {
			y.key(n, s)
		}
		return y.items > 0
	case hasPrefix(s, "- "), string(s) == "-":
		y.end(last)
		y.items++
		y.at, y.inner = n, -1
		y.rows.addLine(n, line, 0)
		if rest := bytes.TrimLeft(s[1:], " "); y.key(n, rest) {
			y.mappings++
			y.inner = len(s) - len(rest)
		}
		return true
	}
	return y.items == 0 && (hasPrefix(s, "---") || s[0] == '%')
}

// key counts the key that s begins with, if it does.
func (y *yamlItems) key(n int, s []byte) bool {
	key, _, ok := yamlKeyOf(s)
	if ok {
		y.keys.add(string(key), n)
	}
	return ok
}

// end closes the item that is open, before line n.
func (y *yamlItems) end(n int) {
	if lines := n - y.at; y.items > 0 && lines <= 80 && lines > y.largest {
		y.best, y.largest = y.at, lines
	}
}

// calls find the items with a key that few have, and show the largest.
func (y *yamlItems) calls(d *Digest) {
	sorted := y.keys.sorted()
	for i := len(sorted) - 1; i >= 0; i-- {
		if key := sorted[i]; len(key) < 60 && len(wordAt([]byte(key))) == len(key) && isPrintable(key) && key[0] != '$' {
			d.search(`\b`+key+":", "context_lines", "5")
			break
		}
	}
	if y.largest > 1 {
		d.page(y.best, y.largest)
	}
}
