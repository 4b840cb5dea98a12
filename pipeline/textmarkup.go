package pipeline

import (
	"bytes"
	"fmt"
	"html"
	"strconv"
	"strings"
)

// maxElements of XML are told apart by their paths, down to maxElementDepth.
const (
	maxElements     = 2000
	maxElementDepth = 60
)

// A tagReader walks over tags without a tree: what is broken costs no more
// than a count.
type tagReader struct {
	data []byte
	i    int
	line int // of i
	t    *ticker
}

// next returns the text up to the next tag, and the tag: its name in lower case
// for HTML, and its attributes. A comment and the like has an empty name.
func (r *tagReader) next() (text []byte, name []byte, attrs []byte, closing, ok bool) {
	start := r.i
	for {
		j := bytes.IndexByte(r.data[r.i:], '<')
		if j < 0 {
			text = r.data[start:]
			r.i = len(r.data)
			return text, nil, nil, false, len(text) > 0
		}
		r.i += j
		if r.i+1 < len(r.data) && (isAlpha(r.data[r.i+1]) || at(r.data, r.i+1, "/!?_")) {
			break
		}
		r.i++
	}
	text = r.data[start:r.i]
	switch {
	case hasPrefix(r.data[r.i:], "<!--"):
		r.skip("-->")
		return text, nil, nil, false, true
	case hasPrefix(r.data[r.i:], "<![CDATA["):
		r.skip("]]>")
		return text, nil, nil, false, true
	case r.data[r.i+1] == '!' || r.data[r.i+1] == '?':
		r.skip(">")
		return text, nil, nil, false, true
	}
	from := r.i + 1
	closing = r.data[from] == '/'
	if closing {
		from++
	}
	to := from
	for to < len(r.data) && !isSpace(r.data[to]) && r.data[to] != '>' && r.data[to] != '/' {
		to++
	}
	end, quote := to, byte(0)
	for ; end < len(r.data); end++ {
		c := r.data[end]
		if quote != 0 {
			if c == quote {
				quote = 0
			}
		} else if c == '>' {
			break
		} else if (c == '"' || c == '\'') && end > 0 && r.data[end-1] == '=' {
			quote = c
		}
	}
	r.i = min(end+1, len(r.data))
	return text, r.data[from:to], r.data[to:end], closing, true
}

func (r *tagReader) skip(end string) {
	j := bytes.Index(r.data[r.i:], []byte(end))
	if j < 0 {
		r.i = len(r.data)
		return
	}
	r.i += j + len(end)
}

// lineOf counts line ends from the last position asked for.
func (r *tagReader) lineOf(pos, from int) int {
	return r.line + bytes.Count(r.data[from:pos], []byte("\n"))
}

