package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

var yamlKey = lazy(`^\s*(- +)*("[^"]*"|'[^']*'|[\w./$@*-]+( [\w./()-]+)?):( +[^ ].*|\s*)$`)

// isYAML wants keys, items and comments only. What is indented below a block
// scalar may be anything.
func isYAML(s *sample) bool {
	keys, items, odd, total, block := 0, 0, 0, 0, -1
	for _, line := range s.lines {
		t := bytes.TrimSpace(line)
		in := indent(line)
		if len(t) == 0 || block >= 0 && in > block {
			continue
		}
		total++
		block = -1
		switch {
		case t[0] == '#' || hasAnyPrefix(line, []string{"---", "...", "%YAML"}):
		case lastByte(withoutComment(t)) == ',' || hasPrefix(t, "//"): // members of an object in a program
			odd++
		case yamlKey().Match(line) && !isOneOf(lastByte(t), ";{("):
			keys++
			if opensBlock(t[bytes.IndexByte(t, ':')+1:]) {
				block = in
			}
		case hasPrefix(t, "- ") || len(t) == 1 && t[0] == '-':
			items++
		case in == 0 || t[0] == '.' || isOneOf(lastByte(t), ";{()"):
			odd++
		}
	}
	if keys == 0 || keys+items < 2 || 10*odd > total {
		return false
	}
	// Sentences have colons too, and words behind them.
	return items > 0 || hasPrefix(s.lines[0], "---") || 3*s.count(isSentence) <= keys
}

func withoutComment(t []byte) []byte {
	t, _, _ = bytes.Cut(t, []byte(" #"))
	return bytes.TrimRight(t, " ")
}

// opensBlock reports the value of a key whose text is on the lines below.
func opensBlock(value []byte) bool {
	value = bytes.TrimSpace(value)
	return len(value) > 0 && len(value) < 4 && isOneOf(value[0], "|>")
}

func startsYAMLKey(line []byte) bool { return len(line) > 0 && !isOneOf(line[0], " \t#]}") }

const (
	maxYAMLDepth = 3  // of the keys that are shown
	maxYAMLItems = 20 // shown of a document that is a list
	itemEnds     = 20 // lines of head and tail of such a document: an item or two
)

// readYAML lists the keys of the first levels by their indentation. Unlike a parser it
// reads what is cut off and what has the marks of a template. Of a list it shows
// items from all over.
func readYAML(d *Digest, r *reader) {
	keys := Part{Title: "keys", Even: true}
	items := Part{Title: "items", Even: true, Share: 35, Most: maxYAMLItems, Find: `proxy_search "^- " finds all`}
	var itemKeys tally // of the items at the margin
	var open []int     // the indents of the keys around a line
	documents, isOpen := 0, false
	block, item, inner := -1, -1, -1 // the indents of a block scalar, of a list's items, of an item's keys
	for n, line := range r.lines {
		in, s := indent(line), bytes.TrimSpace(head(line, 500))
		if len(s) == 0 || s[0] == '#' || block >= 0 && in > block {
			continue
		}
		if hasPrefix(line, "---") {
			open, block, item, isOpen = nil, -1, -1, false
			continue
		}
		documents += btoi(!isOpen)
		isOpen = true
		isItem := hasPrefix(s, "- ") || string(s) == "-"
		entry := bytes.TrimLeft(s[btoi(isItem):], " ")
		key, value, isKey := splitKey(entry)
		for len(open) > 0 && open[len(open)-1] >= in {
			open = open[:len(open)-1]
		}
		switch {
		case isItem && in == 0:
			items.addLine(n, line, 0)
			item, inner = in, len(s)-len(entry)
		case isItem && (item < 0 || in <= item):
			item = in
		case !isItem && in <= item:
			item = -1
		}
		if isKey && (isItem && in == 0 || in == inner) {
			itemKeys.add(key, n)
		}
		if isKey && !isItem && item < 0 {
			if len(open) < maxYAMLDepth {
				keys.addLine(n, line, len(open))
			}
			open = append(open, in)
		}
		block = -1
		if isKey && opensBlock(value) {
			block = in
		}
	}
	if documents > 1 {
		d.Facts = append(d.Facts, show.Plural(documents, "documents"))
	}
	if items.Total > 1 && keys.Total == 0 {
		d.EndLines = itemEnds
		d.Facts = append(d.Facts, show.Plural(items.Total, "items"))
		if len(itemKeys.order) > 0 {
			d.addWords("keys, with number of items: %s", itemKeys.top(30, " · "))
		}
		d.Parts = append(d.Parts, items)
		return
	}
	d.Parts = append(d.Parts, keys)
}

// splitKey returns the key that s begins with, and its value.
func splitKey(s []byte) (key, value []byte, ok bool) {
	i := 0
	if c := byteAt(s, 0); c == '"' || c == '\'' {
		i = bytes.IndexByte(s[1:], c) + 2
	}
	for ; i < len(s); i++ {
		if s[i] == ':' && (i+1 == len(s) || s[i+1] == ' ') {
			return s[:i], bytes.TrimSpace(s[i+1:]), i > 0
		}
		if s[i] == '#' && byteAt(s, i-1) == ' ' {
			break
		}
	}
	return nil, nil, false
}
