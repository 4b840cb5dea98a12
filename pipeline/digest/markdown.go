package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

var (
	heading   = lazy(`^#{1,6} +\S`)
	tableRule = lazy(`^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$`)
	listItem  = lazy(`^\s{0,8}([-*+]|\d{1,3}[.)]) +\S`)
	setting   = lazy(`^\s*[\w.-]+ *[:+?]?= *\S|^\s*\[\[?[\w. "-]+\]\]?$|^\s*(set|let|local|my|export|stdout|stderr|exec|go) `) // of a configuration or a script
	inline    = lazy("\\]\\((https?://|\\.?/|#|[\\w./-]+\\))|\\*\\*[^* ][^*]*\\*\\*|`[^`]+`|^> |^!\\[")
)

// isMarkdown wants a table, code between fences, headings, or lists and links on
// many lines. A comment of YAML or of a shell looks like a heading, but has a
// line beside it, and lines of code or keys around.
func isMarkdown(s *sample) bool {
	var fences, headings, deep, rules, items, inlines, other, program, total int
	fenced := false
	blank := func(i int) bool { return i < 0 || i >= len(s.lines) || !notBlank(s.lines[i]) }
	for i, line := range s.lines {
		t := bytes.TrimSpace(line)
		if isFence(t) {
			fences++
			fenced = !fenced
			continue
		}
		if fenced || len(t) == 0 {
			continue
		}
		total++
		if found := definitionOf(line); found.kind != "" && found.column == 0 || imports().Match(line) {
			program++
		}
		switch {
		case heading().Match(line):
			alone := blank(i-1) && blank(i+1)
			headings += btoi(alone)
			deep += btoi(line[1] == '#')
			total -= btoi(!alone && line[1] != '#') // a comment
		case isUnderline(line) && !blank(i-1):
			headings++
		case bytes.IndexByte(t, '|') >= 0 && tableRule().Match(line):
			rules++
		case listItem().Match(line):
			items++
		case yamlKey().Match(line) || isCode(line) || setting().Match(line):
			other++
		}
		inlines += btoi(inline().Match(line))
	}
	switch {
	case rules > 0:
		return true
	case 2*other > total || fences == 0 && program > 1 || s.begins("#!", "//"):
		return false
	case fences > 1, headings > 0, deep > 1 && inlines > 0:
		return true
	}
	return other == 0 && (items > 1 && 100*items >= 30*total || inlines > 1 && 10*inlines > total)
}

func isFence(line []byte) bool { return hasPrefix(line, "```") || hasPrefix(line, "~~~") }

// isUnderline reports a line of = or - that makes a heading of the one above.
func isUnderline(line []byte) bool {
	t := bytes.TrimSpace(line)
	return len(t) > 2 && (len(bytes.Trim(t, "=")) == 0 || line[0] == '-' && len(bytes.Trim(t, "-")) == 0)
}

// A markdownReader gathers the headings, and counts tables, links and code.
type markdownReader struct {
	headings, tables Part
	above            Line
	fence            string // that is open
	blocks, links    int
	languages        tally
	inTable          bool
	rows             int // of the table that is open
}

func readMarkdown(d *Digest, r *reader) {
	m := &markdownReader{
		headings: Part{Title: "headings", Share: 75, Even: true, Find: `proxy_search "^#+ " finds them`},
		tables:   Part{Title: "tables", Share: 25},
	}
	for n, line := range r.lines {
		s := bytes.TrimSpace(head(line, 2000))
		// Before the text there may be nothing but pictures and tags.
		if d.Preamble == n && (len(s) == 0 || s[0] == '<' || hasAnyPrefix(s, []string{"[![", "![", "[<img"})) {
			d.Preamble = n + 1
		}
		m.line(n, line, s)
		m.above = Line{n, line}
	}
	m.endTable()
	for _, c := range []struct {
		n    int
		unit string
	}{{m.blocks, "code blocks"}, {m.tables.Total, "tables"}, {m.links, "links"}, {m.headings.Total, "headings"}} {
		if c.n > 0 {
			d.Facts = append(d.Facts, show.Plural(c.n, c.unit))
		}
		if c.unit == "code blocks" && len(m.languages.order) > 0 {
			d.Facts[len(d.Facts)-1] += " (" + m.languages.top(4, " · ") + ")"
		}
	}
	rankNewest(m.headings.Rows)
	d.Parts = append(d.Parts, m.headings, m.tables)
}

