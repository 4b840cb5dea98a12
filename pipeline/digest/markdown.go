package digest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/pipeline/show"
)

// A section of Markdown reaches from its heading to the next one of its level.
type mdSection struct {
	n, level   int
	end        int
	title      string
	underlined bool
}

// digestMarkdown outlines the headings, and tells tables and code blocks.
func digestMarkdown(d *Digest, data []byte, t *ticker) error {
	heads := Part{Title: "headings", Share: 75, Even: true, Find: `proxy_search "^#+ " finds them`}
	tables := Part{Title: "tables", Share: 25}
	var sections []mdSection
	var before Line // the line above
	fence := ""     // that is open
	code := map[string]int{}
	var langs []string
	n, links, blocks := 0, 0, 0
	front := false // of the text before, there is nothing but pictures and tags
	table := -1    // row of tables that is open
	rows := 0
	endTable := func() {
		if table >= 0 && table < len(tables.Rows) {
			tables.Rows[table].words += "  (" + show.Plural(rows, "rows") + ")"
		}
		table, rows = -1, 0
	}
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		s := bytes.TrimSpace(line[:min(len(line), 2000)])
		if !front && (len(s) == 0 || s[0] == '<' || hasPrefix(s, "[![") || hasPrefix(s, "![") || hasPrefix(s, "[<img")) {
			d.Dull = n + 1
		} else {
			front = true
		}
		switch {
		case fence != "":
			if hasPrefix(s, fence) && len(bytes.Trim(s, fence[:1])) == 0 {
				fence = ""
			}
		case hasPrefix(s, "```"), hasPrefix(s, "~~~"):
			endTable()
			fence = string(s[:3])
			for len(fence) < len(s) && s[len(fence)] == s[0] {
				fence += fence[:1]
			}
			blocks++
			lang := strings.TrimSpace(string(s[len(fence):]))
			if i := strings.IndexAny(lang, " {,"); i >= 0 {
				lang = lang[:i]
			}
			if len(lang) > 0 && len(lang) < 20 && (code[lang] > 0 || len(langs) < 50) {
				if code[lang]++; code[lang] == 1 {
					langs = append(langs, lang)
				}
			}
		case len(line) > 0 && line[0] == '#' && heading().Match(line[:min(len(line), 10)]):
			endTable()
			level := bytes.IndexByte(line, ' ')
			addHeading(&heads, n, line, level-1)
			sections = append(sections, mdSection{n: n, level: level, title: string(bytes.TrimRight(s[level:], "# "))})
		case len(s) > 2 && (s[0] == '=' || s[0] == '-') && len(bytes.Trim(s, "=")) == 0 || len(s) > 2 && s[0] == '-' && len(bytes.Trim(s, "-")) == 0 && line[0] == '-':
			if b := bytes.TrimSpace(before.Text); len(b) > 0 && len(b) < 200 && b[0] != '|' && before.Text[0] != '-' && before.Text[0] != '#' && before.Text[0] != '>' {
				level := 1 + btoi(s[0] == '-')
				addHeading(&heads, before.N, before.Text, level-1)
				sections = append(sections, mdSection{n: before.N, level: level, title: string(b), underlined: true})
			}
		case table >= 0 && bytes.IndexByte(s, '|') >= 0:
			rows++
		case len(s) > 2 && bytes.IndexByte(s, '|') >= 0 && bytes.Contains(s, []byte("--")) && tableRule().Match(s) && bytes.IndexByte(before.Text, '|') >= 0:
			table = tables.Total
			tables.addf(before.N, 0, "%s", show.Line(before.Text, maxRowRunes))
		default:
			if table >= 0 {
				endTable()
			}
			links += bytes.Count(line, []byte("]("))
		}
		before = Line{n, line}
		n++
	}
	endTable()
	if len(sections) > maxRows {
		sections = sections[:maxRows]
	}
	if blocks > 0 {
		slices.SortStableFunc(langs, func(a, b string) int { return code[b] - code[a] })
		what := show.Plural(blocks, "code blocks")
		for i, lang := range langs[:min(len(langs), 4)] {
			what += fmt.Sprintf("%s%s %d", []string{" (", " · "}[btoi(i > 0)], lang, code[lang])
		}
		if len(langs) > 0 {
			what += ")"
		}
		d.Facts = append(d.Facts, what)
	}
	if tables.Total > 0 {
		d.Facts = append(d.Facts, show.Plural(tables.Total, "tables"))
	}
	if links > 0 {
		d.Facts = append(d.Facts, show.Plural(links, "links"))
	}
	if heads.Total > 0 {
		d.Facts = append(d.Facts, show.Plural(heads.Total, "headings"))
	}
	firstOnesFirst(heads.Rows)
	d.Parts = append(d.Parts, heads, tables)
	mdCalls(d, sections, n)
	return nil
}

// mdCalls go to the largest section that fits a page, and ask for the last by
// its name.
func mdCalls(d *Digest, sections []mdSection, total int) {
	if len(sections) < 2 {
		if total > 20 {
			d.page(total/2, 20)
		}
		return
	}
	var open []int
	for i := range sections {
		sections[i].end = total
		for len(open) > 0 && sections[open[len(open)-1]].level >= sections[i].level {
			sections[open[len(open)-1]].end = sections[i].n
			open = open[:len(open)-1]
		}
		open = append(open, i)
	}
	best := 0
	size := func(i int) int { return sections[i].end - sections[i].n }
	for i := range sections {
		if s := size(i); s <= 80 && (s > size(best) || size(best) > 80) {
			best = i
		}
	}
	d.page(sections[best].n, min(size(best), 80))
	for i := len(sections) - 1; i > 0; i-- {
		if word := longestWord(sections[i].title); i != best && word != "" {
			if !sections[i].underlined {
				word = `^#+ .*` + word
			}
			d.search(word, "mode", `"context"`, "context_type", `"section"`)
			break
		}
	}
}
