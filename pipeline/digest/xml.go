package digest

import (
	"bytes"

	"golang.org/x/net/html"

	"rlmproxy/pipeline/show"
)

// readXML counts elements by name. The tokens are those of HTML, which takes what
// is not well-formed.
func readXML(d *Digest, r *reader) {
	var names tally
	total := 0
	for line, t := range r.markup {
		if t.kind != html.StartTagToken && t.kind != html.SelfClosingTagToken {
			continue
		}
		total++
		name := t.raw[1:] // as written: TagName is in lower case
		if end := bytes.IndexAny(name, " \t\r\n/>"); end >= 0 {
			name = name[:end]
		}
		names.add(name, line)
	}
	d.Facts = append(d.Facts, show.Plural(total, "elements"))
	d.Parts = append(d.Parts, names.part("elements"))
}
