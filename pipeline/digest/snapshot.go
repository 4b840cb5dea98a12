package digest

import (
	"bytes"
	"fmt"
	"strings"

	"rlmproxy/pipeline/show"
)

var roleLine = lazy(`^(\s*- ([a-z]+)( "|:| \[|$)|\s*- ('[a-z]+ "|/url: |text: ))`)

// isSnapshot wants the accessibility tree of a page, which browser tools return
// as YAML, often below a few lines of Markdown.
func isSnapshot(s *sample) bool {
	refs := s.count(func(line []byte) bool { return contains(line, "[ref=") })
	return (refs > 2 || refs > 0 && s.full < 6) && s.most(s.count(roleLine().Match), 40)
}

// roles are those that have a part: headings, inputs, buttons and links.
var roles = map[string]int{
	"heading": 0, "textbox": 1, "combobox": 1, "checkbox": 1, "radio": 1, "searchbox": 1, "slider": 1, "switch": 1, "spinbutton": 1, "listbox": 1,
	"button": 2, "menuitem": 2, "tab": 2, "link": 3,
}

// readSnapshot reads lines - role "name" [ref=e12]. What an agent acts on are the
// refs.
func readSnapshot(d *Digest, r *reader) {
	parts := []Part{
		{Title: "headings", Share: 25, Even: true, Find: `proxy_search "- heading" finds all`},
		{Title: "inputs", Share: 15, Find: `proxy_search "textbox|combobox|checkbox" finds all`},
		{Title: "buttons", Share: 15, Find: `proxy_search "- button" finds all`},
		{Title: "links", Share: 20, Even: true, Find: `proxy_search "- link" finds all`},
	}
	tables := tableReader{rows: Part{Title: "rows of tables", Share: 35, Find: `proxy_search "- row" finds all`}}
	var counts tally
	same := map[string]*namesake{}
	for n, line := range r.lines {
		s, isItem := bytes.CutPrefix(bytes.TrimSpace(head(line, 2000)), []byte("- "))
		plain := bytes.TrimLeft(s, "'")
		role := wordAt(head(plain, 30))
		after := plain[len(role):]
		switch {
		case !isItem:
		case hasAnyPrefix(s, []string{"Page URL:", "Page Title:", "Console:"}) && len(d.Parts) < 10:
			d.addWords("%s", head(s, 200))
		case len(role) > 0 && !isUpper(role[0]) && (len(after) == 0 || isOneOf(after[0], " :'")):
			counts.add(role, n)
			tables.line(n, indent(line), string(role), after)
			i, ok := roles[string(role)]
			// Without a name there is nothing to read but where one writes.
			if ok && (contains(after, `"`) || string(role) == "textbox" || string(role) == "combobox") {
				_, level, _ := bytes.Cut(after, []byte("[level="))
				name, _, _ := bytes.Cut(s, []byte(" [ref="))
				if of := same[string(name)]; of != nil && of.count > 1 {
					of.count++
					parts[i].Total++
				} else {
					if of == nil && len(same) < maxNames {
						of = &namesake{part: i, row: len(parts[i].Rows)}
						same[string(name)] = of
					}
					if of != nil {
						of.count++
					}
					parts[i].addLine(n, s, int(min(max(byteAt(level, 0), '0'), '9')-'0'))
				}
			}
		}
	}
	for _, of := range same {
		if rows := parts[of.part].Rows; of.count > 2 && of.row < len(rows) {
			rows[of.row].note = fmt.Sprintf("  (%s with this name, two shown)", show.Count(of.count))
		}
	}
	tables.end()
	d.addWords("roles: %s", counts.top(15, ", "))
	d.Parts = append(append(d.Parts, parts[:2]...), tables.rows)
	d.Parts = append(d.Parts, parts[2:]...)
}

// A namesake counts what has the same role and name: buttons in the rows of a table.
type namesake struct{ part, row, count int }

// A tableReader makes a line of each row of a table.
type tableReader struct {
	rows  Part
	at    int // the line of the row that is open
	in    int // its indent
	nth   int // of its table
	open  bool
	cells []string
}

const maxCells = 60 // of a row

func (t *tableReader) line(n, in int, role string, after []byte) {
	if t.open && in <= t.in {
		t.end()
	}
	switch {
	case role == "table" || role == "grid" || role == "treegrid":
		t.nth = 0
	case role == "row":
		t.open, t.at, t.in, t.cells = true, n, in, t.cells[:0]
	case !t.open || len(t.cells) >= maxCells:
	case role == "cell" || role == "columnheader" || role == "rowheader" || role == "gridcell":
		t.cells = append(t.cells, nameOf(after))
	case len(t.cells) > 0 && t.cells[len(t.cells)-1] == "": // what is in the cell
		t.cells[len(t.cells)-1] = nameOf(after)
	}
}

// end adds the row that is open. The first rows of a table come before the others.
func (t *tableReader) end() {
	if t.open && len(t.cells) > 0 {
		t.rows.addf(t.at, min(t.nth, 3)+t.nth/8, "%s", show.Clip(strings.Join(t.cells, " | "), maxRowRunes))
		t.nth++
	}
	t.open = false
}

// nameOf is the name or the text of what a line stands for: "x" [ref=e2], or [ref=e2]: x.
func nameOf(after []byte) string {
	after = bytes.TrimSpace(after)
	if name, ok := bytes.CutPrefix(after, []byte(`"`)); ok {
		if end := bytes.LastIndexByte(name, '"'); end >= 0 {
			return string(name[:end])
		}
	}
	_, text, _ := bytes.Cut(after, []byte(": "))
	return string(bytes.Trim(text, ` "`))
}