// line reads line n, s without space around it.
func (m *markdownReader) line(n int, line, s []byte) {
	switch {
	case m.fence != "":
		if hasPrefix(s, m.fence) && len(bytes.Trim(s, m.fence[:1])) == 0 {
			m.fence = ""
		}
	case isFence(s):
		m.endTable()
		m.blocks++
		language := bytes.TrimLeft(s, string(s[:1]))
		m.fence = string(s[:len(s)-len(language)])
		if name := wordAt(bytes.TrimSpace(language)); len(name) > 0 && len(name) < 20 {
			m.languages.add(name, n)
		}
	case byteAt(line, 0) == '#' && heading().Match(head(line, 10)):
		m.endTable()
		m.heading(n, bytes.IndexByte(line, ' '), line)
	case len(s) > 2 && isUnderline(line):
		above := bytes.TrimSpace(m.above.Text)
		if len(above) > 0 && len(above) < 200 && !isOneOf(m.above.Text[0], "|-#>") {
			m.heading(m.above.N, 1+btoi(s[0] == '-'), m.above.Text)
		}
	case m.inTable && bytes.IndexByte(s, '|') >= 0:
		m.rows++
	case len(s) > 2 && contains(s, "--") && bytes.IndexByte(m.above.Text, '|') >= 0 && tableRule().Match(s):
		m.endTable()
		m.tables.addf(m.above.N, 0, "%s", show.Line(m.above.Text, maxRowRunes))
		m.inTable = true
	default:
		m.endTable()
		m.links += bytes.Count(line, []byte("]("))
	}
}

func (m *markdownReader) endTable() {
	if m.inTable && m.tables.Total == len(m.tables.Rows) {
		m.tables.Rows[m.tables.Total-1].words += "  (" + show.Plural(m.rows, "rows") + ")"
	}
	m.inTable, m.rows = false, 0
}

// link is [text](address) or ![text](address).
var link = lazy(`!?\[([^\[\]]*)\]\([^()\s]*(\([^()\s]*\))?[^()\s]*\)`)

// heading adds a heading, with the texts of its links instead of the links.
func (m *markdownReader) heading(n, level int, line []byte) {
	if contains(line, "](") && len(line) < 1000 && !contains(line, "`") {
		plain := line
		for range 2 { // a picture that is a link
			plain = link().ReplaceAll(plain, []byte("$1"))
		}
		m.headings.addf(n, level-1, "%s", show.Clip(string(plain), maxRowRunes))
		return
	}
	m.headings.addLine(n, line, level-1)
}

const (
	manyHeadings   = 24 // down to one level are more than an outline shows
	newestHeadings = 8  // of that level are shown before others
)

// rankNewest ranks the first headings of the level that has too many for all to
// be shown before the others of that level. What is so long is a changelog, or a
// list of another kind, and begins with what is new or matters most.
func rankNewest(rows []Row) {
	var counts [6]int
	for _, r := range rows {
		counts[r.Rank]++
	}
	level, sum := 0, 0
	for ; level < len(counts); level++ {
		if sum += counts[level]; sum > manyHeadings {
			break
		}
	}
	newest := 0
	for i := range rows {
		if r := &rows[i]; r.Rank == level && newest < newestHeadings {
			newest++
		} else if r.Rank >= level {
			r.Rank++
		}
	}
}
