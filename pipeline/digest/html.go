package digest

import (
	"bytes"
	"html"
	"strings"

	tokens "golang.org/x/net/html"

	"rlmproxy/pipeline/show"
)

var htmlTag = lazy(`(?i)^</?(!doctype html|html|head|body|div|p|a|span|table|tr|td|th|ul|ol|li|h[1-6]|script|style|link|meta|title|nav|section|article|main|header|footer|form|input|button|img|br|label|template|pre|code|b|i|em|strong|hr|dl|dt|dd|iframe)\b`)

// isHTML wants tags at the begin of three lines of ten, with names of HTML.
func isHTML(s *sample) bool {
	if s.begins("<!doctype html", "<html", "<head", "<body") {
		return true
	}
	tags, known := countTags(s)
	return s.most(tags, 30) && 2*known >= tags || s.begins("<?xml") && contains(bytes.ToLower(head(s.data, 1000)), "<html")
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

// blocks are elements that end a paragraph.
var blocks = wordSet("p div li tr table ul ol section article br pre dt dd blockquote main header footer nav form figure body h1 h2 h3 h4 h5 h6")

// spaced are elements whose words do not touch those before.
var spaced = wordSet("a span button label option")

const (
	maxParagraph  = 600  // bytes of a paragraph that are read
	maxParagraphs = 5000 // that are kept
)

// An htmlReader gathers headings and paragraphs, as a browser shows them.
type htmlReader struct {
	counts         map[string]int // elements by tag
	title          string
	headings, text Part

	words   []byte // of the paragraph or heading that is open
	at      int    // line where it begins
	heading int    // level of the heading that is open, or 0
}

// readHTML tells the title, the headings, what can be followed or filled in, and
// shows text rather than tags.
func readHTML(d *Digest, r *reader) {
	h := &htmlReader{counts: map[string]int{}, headings: Part{Title: "headings", Share: 35, Even: true}, text: Part{Title: "text", Share: 45}}
	z := tokens.NewTokenizer(bytes.NewReader(r.data))
	line, tag := 0, ""
	for n := 0; n%1024 != 0 || r.ctx.Err() == nil; n++ {
		token := z.Next()
		raw := z.Raw()
		lines := bytes.Count(raw, []byte("\n"))
		switch token {
		case tokens.TextToken:
			h.addText(line, tag, raw)
			tag = ""
		case tokens.StartTagToken, tokens.SelfClosingTagToken:
			about := string(head(raw, 70))
			tag = tagName(z)
			h.start(line, tag, about)
		case tokens.EndTagToken:
			h.end(tagName(z))
			tag = ""
		}
		line += lines
		if token == tokens.ErrorToken {
			break
		}
	}
	h.flush()
	for _, c := range []struct{ tag, unit string }{{"a", "links"}, {"table", "tables"}, {"tr", "table rows"}, {"form", "forms"}, {"input", "inputs"}, {"img", "images"}, {"script", "scripts"}} {
		if n := h.counts[c.tag]; n > 0 {
			d.Facts = append(d.Facts, show.Plural(n, c.unit))
		}
	}
	if h.title != "" {
		d.say("title: %s", show.Clip(h.title, 200))
	}
	d.Parts = append(d.Parts, h.headings, h.text)
	if rows := h.headings.Rows; len(rows) > 1 {
		d.page(rows[len(rows)/2].N, 30)
	}
}

func tagName(z *tokens.Tokenizer) string {
	name, _ := z.TagName()
	return string(head(name, 20))
}

// addText reads text behind the tag, if it stands directly behind one.
func (h *htmlReader) addText(line int, tag string, text []byte) {
	switch {
	case tag == "script" || tag == "style":
		return
	case tag == "title" && h.title == "":
		h.title = plainText(head(text, 300))
		return
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && len(h.words) < maxParagraph {
		if len(bytes.TrimSpace(h.words)) == 0 && h.heading == 0 {
			h.at = line + bytes.Count(text[:bytes.Index(text, trimmed[:1])], []byte("\n"))
		}
		h.words = append(h.words, head(text, maxParagraph)...)
	}
}

// start opens an element; about is its tag as written.
func (h *htmlReader) start(line int, tag, about string) {
	if h.counts[tag] > 0 || len(h.counts) < 500 {
		h.counts[tag]++
	}
	switch {
	case blocks[tag]:
		h.flush()
		if isHeading(tag) {
			h.heading, h.at = int(tag[1]-'0'), line
		}
	case tag == "input" || tag == "textarea" || tag == "select":
		h.words = append(h.words, " ["+plainText([]byte(strings.Trim(about, "<>/ ")))+"] "...)
	case spaced[tag] && len(h.words) > 0 && len(h.words) < maxParagraph:
		h.words = append(h.words, ' ')
	}
}

func (h *htmlReader) end(tag string) {
	switch {
	case blocks[tag]:
		h.flush()
	case (tag == "td" || tag == "th") && len(h.words) > 0:
		h.words = append(h.words, " | "...)
	}
}

func isHeading(tag string) bool {
	return len(tag) == 2 && tag[0] == 'h' && tag[1] >= '1' && tag[1] <= '6'
}

// flush ends a paragraph or a heading.
func (h *htmlReader) flush() {
	text := strings.TrimSuffix(plainText(h.words), " |")
	switch {
	case text == "" && h.heading == 0 || len(h.words) < 2:
	case h.heading > 0:
		h.headings.addf(h.at, h.heading-1, "%sh%d %s", strings.Repeat("  ", h.heading-1), h.heading, show.Clip(text, 100))
	case h.text.Total < maxParagraphs:
		h.text.addf(h.at, h.text.Total/8, "%s", show.Clip(text, 160))
	}
	h.words, h.heading = h.words[:0], 0
}

// plainText makes one line of words, with entities read.
func plainText(s []byte) string {
	return strings.Join(strings.Fields(html.UnescapeString(strings.ToValidUTF8(string(s), "�"))), " ")
}
