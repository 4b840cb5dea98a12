package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/pipeline/show"
)

var _ Stage = (*Project)(nil)

// Project keeps some fields of JSON, or leaves some out. It is a [Stage].
//
// The output is minified and else spelt as the input. Objects stay, even if
// empty, so records keep their number and order; what is no container and
// stands where a path goes deeper is left out. A string that holds JSON is
// the container that it holds where a path of Fields goes deeper, and where
// one of Exclude ends inside; else it stays a string. With both lists,
// Exclude applies to what Fields kept. The zero Project minifies.
//
// Of CSV and TSV the records are projected, to JSON Lines.
type Project struct {
	Fields  []string // paths to keep; none keeps all
	Exclude []string // paths to leave out
}

func (p *Project) String() string {
	return fmt.Sprintf("project fields=%q exclude=%q", p.Fields, p.Exclude)
}

// Apply is an [*Error] for text, for a path that cannot be read, and for one
// that is nowhere in the document. A field that only some records lack is
// told in the Note.
func (p *Project) Apply(ctx context.Context, in Value) (Value, error) {
	if in.Kind == Text {
		records, ok, err := csvRecords(ctx, in)
		if err != nil {
			return Value{}, err
		}
		if !ok {
			return Value{}, badArguments(`use proxy_search, "offset" and "limit" for lines, or "jq":"split(\"\\n\") | map(select(test(\"error\")))"`,
				"fields and exclude need JSON, CSV or TSV; this is text")
		}
		in = records
	}
	keep, err := newMask(p.Fields)
	if err != nil {
		return Value{}, err
	}
	drop, err := newMask(p.Exclude)
	if err != nil {
		return Value{}, err
	}
	w := &projector{tick: ticker{ctx: ctx}}
	out := make([]byte, 0, len(in.Data)/2)
	if in.Kind == JSON {
		out, err = w.both(out, in.Data, only(keep), only(drop))
	} else {
		out, err = w.lines(out, in.Data, keep, drop)
	}
	if err != nil {
		return Value{}, err
	}
	if err := missing(ctx, in, keep); err != nil {
		return Value{}, err
	}
	if err := missing(ctx, in, drop); err != nil {
		return Value{}, err
	}
	v := derive(in, in.Kind, out)
	v.addNote(keep.lacking(nil))
	return v, nil
}

// only is what is active at the root: nothing for an empty list of paths.
func only(m *mask) []*mask {
	if len(m.paths) == 0 {
		return nil
	}
	return []*mask{m}
}

