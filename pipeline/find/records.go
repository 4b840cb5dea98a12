package find

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/search"
)

const (
	// recordsRoom is shared by the records of hits: that of one hit is whole up to
	// maxPassage bytes, those of many up to minWhole. Of a larger one stands what
	// identifies it, above what matched.
	recordsRoom = 4800
	minWhole    = 200
	innerWhole  = 400 // of an object that is in no array

	// maxIndented bounds a record as it is searched: indented, one of maxRecord bytes
	// seldom takes four times as much.
	maxIndented = 4 * maxRecord

	maxPaths = 5   // of matches in a record that is whole
	maxPath  = 400 // runes of one, which no path but odd ones has
)

// A record is an object that hits are in, or without a span the one value they are in.
type record struct {
	at    doc.Path
	span  search.Span // in the text that is searched
	hits  []int
	inner bool // of no array: the members of an object may be records themselves
}

// records prints the hits in JSON, those of one record together.
func (s *Search) records(ctx context.Context, w *view, hits []search.Hit) (string, error) {
	tick := doc.Ticker{Ctx: ctx}
	p := recordPrinter{view: w, hits: hits, paths: make([]string, len(hits)), scored: s.Mode == "fuzzy"}
	of := make([]*record, len(hits))
	byStart := map[int]*record{} // nil for what is no record
	byLine := map[int]*record{}  // values that are in none
	var err error
	visitPlaces(w.text, hits, w.many, func(i int, at place) bool {
		if of[i], err = w.recordOf(&tick, at, s.ContextType, byStart); err != nil {
			return false
		}
		if n := hits[i].Line; of[i] == nil {
			if byLine[n] == nil {
				byLine[n] = &record{at: slices.Clone(at.path)}
			}
			of[i] = byLine[n]
		}
		p.paths[i] = "." + shortPath(at.path[len(of[i].at):])
		return true
	})
	if err != nil {
		return "", err
	}
	var list []*record
	for i, r := range of {
		if r.hits = append(r.hits, i); len(r.hits) == 1 {
			list = append(list, r)
		}
	}
	p.whole = max(minWhole, min(maxPassage, recordsRoom/max(1, len(list))))
	if s.ContextType != "" || s.Mode == "context" {
		p.whole = maxRecord
	}
	for _, r := range list {
		if err := tick.ErrFor(r.span.Len()); err != nil {
			return "", err
		}
		p.record(r)
	}
	return p.b.String(), nil
}

// shortPath writes a path that may have a thousand steps.
func shortPath(p doc.Path) string {
	return show.Clip(p[:min(len(p), maxPath)].String(), maxPath) // a step has more than one rune
}

// recordOf returns the record of a place: for a unit of context the object that stands
// for it, else the outermost object in an array that is no list of records itself, else
// the innermost object. It is nil if that is too large. What is known goes to byStart.
func (w *view) recordOf(tick *doc.Ticker, p place, unit string, byStart map[int]*record) (*record, error) {
	take := func(depth int, any bool) (*record, error) {
		start := p.starts[depth]
		if r, known := byStart[start]; known {
			return r, nil
		}
		part := w.text[start:min(len(w.text), start+maxIndented)]
		if err := tick.ErrFor(len(part)); err != nil {
			return nil, err
		}
		var r *record
		if end := containerEnd(part); end > 0 && (any || !divides(jsonscan.AppendMinified(nil, part[:end]), true)) {
			r = &record{at: slices.Clone(p.path[:depth]), span: search.Span{Start: start, End: start + end}, inner: any}
		}
		byStart[start] = r
		return r, nil
	}
	if unit != "" {
		if depth := objectDepth(p.path, unit); depth >= 0 {
			return take(depth, true)
		}
		return nil, nil
	}
	for i, step := range p.path {
		if step.Kind == doc.StepKey && i > 0 && p.path[i-1].Kind == doc.StepIndex {
			if r, err := take(i, false); r != nil || err != nil {
				return r, err
			}
		}
	}
	if depth := objectDepth(p.path, "paragraph"); depth >= 0 {
		return take(depth, true)
	}
	return nil, nil
}