// digestHTML tells title, headings, what can be followed or filled in, and
// shows text rather than tags.
func digestHTML(d *digest, data []byte, t *ticker) error {
	r := &tagReader{data: data, t: t}
	heads := part{title: "headings", share: 35, even: true}
	text := part{title: "text", share: 45}
	tags := map[string]int{}
	unclosed := map[string]bool{}
	var title, head, para []byte
	headTag, headAt, paraAt, inTitle := "", 0, 0, false
	from := 0
	flush := func() {
		if s := bytes.TrimSpace(para); len(s) > 1 && text.total < 5000 {
			text.addf(paraAt, text.total/8, "%s", strings.TrimSuffix(clip(squeeze(s), 160), " |"))
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
				heads.addf(headAt, int(headTag[1]-'1'), "%s%s %s", strings.Repeat("  ", int(headTag[1]-'1')), headTag, clip(squeeze(head), 100))
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
			d.facts = append(d.facts, plural(n, c.unit))
		}
	}
	if s := squeeze(title); s != "" {
		d.say("title: %s", clip(s, 200))
	}
	d.parts = append(d.parts, heads, text)
	if len(heads.rows) > 1 {
		r := heads.rows[len(heads.rows)/2]
		d.calls = append(d.calls, []string{"proxy_filter", "offset", strconv.Itoa(r.n), "limit", "30"})
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

// An element stands for all elements at one path.
type element struct {
	name   string
	depth  int
	count  int
	at     int // line of the first
	attrs  []string
	sample string
	below  []*element
	byName map[string]*element
}

// digestXML counts elements by their paths.
func digestXML(d *digest, data []byte, t *ticker) error {
	r := &tagReader{data: data, t: t}
	root := &element{depth: -1}
	stack := []*element{root}
	deeper, known, total, from := 0, 0, 0, 0
	for {
		if err := t.err(); err != nil {
			return err
		}
		text, name, attrs, closing, ok := r.next()
		if !ok {
			break
		}
		top := stack[len(stack)-1]
		if s := bytes.TrimSpace(text[:min(len(text), 200)]); len(s) > 0 && top.sample == "" && top != root {
			top.sample = clip(squeeze(s), 40)
		}
		switch {
		case len(name) == 0:
		case closing:
			if deeper > 0 {
				deeper--
			} else if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
		default:
			total++
			single := bytes.HasSuffix(attrs, []byte("/"))
			e := top.byName[string(name)]
			if e == nil && (known >= maxElements || len(stack) > maxElementDepth || deeper > 0) {
				if !single {
					deeper++
				}
				continue
			}
			if e == nil {
				known++
				r.line, from = r.lineOf(r.i, from), r.i
				e = &element{name: string(name), depth: top.depth + 1, at: r.line}
				if top.byName == nil {
					top.byName = map[string]*element{}
				}
				top.byName[e.name] = e
				top.below = append(top.below, e)
			}
			if e.count++; e.count < 20 {
				e.addAttrs(attrs)
			}
			if !single {
				stack = append(stack, e)
			}
		}
	}
	d.facts = append(d.facts, plural(total, "elements"))
	p := part{title: "elements, times, first line"}
	var tell func(e *element)
	tell = func(e *element) {
		for _, c := range e.below {
			line := fmt.Sprintf("%s%s ×%s  %d", strings.Repeat("  ", c.depth), clip(c.name, 60), Comma(c.count), c.at+1)
			if len(c.attrs) > 0 {
				line += "  @" + strings.Join(c.attrs, " @")
			}
			if c.sample != "" && len(c.below) == 0 {
				line += "  e.g. " + c.sample
			}
			p.addf(-1, c.depth, "%s", line)
			tell(c)
		}
	}
	tell(root)
	d.parts = append(d.parts, p)
	// What there is most of is what one looks for.
	var most *element
	var find func(e *element)
	find = func(e *element) {
		for _, c := range e.below {
			if most == nil || c.count > most.count {
				most = c
			}
			find(c)
		}
	}
	find(root)
	if most != nil && most.count > 1 && isPrintable(most.name) && len(most.name) < 60 && longestWord(most.name) != "" {
		d.calls = append(d.calls, []string{"proxy_search", "pattern", quoted("<" + strings.ReplaceAll(most.name, ".", `\.`) + `\b`), "max_results", "10", "context_lines", "2"})
	}
	return nil
}

// addAttrs notes the names of attributes.
func (e *element) addAttrs(attrs []byte) {
	for i := 0; i < len(attrs) && i < 400 && len(e.attrs) < 6; {
		for i < len(attrs) && (isSpace(attrs[i]) || attrs[i] == '/') {
			i++
		}
		start := i
		for i < len(attrs) && attrs[i] != '=' && !isSpace(attrs[i]) {
			i++
		}
		name := clip(string(attrs[start:i]), 30)
		if i+1 >= len(attrs) || attrs[i] != '=' {
			return
		}
		quote := attrs[i+1]
		end := bytes.IndexByte(attrs[i+2:], quote)
		if end < 0 || name == "" {
			return
		}
		i += end + 3
		have := false
		for _, a := range e.attrs {
			have = have || a == name
		}
		if !have {
			e.attrs = append(e.attrs, name)
		}
	}
}