// lines applies the masks to JSON Lines, which count as one array.
func (w *projector) lines(dst, data []byte, keep, drop *mask) ([]byte, error) {
	n := -1
	for line := range records(data) {
		n++
		keeping := slices.Clone(w.element(only(keep), n))
		dropping := slices.Clone(w.element(only(drop), n))
		if len(keep.paths) > 0 && len(keeping) == 0 || anyLeaf(dropping) {
			continue
		}
		var err error
		if dst, err = w.both(dst, line, keeping, dropping); err != nil {
			return nil, err
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

// both appends what keep and then drop leave of one document.
func (w *projector) both(dst, data []byte, keep, drop []*mask) ([]byte, error) {
	var err error
	if len(keep) > 0 {
		if inner, ok := enterString(data); ok && !anyLeaf(keep) {
			data = inner
		}
		start := len(dst)
		if dst, err = w.include(dst, data, keep); err != nil || len(drop) == 0 {
			return dst, err
		}
		data = append([]byte(nil), dst[start:]...)
		dst = dst[:start]
	}
	if len(drop) == 0 {
		return appendMinified(dst, data), nil
	}
	return w.exclude(dst, data, drop)
}

// A mask is the paths of one list as a tree, with what was found of them.
type mask struct {
	paths []Path // at the root only, in the order of the arguments
	leaf  bool
	keys  map[string]*mask
	order []string // of keys
	index map[int]*mask
	each  *mask

	bare  *mask // of keys alone, see [mask.implied]
	owner *mask // of which this is the bare one

	hits    int // values that this step led to
	objects int // objects where a key of keys was looked for
}

func newMask(fields []string) (*mask, error) {
	root := &mask{}
	if len(fields) > 500 {
		return nil, badArguments("", "%s paths; 500 are allowed", show.Count(len(fields)))
	}
	for _, f := range fields {
		path, err := ParsePath(f)
		if err != nil {
			return nil, err
		}
		// Strings that hold JSON are entered anyway.
		path = slices.DeleteFunc(path, func(s Step) bool { return s.Kind == StepJSON })
		root.paths = append(root.paths, path)
		node := root
		for _, s := range path {
			node = node.child(s)
		}
		node.leaf = true
	}
	return root, nil
}

// child returns the node behind s, and makes it if it is new.
func (m *mask) child(s Step) *mask {
	switch s.Kind {
	case StepEach:
		if m.each == nil {
			m.each = &mask{}
		}
		return m.each
	case StepIndex:
		if m.index == nil {
			m.index = map[int]*mask{}
		}
		if m.index[s.Index] == nil {
			m.index[s.Index] = &mask{}
		}
		return m.index[s.Index]
	}
	if m.keys == nil {
		m.keys = map[string]*mask{}
	}
	if m.keys[s.Key] == nil {
		m.keys[s.Key] = &mask{}
		m.order = append(m.order, s.Key)
	}
	return m.keys[s.Key]
}

// implied is what of m reaches through an array that no step names: keys,
// but neither [] nor an index, which are for that array itself.
func (m *mask) implied() *mask {
	if m.each == nil && m.index == nil {
		return m
	}
	if m.bare == nil {
		m.bare = &mask{keys: m.keys, owner: m}
	}
	return m.bare
}

// A projector walks a document along masks. Several are active at once,
// where items.name and items[3].id meet.
type projector struct {
	tick    ticker
	bufs    [][]*mask // scratch, one a level
	deep    int
	dropped int // values that exclude left out
}

// next collects into scratch the masks that apply to a member or element.
func (w *projector) next(active []*mask, pick func(*mask) *mask, implied bool) []*mask {
	for w.deep >= len(w.bufs) {
		w.bufs = append(w.bufs, nil)
	}
	got := w.bufs[w.deep][:0]
	for _, m := range active {
		if c := pick(m); c != nil {
			c.hits++
			got = append(got, c)
		}
		if m.each != nil {
			m.each.hits++
			got = append(got, m.each)
		}
		if implied && len(m.keys) > 0 {
			got = append(got, m.implied())
		}
	}
	w.bufs[w.deep] = got
	return got
}

// key and element are the two ways down. An element keeps its array's masks
// for their keys alone: that is the implied array.
func (w *projector) key(active []*mask, raw []byte) []*mask {
	name := unquote(raw)
	return w.next(active, func(m *mask) *mask { return m.keys[name] }, false)
}

func (w *projector) element(active []*mask, n int) []*mask {
	return w.next(active, func(m *mask) *mask { return m.index[n] }, true)
}

func anyLeaf(active []*mask) bool {
	for _, m := range active {
		if m.leaf {
			return true
		}
	}
	return false
}

func isOpen(value []byte) bool { return value[0] == '{' || value[0] == '[' }

func countObject(active []*mask) {
	for _, m := range active {
		if len(m.keys) == 0 {
			continue
		}
		if m.owner != nil {
			m = m.owner
		}
		m.objects++
	}
}

// include appends the part of data that active names; data is a container,
// or active has no leaf and data is dropped by the caller.
func (w *projector) include(dst, data []byte, active []*mask) ([]byte, error) {
	if anyLeaf(active) {
		// Deeper paths are inside what is kept whole, but must be counted.
		if w.plain(active) {
			return appendMinified(dst, data), nil
		}
		inside := data
		if inner, ok := enterString(data); ok {
			inside = inner
		}
		if _, err := w.includeParts(nil, inside, active); err != nil {
			return dst, err
		}
		return appendMinified(dst, data), nil
	}
	return w.includeParts(dst, data, active)
}

// plain reports that no active mask goes deeper.
func (w *projector) plain(active []*mask) bool {
	for _, m := range active {
		if m.each != nil || len(m.keys) > 0 || len(m.index) > 0 {
			return false
		}
	}
	return true
}

func (w *projector) includeParts(dst, data []byte, active []*mask) ([]byte, error) {
	// next reuses scratch by level; active belongs to the level above.
	w.deep++
	defer func() { w.deep-- }()
	add := func(next []*mask, value []byte, prefix []byte) (err error) {
		if len(next) == 0 {
			return w.tick.err()
		}
		if !isOpen(value) && !anyLeaf(next) {
			inner, ok := enterString(value)
			if !ok {
				return w.tick.err()
			}
			value = inner
		}
		if c := dst[len(dst)-1]; c != '{' && c != '[' {
			dst = append(dst, ',')
		}
		dst = append(dst, prefix...)
		dst, err = w.include(dst, value, next)
		if err == nil {
			err = w.tick.err()
		}
		return err
	}
	_, err := w.parts(&dst, data, active, add)
	return dst, err
}

// parts appends an object or an array to dst, add appending each of its parts,
// and reports whether data is one.
func (w *projector) parts(dst *[]byte, data []byte, active []*mask, add func(next []*mask, value, prefix []byte) error) (bool, error) {
	switch kindOf(data) {
	case '{':
		countObject(active)
		*dst = append(*dst, '{')
		for key, value := range members(data) {
			prefix := append(key[:len(key):len(key)], ':')
			if err := add(w.key(active, key), value, prefix); err != nil {
				return true, err
			}
		}
		*dst = append(*dst, '}')
		return true, nil
	case '[':
		*dst = append(*dst, '[')
		for n, value := range elements(data) {
			if err := add(w.element(active, n), value, nil); err != nil {
				return true, err
			}
		}
		*dst = append(*dst, ']')
		return true, nil
	}
	return false, nil
}

// exclude appends data without the parts that active names. A string that
// holds none of them stays as it is.
func (w *projector) exclude(dst, data []byte, active []*mask) ([]byte, error) {
	inner, ok := enterString(data)
	if !ok {
		return w.excludeParts(dst, data, active)
	}
	start, before := len(dst), w.dropped
	dst, err := w.excludeParts(dst, inner, active)
	if err == nil && w.dropped == before {
		dst = appendMinified(dst[:start], data)
	}
	return dst, err
}

func (w *projector) excludeParts(dst, data []byte, active []*mask) ([]byte, error) {
	w.deep++
	defer func() { w.deep-- }()
	add := func(next []*mask, value []byte, prefix []byte) (err error) {
		if anyLeaf(next) {
			w.dropped++
			return w.tick.err()
		}
		if c := dst[len(dst)-1]; c != '{' && c != '[' {
			dst = append(dst, ',')
		}
		dst = append(dst, prefix...)
		if len(next) == 0 {
			dst = appendMinified(dst, value)
			return w.tick.err()
		}
		if dst, err = w.exclude(dst, value, next); err == nil {
			err = w.tick.err()
		}
		return err
	}
	if container, err := w.parts(&dst, data, active, add); container {
		return dst, err
	}
	return appendMinified(dst, data), nil
}

// lacking tells how many objects lack a kept key, worst first in the order
// of the arguments; at most three are named.
func (m *mask) lacking(at Path) string {
	var parts []string
	var walk func(m *mask, at Path)
	walk = func(m *mask, at Path) {
		for _, k := range m.order {
			c, p := m.keys[k], at.with(Step{Key: k})
			if c.hits < m.objects && c.hits > 0 {
				parts = append(parts, fmt.Sprintf("%s of %s lack %s", show.Count(m.objects-c.hits), show.Plural(m.objects, "records"), show.Clip(p.JQ(), 80)))
			}
			walk(c, p)
		}
		if m.each != nil {
			walk(m.each, at.with(Step{Kind: StepEach}))
		}
	}
	walk(m, at)
	if len(parts) > 3 {
		parts = append(parts[:3], fmt.Sprintf("%d more fields are lacking in some", len(parts)-3))
	}
	return strings.Join(parts, "; ")
}
