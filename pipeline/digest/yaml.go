package digest

import (
	"bytes"
	"strings"

	"rlmproxy/pipeline/show"
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
// each. Of several documents it tells what they have in common.
func digestYAML(d *Digest, data []byte, t *ticker) error {
	if ok, err := digestItems(d, data, t); ok || err != nil {
		return err
	}
	p := Part{Title: "keys", Even: true, Find: "proxy_search finds the rest"}
	docs := Part{Title: "documents", Even: true}
	var open []yamlNode
	n, docAt, documents := 0, 0, 0
	var kind, name string
	var kinds, tops tally // of all documents
	closeNode := func(y yamlNode, end int) {
		if y.row < 0 || y.row >= len(p.Rows) {
			return
		}
		what := ""
		switch {
		case y.items > 0:
			what = show.Plural(y.items, "items")
		case y.keys > 0:
			what = show.Plural(y.keys, "keys")
		}
		if lines := end - y.n; lines > 1 {
			if what != "" {
				what += ", "
			}
			what += show.Plural(lines, "lines")
		}
		if what != "" {
			p.Rows[y.row].words += "  " + what
		}
	}
	endDoc := func(end int) {
		for _, y := range open {
			closeNode(y, end)
		}
		open = open[:0]
		if end > docAt+1 {
			documents++
			if kind != "" {
				kinds.add(kind, docAt)
			}
			docs.addf(docAt, 0, "%s", strings.TrimSpace(show.Clip(kind, 60)+" "+show.Clip(name, 60)))
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
				y.row = p.Total
				v := ""
				if len(value) > 0 {
					v = ": " + show.Clip(string(value), 50)
				}
				p.addf(n, depth, "%s%s%s", strings.Repeat("  ", depth), show.Clip(string(key), 60), v)
			}
			if len(open) < 100 {
				open = append(open, y)
			}
			if in == 0 {
				tops.add(string(key), n)
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
		d.Facts = append(d.Facts, show.Plural(documents, "documents"))
		d.say("keys, in how many documents: %s", tops.top(maxKeysTold, " · "))
		if len(kinds.order) > 1 {
			d.say("kinds: %s", kinds.top(maxKeysTold, " · "))
		}
		docs.Share, p.Share = 40, 30
		// The keys of the others are much the same.
		second := docs.Rows[1].N
		k := 0
		for k < len(p.Rows) && p.Rows[k].N < second {
			k++
		}
		p.Rows, p.Total, p.Title = p.Rows[:k], k, "keys of the first document"
		d.Parts = append(d.Parts, docs)
	}
	d.Parts = append(d.Parts, p)
	// The largest key on top that is a page.
	at, size := -1, 0
	for i, r := range p.Rows {
		if r.Rank > 1 || r.words == "" {
			continue
		}
		end := n
		for _, next := range p.Rows[i+1 : min(i+300, len(p.Rows))] {
			if next.Rank <= r.Rank {
				end = next.N
				break
			}
		}
		if lines := end - r.N; min(lines, 80)-btoi(lines > 80) > size {
			at, size = r.N, min(lines, 80)
		}
	}
	if size > 1 {
		d.page(at, size)
	}
	return nil
}
