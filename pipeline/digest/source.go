package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

// digestSource outlines the definitions.
func digestSource(d *Digest, data []byte, t *ticker) error {
	lang := ""
	if best, n := sniff(data).language(); n > 1 {
		lang = best.name
		d.Facts = append(d.Facts, "looks like "+lang)
	}
	p := Part{Title: "definitions", Even: true, Find: `proxy_search finds the rest`}
	n, dull, imports := 0, 0, 0
	var outer inside
	counts := map[string]int{}
	var order []string
	inComment, block := false, false
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		var kind string
		rank := 0
		if comment(line, &inComment) {
			if n == dull+imports {
				dull++
			}
		} else if isImport(line, &block) {
			if n == dull+imports {
				imports++
			}
		} else if kind, rank = definition(line, lang); kind != "" {
			if lang != "Go" { // whose methods stand outside
				outer.enter(&p, rank, kind)
			}
			p.addLine(n, bytes.TrimRight(line, " \t\r\n{"), rank)
			if counts[kind] == 0 && len(order) < 40 {
				order = append(order, kind)
			}
			counts[kind]++
		}
		n++
	}
	outer.close(&p)
	if dull+imports > 3 && dull+imports < n {
		d.Dull = dull + imports
	}
	for i, kind := range order {
		if i == 8 {
			break
		}
		d.factf("%s %s", kind, show.Count(counts[kind]))
	}
	d.Parts = append(d.Parts, p)
	if len(p.Rows) == 0 {
		return nil
	}
	// The longest stretch between two definitions on top is a good page.
	best, size := p.Rows[0].N, 0
	for i, r := range p.Rows {
		end := n
		for _, next := range p.Rows[i+1 : min(i+200, len(p.Rows))] {
			if next.Rank <= r.Rank {
				end = next.N
				break
			}
		}
		if r.Rank <= 3 && end-r.N > size && end-r.N <= 200 {
			best, size = r.N, end-r.N
		}
	}
	middle := p.Rows[len(p.Rows)/2]
	if name := definedName(middle.Text); name != "" {
		d.search(`\b`+name+`\b`, "context_lines", "3")
	}
	if size > 3 {
		d.page(best, min(size, 80))
	}
	return nil
}

// comment follows comments over several lines.
func comment(line []byte, open *bool) bool {
	t := bytes.TrimLeft(line, " \t")
	if *open {
		*open = !bytes.Contains(t, []byte("*/"))
		return true
	}
	if len(t) < 2 {
		return len(bytes.TrimSpace(t)) == 0
	}
	switch t[0] {
	case '/':
		if t[1] == '*' {
			*open = !bytes.Contains(t[2:], []byte("*/"))
			return true
		}
		return t[1] == '/'
	case '#':
		return t[1] == ' ' || t[1] == '!' || t[1] == '#' || t[1] == '\n'
	case '-':
		return t[1] == '-'
	case '*':
		return t[1] == ' ' || t[1] == '\n'
	}
	return false
}

// isImport reports a line of imports, over several lines while open.
func isImport(line []byte, open *bool) bool {
	if *open {
		*open = line[0] != ')' && !bytes.Contains(line, []byte("} from "))
		return true
	}
	switch line[0] {
	case 'i', 'f', 'u', '#', 'p', '\'', '"':
	default:
		return false
	}
	switch {
	case hasPrefix(line, "import "), hasPrefix(line, "from ") && bytes.Contains(line, []byte(" import ")):
		t := bytes.TrimRight(line, " \r\n")
		*open = t[len(t)-1] == '(' || t[len(t)-1] == '{'
		return true
	case hasPrefix(line, "using "), hasPrefix(line, "use "), hasPrefix(line, "#include"), hasPrefix(line, "package "), hasPrefix(line, "'use strict'"), hasPrefix(line, `"use strict"`):
		return true
	}
	return false
}

// inside counts what a definition on top holds, as its rows may not all be shown.
type inside struct {
	row   int // in the part
	open  bool
	kinds tally
}

// enter is called before a definition is added.
func (o *inside) enter(p *Part, rank int, kind string) {
	if rank > 1 {
		o.kinds.add(kind, 0)
		return
	}
	o.close(p)
	o.row, o.open, o.kinds = len(p.Rows), true, tally{}
}

// close tells what was inside, if it is much.
func (o *inside) close(p *Part) {
	n := 0
	for _, c := range o.kinds.counts {
		n += c
	}
	if o.open && n > 7 && o.row < len(p.Rows) {
		r := &p.Rows[o.row]
		r.note = "  (" + o.kinds.top(4, ", ") + ")"
	}
	o.open = false
}
