package pipeline

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// A yamlNode is a key or an item of the first levels, while its lines pass.
type yamlNode struct {
	row    int // in the part, or -1
	n      int
	indent int
	items  int
	keys   int
}

// yamlKeyOf returns the key of a line with its value, without regexps.
func yamlKeyOf(s []byte) (key, value []byte, ok bool) {
	if len(s) == 0 || s[0] == '#' || s[0] == '-' && at(s, 1, " ") {
		return nil, nil, false
	}
	i := 0
	if s[0] == '"' || s[0] == '\'' {
		end := bytes.IndexByte(s[1:], s[0])
		if end < 0 {
			return nil, nil, false
		}
		i = end + 2
	}
	for ; i < len(s); i++ {
		if s[i] == ':' && (i+1 == len(s) || s[i+1] == ' ') {
			return s[:i], bytes.TrimSpace(s[i+1:]), true
		}
		if s[i] == '#' && i > 0 && s[i-1] == ' ' {
			break
		}
	}
	return nil, nil, false
}

// digestYAML lists the keys of the first three levels, with how much is below
// each, and the documents.
func digestYAML(d *digest, data []byte, t *ticker) error {
	p := part{title: "keys", even: true, find: "proxy_search finds the rest"}
	docs := part{title: "documents", even: true}
	var open []yamlNode
	n, docAt, documents := 0, 0, 0
	var kind, name string
	closeNode := func(y yamlNode, end int) {
		if y.row < 0 || y.row >= len(p.rows) {
			return
		}
		what := ""
		switch {
		case y.items > 0:
			what = plural(y.items, "items")
		case y.keys > 0:
			what = plural(y.keys, "keys")
		}
		if lines := end - y.n; lines > 1 {
			if what != "" {
				what += ", "
			}
			what += plural(lines, "lines")
		}
		if what != "" {
			p.rows[y.row].text += "  " + what
		}
	}
	endDoc := func(end int) {
		for _, y := range open {
			closeNode(y, end)
		}
		open = open[:0]
		if end > docAt+1 {
			documents++
			docs.addf(docAt, 0, "%s", strings.TrimSpace(clip(kind, 60)+" "+clip(name, 60)))
		}
		kind, name = "", ""
	}
	block := -1 // indent of the key whose block scalar is open
	last := 0   // line after the last that is not blank
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		s := bytes.TrimSpace(line[:min(len(line), 500)])
		in := indent(line)
		switch {
		case len(s) == 0:
			n++
			continue
		case block >= 0 && in > block:
			n++
			last = n
			continue
		case hasPrefix(line, "---"):
			endDoc(n)
			docAt = n
			n++
			continue
		}
		block = -1
		item := hasPrefix(s, "- ") || string(s) == "-"
		key, value, ok := yamlKeyOf(s)
		if !item && !ok {
			n++
			last = n
			continue
		}
		for len(open) > 0 && (open[len(open)-1].indent > in || open[len(open)-1].indent == in && !item) {
			closeNode(open[len(open)-1], last)
			open = open[:len(open)-1]
		}
		if item {
			if len(open) > 0 {
				open[len(open)-1].items++
			} else if len(open) == 0 && in == 0 {
				p.addLine(n, line, 2)
			}
			_, value, ok = yamlKeyOf(bytes.TrimLeft(s, "- "))
		} else {
			if len(open) > 0 {
				open[len(open)-1].keys++
			}
			y := yamlNode{row: -1, n: n, indent: in}
			if depth := len(open); depth < 3 && (depth == 0 || open[depth-1].items == 0) {
				y.row = p.total
				v := ""
				if len(value) > 0 {
					v = ": " + clip(string(value), 50)
				}
				p.addf(n, depth, "%s%s%s", strings.Repeat("  ", depth), clip(string(key), 60), v)
			}
			if len(open) < 100 {
				open = append(open, y)
			}
			switch {
			case in == 0 && string(key) == "kind":
				kind = string(value)
			case string(key) == "name" && name == "":
				name = string(value)
			}
		}
		if ok && len(value) > 0 && (value[0] == '|' || value[0] == '>') {
			block = in
		}
		n++
		last = n
	}
	endDoc(n)
	if documents > 1 {
		d.facts = append(d.facts, plural(documents, "documents"))
		docs.share = 50
		// The keys of the others are much the same.
		second := docs.rows[1].n
		k := 0
		for k < len(p.rows) && p.rows[k].n < second {
			k++
		}
		p.rows, p.total, p.title = p.rows[:k], k, "keys of the first document"
		d.parts = append(d.parts, docs)
	}
	d.parts = append(d.parts, p)
	// The largest key on top that is a page.
	at, size := -1, 0
	for i, r := range p.rows {
		if r.rank > 1 || r.text == "" {
			continue
		}
		end := n
		for _, next := range p.rows[i+1 : min(i+300, len(p.rows))] {
			if next.rank <= r.rank {
				end = next.n
				break
			}
		}
		if lines := end - r.n; min(lines, 80)-btoi(lines > 80) > size {
			at, size = r.n, min(lines, 80)
		}
	}
	if size > 1 {
		d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(at), "limit", strconv.Itoa(size)})
	}
	return nil
}

// digestINI lists the sections with their keys.
func digestINI(d *digest, data []byte, t *ticker) error {
	p := part{title: "sections", even: true}
	keys := part{title: "keys", even: true}
	n, in := 0, 0
	end := func() {
		if len(p.rows) > 0 && len(p.rows) == p.total {
			p.rows[len(p.rows)-1].text += fmt.Sprintf("  %s", plural(in, "keys"))
		}
		in = 0
	}
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		s := bytes.TrimSpace(line[:min(len(line), 500)])
		switch {
		case len(s) == 0 || s[0] == '#' || s[0] == ';':
		case s[0] == '[' && line[0] == '[' && iniSection().Match(s):
			end()
			p.addf(n, 0, "%s", s)
		case isAlpha(s[0]) || s[0] == '_' || s[0] == '"':
			if i := bytes.IndexByte(s, '='); i > 0 {
				in++
				if p.total == 0 {
					keys.addLine(n, s, 1)
				}
			}
		}
		n++
	}
	end()
	d.parts = append(d.parts, p, keys)
	return nil
}
