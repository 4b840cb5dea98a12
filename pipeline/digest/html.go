package digest

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"

	"rlmproxy/pipeline/show"
)

var htmlTag = lazy(`(?i)^</?(!doctype html|html|head|body|div|p|a|span|table|tr|td|th|ul|ol|li|h[1-6]|script|style|link|meta|title|nav|section|article|main|header|footer|form|input|button|img|br|label|template|pre|code|b|i|em|strong|hr|dl|dt|dd|iframe)\b`)

// isHTML wants tags at the begin of three lines of ten, half of them of HTML.
func isHTML(s *sample) bool {
	tags, known := countTags(s)
	return s.begins("<!doctype html", "<html", "<head", "<body") || s.most(tags, 30) && 2*known >= tags ||
		s.begins("<?xml") && contains(bytes.ToLower(head(s.data, 1000)), "<html")
}

// isXML wants a declaration, or tags with other names.
func isXML(s *sample) bool {
	tags, _ := countTags(s)
	return s.begins("<?xml") || s.most(tags, 30)
}

// countTags counts lines that begin with a tag, and with one of HTML.
func countTags(s *sample) (tags, known int) {
	if !s.begins("<") || s.begins("<?", "<%") {
		return 0, 0
	}
	for _, line := range s.lines {
		line = bytes.TrimLeft(line, " \t\ufeff")
		if c := byteAt(line, 1); byteAt(line, 0) == '<' && (isLetter(c) || c == '/' || c == '!') {
			tags++
			known += btoi(htmlTag().Match(line))
		}
	}
	return tags, known
}

// A markupToken is a tag, or the text between two.
type markupToken struct {
	kind html.TokenType
	name string // of a tag, as written
	raw  []byte // the begin of it as written, until the next token
}

// markup yields the tokens of HTML or XML, each with the line where it begins.
func (r *reader) markup(yield func(line int, t markupToken) bool) {
	z := html.NewTokenizer(bytes.NewReader(r.data))
	for n, line := 0, 0; n%1024 != 0 || r.ctx.Err() == nil; n++ {
		kind := z.Next()
		t := markupToken{kind: kind, raw: head(z.Raw(), maxParagraph)}
		switch kind {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name := bytes.TrimLeft(t.raw, "</")
			if end := bytes.IndexAny(name, " \t\r\n/>"); end >= 0 {
				name = name[:end]
			}
			t.name = string(name)
		}
		if !yield(line, t) {
			return
		}
		line += bytes.Count(z.Raw(), []byte("\n"))
	}
}

const (
	maxParagraph  = 600  // bytes of a paragraph that are read
	maxParagraphs = 5000 // that are kept
)

// blocks are elements that end a paragraph.
var blocks = wordSet("p div li tr table ul ol section article br pre dt dd blockquote main header footer nav form figure body h1 h2 h3 h4 h5 h6")

// spaced are elements whose words do not touch those before.
var spaced = wordSet("a span button label option")

// An htmlReader gathers headings and paragraphs, as a browser shows them.
type htmlReader struct {
	counts         map[string]int // elements by tag
	title          string
	headings, text Part

	open    string // tag directly before the text
	words   []byte // of the paragraph or heading that is open
	at      int    // line where it begins
	heading int    // level of the heading that is open, or 0
}

// readHTML tells the title, the headings, what can be followed or filled in, and
// shows text rather than tags.
func readHTML(d *Digest, r *reader) {
	h := &htmlReader{counts: map[string]int{}, headings: Part{Title: "headings", Share: 35, Even: true}, text: Part{Title: "text", Share: 45}}
	for line, t := range r.markup {
		t.name = strings.ToLower(t.name)
		switch t.kind {
		case html.TextToken:
			h.addText(line, t.raw)
		case html.StartTagToken, html.SelfClosingTagToken:
			h.start(line, t)
		case html.EndTagToken:
			if blocks[t.name] {
				h.flush()
			} else if (t.name == "td" || t.name == "th") && len(h.words) > 0 {
				h.words = append(h.words, " | "...)
			}
		}
		h.open = t.name
	}
	h.flush()
	for _, c := range []struct{ tag, unit string }{{"a", "links"}, {"table", "tables"}, {"tr", "table rows"}, {"form", "forms"}, {"input", "inputs"}, {"img", "images"}, {"script", "scripts"}} {
		if n := h.counts[c.tag]; n > 0 {
			d.Facts = append(d.Facts, show.Plural(n, c.unit))
		}
	}
	if h.title != "" {
		d.addWords("title: %s", show.Clip(h.title, 200))
	}
	d.Parts = append(d.Parts, h.headings, h.text)
}

func (h *htmlReader) addText(line int, text []byte) {
	trimmed := bytes.TrimSpace(text)
	switch {
	case h.open == "script" || h.open == "style" || len(trimmed) == 0:
	case h.open == "title" && h.title == "":
		h.title = plainText(text)
	case len(h.words) < maxParagraph:
		if len(bytes.TrimSpace(h.words)) == 0 && h.heading == 0 {
			h.at = line + bytes.Count(text[:bytes.Index(text, trimmed[:1])], []byte("\n"))
		}
		h.words = append(h.words, text...)
	}
}

func (h *htmlReader) start(line int, t markupToken) {
	if h.counts[t.name] > 0 || len(h.counts) < 500 {
		h.counts[t.name]++
	}
	switch {
	case blocks[t.name]:
		h.flush()
		if t.name[0] == 'h' && digitsAt([]byte(t.name), 1) == 1 {
			h.heading, h.at = int(t.name[1]-'0'), line
		}
	case t.name == "input" || t.name == "textarea" || t.name == "select":
		h.words = append(h.words, " ["+plainText(bytes.Trim(head(t.raw, 70), "<>/ "))+"] "...)
	case spaced[t.name] && len(h.words) > 0:
		h.words = append(h.words, ' ')
	}
}

// flush ends a paragraph or a heading.
func (h *htmlReader) flush() {
	text := strings.TrimSuffix(plainText(h.words), " |")
	switch {
	case h.heading > 0:
		h.headings.addf(h.at, h.heading-1, "%sh%d %s", strings.Repeat("  ", h.heading-1), h.heading, show.Clip(text, 100))
	case len(text) > 1 && h.text.Total < maxParagraphs:
		h.text.addf(h.at, h.text.Total/8, "%s", show.Clip(text, 160))
	}
	h.words, h.heading = h.words[:0], 0
}

// plainText makes one line of words, with entities read.
func plainText(s []byte) string {
	return strings.Join(strings.Fields(html.UnescapeString(strings.ToValidUTF8(string(s), "�"))), " ")
}

// readXML counts elements by name. The tokens are those of HTML, which takes what
// is not well-formed.
func readXML(d *Digest, r *reader) {
	var names tally
	total := 0
	for line, t := range r.markup {
		if t.kind == html.StartTagToken || t.kind == html.SelfClosingTagToken {
			names.add([]byte(t.name), line)
			total++
		}
	}
	d.Facts = append(d.Facts, show.Plural(total, "elements"))
	d.Parts = append(d.Parts, names.part("elements"))
}
