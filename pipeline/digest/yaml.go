package digest

import (
	"bytes"
	"strings"

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
		case yamlKey().Match(line) && !isOneOf(lastByte(t), ";{"):
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

// opensBlock reports the value of a key whose text is on the lines below.
func opensBlock(value []byte) bool {
	value = bytes.TrimSpace(value)
	return len(value) > 0 && len(value) < 4 && isOneOf(value[0], "|>")
}

func startsYAMLKey(line []byte) bool { return len(line) > 0 && !isOneOf(line[0], " \t#]}") }

const (
	maxYAMLDepth = 3   // of the keys that are shown
	maxYAMLOpen  = 100 // keys around a line whose keys and items are counted
	maxYAMLItems = 20  // shown of a document that is a list
	itemEnds     = 20  // lines of head and tail of such a document: an item or two
)

// A yamlReader outlines by indentation. Unlike a parser it reads what is cut off
// and what has the marks of a template, in little memory.
type yamlReader struct {
	keys, items, documents Part
	itemKeys               tally // of the items at the margin
	mappings               int   // items that begin with a key
	inner                  int   // indent of the keys of the last item
	open                   []yamlNode
	block                  int    // indent of the key whose block scalar is open, or -1
	end                    int    // line after the last that is not blank
	from                   int    // line where the document begins
	kind, name             string // of the document
}

// A yamlNode is a key around the lines that pass.
type yamlNode struct {
	row         int // that shows it, or -1
	n           int
	indent      int
	items, keys int // below it
}

// readYAML lists the keys of the first levels, with how much is below each. Of a
// list it tells which keys its items have, of several documents what each is.
func readYAML(d *Digest, r *reader) {
	y := &yamlReader{
		keys:      Part{Title: "keys", Even: true, Find: "proxy_search finds the rest"},
		items:     Part{Title: "items", Even: true, Share: 35, Most: maxYAMLItems, Find: `proxy_search "^- " finds all`},
		documents: Part{Title: "documents", Even: true, Share: 40},
		block:     -1,
	}
	total := 0
	for n, line := range r.lines {
		total = n + 1
		in := indent(line)
		s := bytes.TrimSpace(head(line, 500))
		switch {
		case len(s) == 0:
			continue
		case y.block >= 0 && in > y.block:
		case hasPrefix(line, "---"):
			y.endDocument(n)
			y.from = n
		case s[0] != '#':
			y.block = -1
			y.line(n, in, s, line)
		}
		y.end = n + 1
	}
	y.endDocument(total)
	switch {
	case y.documents.Total > 1:
		d.Facts = append(d.Facts, show.Plural(y.documents.Total, "documents"))
		d.Parts = append(d.Parts, y.documents)
		y.keys.Title, y.keys.Share = "keys of the first document", 30
	case y.items.Total > 1 && 2*y.mappings > y.items.Total && y.keys.Total == 0:
		d.Ends = itemEnds
		d.Facts = append(d.Facts, show.Plural(y.items.Total, "items"))
		d.say("keys, in how many items: %s", y.itemKeys.top(30, " · "))
		d.Parts = append(d.Parts, y.items)
		return
	}
	d.Parts = append(d.Parts, y.keys)
}

// line reads line n that is no comment, s without space around it.
func (y *yamlReader) line(n, in int, s, line []byte) {
	isItem := hasPrefix(s, "- ") || string(s) == "-"
	entry := bytes.TrimLeft(s[btoi(isItem):], " ")
	key, value, isKey := splitKey(entry)
	for k := len(y.open) - 1; k >= 0 && (y.open[k].indent > in || y.open[k].indent == in && !isItem); k-- {
		y.closeNode()
	}
	switch around := len(y.open); {
	case isItem && around > 0:
		y.open[around-1].items++
	case isItem && in == 0:
		y.items.addLine(n, line, 0)
		y.inner = len(s) - len(entry)
		y.mappings += btoi(isKey)
	case isKey && !isItem && (around > 0 || in == 0 || y.items.Total == 0): // other keys are those of an item
		y.addKey(n, in, key, value)
	}
	if isKey && y.items.Total > 0 && (isItem && in == 0 || in == y.inner) {
		y.itemKeys.add(key, n)
	}
	if isKey && opensBlock(value) {
		y.block = in
	}
}

// addKey opens a key, and shows it if it is on one of the first levels.
func (y *yamlReader) addKey(n, in int, key, value []byte) {
	depth := len(y.open)
	node := yamlNode{row: -1, n: n, indent: in}
	if depth < maxYAMLDepth && (depth == 0 || y.open[depth-1].items == 0) && y.documents.Total == 0 {
		text := strings.Repeat("  ", depth) + show.Clip(string(key), 60)
		if len(value) > 0 {
			text += ": " + show.Clip(string(value), 50)
		}
		node.row = y.keys.Total
		y.keys.addf(n, depth, "%s", text)
	}
	if depth > 0 {
		y.open[depth-1].keys++
	}
	if depth < maxYAMLOpen {
		y.open = append(y.open, node)
	}
	switch {
	case in == 0 && string(key) == "kind":
		y.kind = show.Clip(string(value), 60)
	case y.name == "" && string(key) == "name":
		y.name = show.Clip(string(value), 60)
	}
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

// closeNode ends the innermost key and tells what is below it.
func (y *yamlReader) closeNode() {
	node := y.open[len(y.open)-1]
	y.open = y.open[:len(y.open)-1]
	if node.row < 0 || node.row >= len(y.keys.Rows) {
		return
	}
	var what []string
	if node.items > 0 {
		what = append(what, show.Plural(node.items, "items"))
	} else if node.keys > 0 {
		what = append(what, show.Plural(node.keys, "keys"))
	}
	if lines := y.end - node.n; lines > 1 {
		what = append(what, show.Plural(lines, "lines"))
	}
	if len(what) > 0 {
		y.keys.Rows[node.row].words += "  " + strings.Join(what, ", ")
	}
}

// endDocument ends a document before line n, unless it is empty.
func (y *yamlReader) endDocument(n int) {
	for len(y.open) > 0 {
		y.closeNode()
	}
	if y.block = -1; n > y.from+1 {
		y.documents.addf(y.from, 0, "%s", strings.TrimSpace(y.kind+" "+y.name))
	}
	y.kind, y.name = "", ""
}
