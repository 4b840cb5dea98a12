package digest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	tokens "golang.org/x/net/html"

	"rlmproxy/pipeline/show"
)

const (
	maxElements     = 2000 // that are told apart by their paths
	maxElementDepth = 60   // of such a path
	maxAttributes   = 6    // that are named of an element
)

// An element stands for all elements at one path.
type element struct {
	name       string
	depth      int
	count      int
	at         int // line of the first
	attributes []string
	sample     string
	below      []*element
	byName     map[string]*element // of those below
}

// readXML counts elements by their paths. The tokens are those of HTML, which
// takes what is not well-formed.
func readXML(d *Digest, r *reader) {
	z := tokens.NewTokenizer(bytes.NewReader(r.data))
	root := &element{depth: -1, byName: map[string]*element{}}
	open := []*element{root}
	line, total, known, deeper := 0, 0, 0, 0 // deeper counts open elements that are not told apart
	for n := 0; n%1024 != 0 || r.ctx.Err() == nil; n++ {
		token := z.Next()
		raw := z.Raw()
		lines := bytes.Count(raw, []byte("\n"))
		top := open[len(open)-1]
		switch token {
		case tokens.TextToken:
			if text := bytes.TrimSpace(head(raw, 200)); len(text) > 0 && top.sample == "" {
				top.sample = show.Clip(plainText(text), 40)
			}
		case tokens.EndTagToken:
			if deeper > 0 {
				deeper--
			} else if len(open) > 1 {
				open = open[:len(open)-1]
			}
		case tokens.StartTagToken, tokens.SelfClosingTagToken:
			z.NextIsNotRawText()
			total++
			name := raw[1:]
			if end := bytes.IndexAny(name, " \t\r\n/>"); end >= 0 { // TagName is in lower case
				name = name[:end]
			}
			e := top.byName[string(name)]
			if deeper > 0 || e == nil && (known == maxElements || len(open) > maxElementDepth) {
				deeper += btoi(token == tokens.StartTagToken)
				break
			}
			if e == nil {
				known++
				e = &element{name: string(name), depth: top.depth + 1, at: line, byName: map[string]*element{}}
				top.byName[e.name] = e
				top.below = append(top.below, e)
			}
			if e.count++; e.count < 20 {
				e.addAttributes(head(raw, 400))
			}
			if token == tokens.StartTagToken {
				open = append(open, e)
			}
		}
		line += lines
		if token == tokens.ErrorToken {
			break
		}
	}
	d.Facts = append(d.Facts, show.Plural(total, "elements"))
	p := Part{Title: "elements, times, first line"}
	most := root.list(&p, root)
	d.Parts = append(d.Parts, p)
	// What there is most of is what one looks for.
	if most.count > 1 && isPrintable(most.name) && len(most.name) < 60 && longestWord(most.name) != "" {
		d.search("<"+strings.ReplaceAll(most.name, ".", `\.`)+`\b`, "max_results", "10", "context_lines", "2")
	}
}

var attribute = lazy(`\s([\w:.-]{1,40})=("[^"]*"|'[^']*')`)

func (e *element) addAttributes(tag []byte) {
	for _, m := range attribute().FindAllSubmatch(tag, -1) {
		if name := string(m[1]); len(e.attributes) < maxAttributes && !slices.Contains(e.attributes, name) {
			e.attributes = append(e.attributes, name)
		}
	}
}

// list adds the elements below e to p, and returns the most frequent, if it is
// more so than most.
func (e *element) list(p *Part, most *element) *element {
	for _, c := range e.below {
		line := fmt.Sprintf("%s%s ×%s  %d", strings.Repeat("  ", c.depth), show.Clip(c.name, 60), show.Count(c.count), c.at+1)
		if len(c.attributes) > 0 {
			line += "  @" + strings.Join(c.attributes, " @")
		}
		if c.sample != "" && len(c.below) == 0 {
			line += "  e.g. " + c.sample
		}
		p.addf(-1, c.depth, "%s", line)
		if c.count > most.count {
			most = c
		}
		most = c.list(p, most)
	}
	return most
}
