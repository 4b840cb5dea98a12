package digest

import "bytes"

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
	var counts tally
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
			i, ok := roles[string(role)]
			// Without a name there is nothing to read but where one writes.
			if ok && (contains(after, `"`) || string(role) == "textbox" || string(role) == "combobox") {
				_, level, _ := bytes.Cut(after, []byte("[level="))
				parts[i].addLine(n, s, int(min(max(byteAt(level, 0), '0'), '9')-'0'))
			}
		}
	}
	d.addWords("roles: %s", counts.top(15, ", "))
	d.Parts = append(d.Parts, parts...)
}
