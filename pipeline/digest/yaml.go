package digest

import (
	"bytes"
	"fmt"
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
// each, and the documents.
func digestYAML(d *Digest, data []byte, t *ticker) error {
	p := Part{Title: "keys", Even: true, Find: "proxy_search finds the rest"}
	docs := Part{Title: "documents", Even: true}
	var open []yamlNode
	n, docAt, documents := 0, 0, 0
	var kind, name string
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
		docs.Share = 50
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

// digestINI lists the sections with their keys.
func digestINI(d *Digest, data []byte, t *ticker) error {
	p := Part{Title: "sections", Even: true}
	keys := Part{Title: "keys", Even: true}
	n, in := 0, 0
	end := func() {
		if len(p.Rows) > 0 && len(p.Rows) == p.Total {
			p.Rows[len(p.Rows)-1].words += fmt.Sprintf("  %s", show.Plural(in, "keys"))
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
				if p.Total == 0 {
					keys.addLine(n, s, 1)
				}
			}
		}
		n++
	}
	end()
	d.Parts = append(d.Parts, p, keys)
	return nil
}