// containerEnd returns where the object or array ends that text begins with, or 0.
func containerEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = jsonscan.SkipString(text, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// A recordPrinter writes records, and what matched of those that are not whole.
type recordPrinter struct {
	b      strings.Builder
	view   *view
	hits   []search.Hit
	paths  []string // of hits, in jq, from their records
	whole  int      // bytes of a record that stands whole
	scored bool     // the score of the best hit stands in front
}

func (p *recordPrinter) record(r *record) {
	if p.scored {
		fmt.Fprintf(&p.b, "%.2f ", p.hits[r.hits[0]].Score)
	}
	name := cmp.Or(shortPath(r.at), topLevel)
	if r.span.Len() == 0 {
		fmt.Fprintf(&p.b, "%s: %s\n", name, p.value(r.hits))
		return
	}
	value := jsonscan.AppendMinified(nil, p.view.text[r.span.Start:r.span.End])
	paths, byPath := p.within(r)
	whole := p.whole
	if r.inner && whole < maxRecord {
		whole = min(whole, innerWhole)
	}
	if len(value) <= whole {
		shown := paths[:min(len(paths), maxPaths)]
		if more := len(paths) - len(shown); more > 0 {
			shown = append(slices.Clone(shown), fmt.Sprintf("%d more", more))
		}
		fmt.Fprintf(&p.b, "%s (%s): %s\n", name, strings.Join(shown, ", "), show.Printable(value))
		return
	}
	fmt.Fprintf(&p.b, "%s, %s bytes%s\n", name, show.Count(len(value)), identity(value))
	for _, path := range paths {
		fmt.Fprintf(&p.b, "  %s: %s\n", path, p.value(byPath[path]))
	}
}

// within returns the paths of a record's hits from there, and which hits each has.
func (p *recordPrinter) within(r *record) (paths []string, byPath map[string][]int) {
	byPath = map[string][]int{}
	for _, i := range r.hits {
		if byPath[p.paths[i]] == nil {
			paths = append(paths, p.paths[i])
		}
		byPath[p.paths[i]] = append(byPath[p.paths[i]], i)
	}
	return paths, byPath
}

// value is the value that hits are in, or whose key, cut to what is around them.
func (p *recordPrinter) value(hits []int) string {
	text := p.view.text
	first := p.hits[hits[0]]
	line := p.view.lines.Span(first.Line)
	line.Start += indent(text[line.Start:line.End])
	if text[line.Start] == '"' {
		key := jsonscan.SkipString(text[:line.End], line.Start)
		if at := key + len(": "); at < line.End && text[key] == ':' {
			line.Start = at // the path has the key
		}
	}
	if text[line.End-1] == ',' && first.End < line.End {
		line.End--
	}
	inside := make([]search.Span, len(hits))
	for n, i := range hits {
		inside[n] = search.Span{Start: max(p.hits[i].Start, line.Start), End: max(min(p.hits[i].End, line.End), line.Start)}
	}
	out := windows(text, line, inside[0], inside[1:])
	if c := text[line.End-1]; (c == '{' || c == '[') && strings.HasSuffix(out, string(c)) {
		out += "…"
	}
	return out
}

// names are the keys that identify a record, the best first.
var names = []string{"number", "id", "key", "name", "fullname", "title", "summary", "subject", "path", "file", "filename", "slug", "login", "email",
	"operationid", "uuid", "sha", "type", "kind", "action", "status", "state", "level", "date", "time", "timestamp", "createdat", "htmlurl", "url"}

// identity is a record's short values that tell it from others, four at most, and "…"
// for the rest, behind a colon; or nothing.
func identity(object []byte) string {
	const most, long = 4, 100
	type member struct {
		rank  int
		value string
	}
	var known, others []member
	for key, value := range jsonscan.Fields(object) {
		if jsonscan.IsContainer(value) || len(value) <= len(`""`) && value[0] == '"' || value[0] == 'n' {
			continue
		}
		name := jsonscan.Unquote(key)
		m := member{slices.Index(names, strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))), ""}
		if len(value) > long+20 {
			if m.rank < 0 {
				continue
			}
			value = jsonscan.Quote(show.Clip(jsonscan.Unquote(value), long))
		}
		m.value = string(key) + ":" + string(value)
		if m.rank >= 0 {
			known = append(known, m)
		} else if len(others) < most {
			others = append(others, m)
		}
	}
	slices.SortStableFunc(known, func(a, b member) int { return cmp.Compare(a.rank, b.rank) })
	if len(known) == 0 {
		known = others
	}
	if len(known) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(": {")
	for _, m := range known[:min(len(known), most)] {
		b.WriteString(m.value + ",")
	}
	b.WriteString("…}")
	return show.Printable(b.String())
}
