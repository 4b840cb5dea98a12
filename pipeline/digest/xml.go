package digest

import (
	"bytes"
	"fmt"
	"strings"

	"rlmproxy/pipeline/show"
)

// maxElements of XML are told apart by their paths, down to maxElementDepth.
const (
	maxElements     = 2000
	maxElementDepth = 60
)

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
func digestXML(d *Digest, data []byte, t *ticker) error {
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
			top.sample = show.Clip(squeeze(s), 40)
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
	d.Facts = append(d.Facts, show.Plural(total, "elements"))
	p := Part{Title: "elements, times, first line"}
	var tell func(e *element)
	tell = func(e *element) {
		for _, c := range e.below {
			line := fmt.Sprintf("%s%s ×%s  %d", strings.Repeat("  ", c.depth), show.Clip(c.name, 60), show.Count(c.count), c.at+1)
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
	d.Parts = append(d.Parts, p)
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
		d.search("<"+strings.ReplaceAll(most.name, ".", `\.`)+`\b`, "max_results", "10", "context_lines", "2")
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
		name := show.Clip(string(attrs[start:i]), 30)
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
