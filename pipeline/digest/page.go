package digest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/pipeline/show"
)

// digestSnapshot reads the accessibility tree of a page as browser tools give
// it: - role "name" [ref=e12]. What an agent acts on are the refs.
func digestSnapshot(d *Digest, data []byte, t *ticker) error {
	heads := Part{Title: "headings", Share: 25, Even: true, Find: `proxy_search "- heading" finds all`}
	inputs := Part{Title: "inputs", Share: 15, Find: `proxy_search "textbox|combobox|checkbox" finds all`}
	buttons := Part{Title: "buttons", Share: 15, Find: `proxy_search "- button" finds all`}
	links := Part{Title: "links", Share: 20, Even: true, Find: `proxy_search "- link" finds all`}
	roles := map[string]int{}
	var order []string
	n := 0
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		s := bytes.TrimSpace(line[:min(len(line), 2000)])
		if hasPrefix(s, "- ") {
			s = s[2:]
			plain := bytes.TrimLeft(s, "'")
			role := string(wordAt(plain[:min(len(plain), 30)]))
			after := plain[len(role):]
			switch {
			case hasPrefix(s, "Page URL:"), hasPrefix(s, "Page Title:"), hasPrefix(s, "Console:"):
				d.say("%s", show.Clip(string(s), 200))
			case role != "" && role[0] >= 'a' && (len(after) == 0 || after[0] == ' ' || after[0] == ':' || after[0] == '\''):
				if _, known := roles[role]; known || len(roles) < 200 {
					if roles[role]++; !known {
						order = append(order, role)
					}
				}
				if !bytes.Contains(after, []byte(`"`)) && role != "textbox" && role != "combobox" {
					break // without a name there is nothing to read
				}
				switch role {
				case "heading":
					level := 2
					if i := bytes.Index(after, []byte("[level=")); i >= 0 && isDigit(byteAt(after, i+7)) {
						level = int(after[i+7] - '0')
					}
					heads.addLine(n, s, level)
				case "textbox", "combobox", "checkbox", "radio", "searchbox", "slider", "switch", "spinbutton", "listbox":
					inputs.addLine(n, s, 0)
				case "button", "menuitem", "tab":
					buttons.addLine(n, s, 0)
				case "link":
					links.addLine(n, s, 0)
				}
			}
		}
		n++
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(roles[b], roles[a]) })
	for i, role := range order {
		if order[i] = role + " " + show.Count(roles[role]); i == 15 {
			order = order[:i]
			break
		}
	}
	d.say("roles: %s", strings.Join(order, ", "))
	d.Parts = append(d.Parts, heads, inputs, buttons, links)
	for _, p := range []Part{links, buttons, inputs, heads} {
		if p.Total > 0 && len(d.Calls) < 2 {
			role := string(wordAt(bytes.TrimLeft(p.Rows[0].Text, "'")))
			d.search("- '?"+role+`\b`, "max_results", "50")
		}
	}
	return nil
}

// digestFiles counts a list of files by folder and by the ends of their names.
func digestFiles(d *Digest, data []byte, t *ticker) error {
	folders, exts := tally{}, tally{}
	n := 0
	prefix := ""
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		name := strings.TrimSpace(string(line[:min(len(line), 1000)]))
		for _, mark := range []string{"[FILE] ", "[DIR] "} {
			name = strings.TrimPrefix(name, mark)
		}
		dir := name[:strings.LastIndexByte(name, '/')+1]
		if n == 0 {
			prefix = dir
		}
		for !strings.HasPrefix(dir, prefix) {
			prefix = prefix[:strings.LastIndexByte(strings.TrimSuffix(prefix, "/"), '/')+1]
		}
		n++
	}
	n = 0
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimSpace(string(line[:min(len(line), 1000)])), prefix)
		base := name[strings.LastIndexByte(name, '/')+1:]
		if i := strings.IndexByte(name, '/'); i > 0 {
			folders.add(name[:i+1], n)
		}
		if i := strings.LastIndexByte(base, '.'); i > 0 && len(base)-i < 12 {
			exts.add(base[i:], n)
		}
		n++
	}
	if len(prefix) > 1 {
		d.say("all under %s", show.Clip(prefix, 200))
	}
	if s := exts.top(12, ", "); s != "" {
		d.say("names end in: %s", s)
	}
	d.Parts = append(d.Parts, folders.part("folders, times × first line"))
	return nil
}

// digestMatches counts what grep or a compiler found by file.
func digestMatches(d *Digest, data []byte, t *ticker) error {
	files := tally{}
	n := 0
	for line := range bytes.Lines(data) {
		if err := t.err(); err != nil {
			return err
		}
		s := line[:min(len(line), 1000)]
		if i := bytes.IndexByte(s, ':'); i > 0 && digitsAt(s, i+1) > 0 {
			files.add(string(s[:i]), n)
		}
		n++
	}
	d.Facts = append(d.Facts, show.Plural(len(files.order), "files"))
	d.Parts = append(d.Parts, files.part("files, times × first line"))
	return nil
}

// A tally counts names in the order of their first lines.
type tally struct {
	counts map[string]int
	order  []string
	at     map[string]int
	others int
}

func (t *tally) add(name string, n int) {
	if t.counts == nil {
		t.counts, t.at = map[string]int{}, map[string]int{}
	}
	if _, ok := t.counts[name]; !ok {
		if len(t.order) >= maxTemplates {
			t.others++
			return
		}
		t.at[name] = n
		t.order = append(t.order, name)
	}
	t.counts[name]++
}

func (t *tally) sorted() []string {
	order := slices.Clone(t.order)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(t.counts[b], t.counts[a]) })
	return order
}

// top is "ts 12, md 3" if ", " is between.
func (t *tally) top(most int, between string) string {
	var parts []string
	for i, name := range t.sorted() {
		if i == most {
			parts = append(parts, fmt.Sprintf("… %s more", show.Count(len(t.order)-i)))
			break
		}
		parts = append(parts, show.Clip(name, 60)+" "+show.Count(t.counts[name]))
	}
	return strings.Join(parts, between)
}

func (t *tally) part(title string) Part {
	p := Part{Title: title, Share: 45, Find: "the most frequent"}
	for i, name := range t.sorted() {
		p.addf(-1, i/8, "%s× %d  %s", show.Count(t.counts[name]), t.at[name]+1, show.Clip(name, 120))
	}
	return p
}
