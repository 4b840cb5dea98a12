package digest

import (
	"bytes"
	"html"
	"strings"

	"rlmproxy/pipeline/show"
)

// digestHTML tells title, headings, what can be followed or filled in, and
// shows text rather than tags.
func digestHTML(d *Digest, data []byte, t *ticker) error {
	r := &tagReader{data: data, t: t}
	heads := Part{Title: "headings", Share: 35, Even: true}
	text := Part{Title: "text", Share: 45}
	tags := map[string]int{}
	unclosed := map[string]bool{}
	var title, head, para []byte
	headTag, headAt, paraAt, inTitle := "", 0, 0, false
	from := 0
	flush := func() {
		if s := bytes.TrimSpace(para); len(s) > 1 && text.Total < 5000 {
			text.addf(paraAt, text.Total/8, "%s", strings.TrimSuffix(show.Clip(squeeze(s), 160), " |"))
		}
		para = para[:0]
	}
	for {
		if err := t.err(); err != nil {
			return err
		}
		start := r.i
		words, name, attrs, closing, ok := r.next()
		if !ok {
			break
		}
		if len(words) > 0 {
			switch {
			case inTitle && len(title) < 300:
				title = append(title, words[:min(len(words), 300)]...)
			case headTag != "" && len(head) < 300:
				head = append(append(head, words[:min(len(words), 300)]...), ' ')
			case len(para) < 600:
				if s := bytes.TrimSpace(words); len(s) > 0 {
					if len(bytes.TrimSpace(para)) == 0 {
						lead := bytes.Index(words, s[:1])
						r.line, from = r.lineOf(start+lead, from), start+lead
						paraAt = r.line
					}
					para = append(para, words[:min(len(words), 600)]...)
				}
			}
		}
		if len(name) == 0 {
			continue
		}
		tag := strings.ToLower(string(name[:min(len(name), 20)]))
		if !closing {
			if _, known := tags[tag]; known || len(tags) < 500 {
				tags[tag]++
			}
		}
		switch tag {
		case "script", "style", "svg", "noscript", "template":
			if !closing && !unclosed[tag] && !bytes.HasSuffix(attrs, []byte("/")) {
				if j := indexFold(data[r.i:], "</"+tag); j >= 0 {
					r.i += j
				} else {
					unclosed[tag] = true // nor will it be found behind
				}
			}
		case "title":
			inTitle = !closing && len(title) == 0
		case "h1", "h2", "h3", "h4", "h5", "h6":
			flush()
			if !closing {
				pos := r.i - len(attrs) - len(name) - 2
				r.line, from = r.lineOf(max(pos, from), from), max(pos, from)
				headTag, headAt, head = tag, r.line, head[:0]
			} else if headTag != "" {
				heads.addf(headAt, int(headTag[1]-'1'), "%s%s %s", strings.Repeat("  ", int(headTag[1]-'1')), headTag, show.Clip(squeeze(head), 100))
				headTag = ""
			}
		case "p", "div", "li", "tr", "table", "ul", "ol", "section", "article", "br", "pre", "dt", "dd", "blockquote", "main", "header", "footer", "nav", "form", "figure", "body":
			flush()
		case "td", "th":
			if closing && len(para) > 0 {
				para = append(para, " | "...)
			}
		case "a", "span", "button", "label", "option":
			if len(para) > 0 {
				para = append(para, ' ')
			}
		case "input", "textarea", "select":
			if !closing {
				para = append(append(append(para, " ["...), squeeze(append([]byte(tag), attrs[:min(len(attrs), 60)]...))...), "] "...)
			}
		}
	}
	flush()
	for _, c := range []struct{ tag, unit string }{{"a", "links"}, {"table", "tables"}, {"tr", "table rows"}, {"form", "forms"}, {"input", "inputs"}, {"img", "images"}, {"script", "scripts"}} {
		if n := tags[c.tag]; n > 0 {
			d.Facts = append(d.Facts, show.Plural(n, c.unit))
		}
	}
	if s := squeeze(title); s != "" {
		d.say("title: %s", show.Clip(s, 200))
	}
	d.Parts = append(d.Parts, heads, text)
	if len(heads.Rows) > 1 {
		r := heads.Rows[len(heads.Rows)/2]
		d.page(r.N, 30)
	}
	return nil
}

// squeeze makes one line of words, with entities read.
func squeeze(s []byte) string {
	return strings.Join(strings.Fields(html.UnescapeString(strings.ToValidUTF8(string(s), "�"))), " ")
}

// indexFold finds a tag in small letters.
func indexFold(data []byte, tag string) int {
	for i := 0; ; {
		j := bytes.IndexByte(data[i:], '<')
		if j < 0 {
			return -1
		}
		if i += j; foldPrefix(data[i:], tag) {
			return i
		}
		i++
	}
}
