package digest

import (
	"bytes"

	"rlmproxy/pipeline/show"
)

var roleLine = lazy(`^(\s*- ([a-z]+)( "|:| \[|$)|\s*- ('[a-z]+ "|/url: |text: ))`)

// isSnapshot wants the accessibility tree of a page, which browser tools return
// as YAML, often below a few lines of Markdown.
func isSnapshot(s *sample) bool {
	refs := s.count(func(line []byte) bool { return contains(line, "[ref=") })
	return (refs > 2 || refs > 0 && s.full < 6) && s.most(s.count(roleLine().Match), 40)
}

// readSnapshot reads lines - role "name" [ref=e12]. What an agent acts on are the
// refs.
func readSnapshot(d *Digest, r *reader) {
	headings := Part{Title: "headings", Share: 25, Even: true, Find: `proxy_search "- heading" finds all`}
	inputs := Part{Title: "inputs", Share: 15, Find: `proxy_search "textbox|combobox|checkbox" finds all`}
	buttons := Part{Title: "buttons", Share: 15, Find: `proxy_search "- button" finds all`}
	links := Part{Title: "links", Share: 20, Even: true, Find: `proxy_search "- link" finds all`}
	var roles tally
	for n, line := range r.lines {
		s := bytes.TrimSpace(head(line, 2000))
		if !hasPrefix(s, "- ") {
			continue
		}
		s = s[2:]
		if hasAnyPrefix(s, []string{"Page URL:", "Page Title:", "Console:"}) && len(d.Parts) < 10 {
			d.say("%s", show.Clip(string(s), 200))
			continue
		}
		plain := bytes.TrimLeft(s, "'")
		role := wordAt(head(plain, 30))
		after := plain[len(role):]
		if len(role) == 0 || isUpper(role[0]) || len(after) > 0 && !isOneOf(after[0], " :'") {
			continue
		}
		roles.add(role, n)
		named := contains(after, `"`) // without a name there is nothing to read
		switch string(role) {
		case "heading":
			_, level, _ := bytes.Cut(after, []byte("[level="))
			if named {
				headings.addLine(n, s, int(min(max(byteAt(level, 0), '1'), '9')-'0'))
			}
		case "textbox", "combobox":
			inputs.addLine(n, s, 0)
		case "checkbox", "radio", "searchbox", "slider", "switch", "spinbutton", "listbox":
			if named {
				inputs.addLine(n, s, 0)
			}
		case "button", "menuitem", "tab":
			if named {
				buttons.addLine(n, s, 0)
			}
		case "link":
			if named {
				links.addLine(n, s, 0)
			}
		}
	}
	d.say("roles: %s", roles.top(15, ", "))
	d.Parts = append(d.Parts, headings, inputs, buttons, links)
	for _, p := range []Part{links, buttons, inputs, headings} {
		if p.Total > 0 && len(d.Calls) < 2 {
			role := wordAt(bytes.TrimLeft(p.Rows[0].Text, "'"))
			d.search("- '?"+string(role)+`\b`, "max_results", "50")
		}
	}
}
