package tools

import (
	"context"
	"encoding/json"
	"math"

	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// explore is proxy_explore: what there is.
type explore struct {
	source  source
	outline pipeline.Outline
}

func (e *explore) params() []param {
	return append(e.source.params(),
		param{"path", aString, &e.outline.Path, `"items"`},
		param{"max_depth", `"type":"integer","default":3`, &e.outline.MaxDepth, "3"})
}

func (e *explore) answer(ctx context.Context, c *call) (json.RawMessage, error) {
	if e.outline.MaxDepth < 0 {
		return nil, misused(c.tool, "max_depth must be 1 or more")
	}
	e.outline.Budget = c.opts.Shaper.Budget() / 2
	return c.run(ctx, &e.source, pipeline.Pipeline{&e.outline}, c.opts.QueryTimeout)
}

// filter is proxy_filter: a part of it, page by page, or whole.
type filter struct {
	source source
	ids    []string // of several results, instead of a source
	narrow shape.Narrow
	mode   string
	slice  pipeline.Slice
	limit  int // none, or of the slice
	format pipeline.Format
	whole  bool
	keep   bool // the selection gets an id of its own
}

// none is a number that was not given.
const none = math.MinInt

func (f *filter) params() []param {
	f.limit = none
	return append(append(f.source.params(), narrowParams(&f.narrow, `"type":"string","description":"input: JSON, records, or text"`)...),
		param{"cache_ids", `"type":"array","items":{"type":"string"},"description":"jq runs on their array"`, &f.ids, ""},
		param{"mode", `"enum":["include","exclude"]`, &f.mode, ""},
		param{"offset", integer, &f.slice.Offset, "0"},
		param{"limit", integer, &f.limit, "20"},
		param{"format", `"enum":["json","table","lines","text"]`, &f.format.As, ""},
		param{"whole", `"type":"boolean"`, &f.whole, ""},
		param{"keep", `"type":"boolean"`, &f.keep, ""})
}

func narrowParams(n *shape.Narrow, jq string) []param {
	return []param{
		{"fields", stringList, &n.Fields, `["name"]`},
		{"exclude", stringList, &n.Exclude, ""},
		{"jq", jq, &n.JQ, ""},
	}
}

func (f *filter) answer(ctx context.Context, c *call) (json.RawMessage, error) {
	switch f.mode {
	case "", "include":
	case "exclude":
		if len(f.narrow.Exclude) > 0 {
			return nil, misused(c.tool, `give mode "exclude" with fields, or exclude, not both`)
		}
		f.narrow.Fields, f.narrow.Exclude = nil, f.narrow.Fields
	default:
		return nil, misused(c.tool, `mode must be "include" or "exclude", not %q`, show.ClipBytes(f.mode, 40))
	}
	switch {
	case f.slice.Offset < 0:
		return nil, misused(c.tool, "offset must be 0 or more")
	case f.limit == none:
	case f.limit < 1:
		return nil, misused(c.tool, "limit must be 1 or more; leave it out for as many as fit")
	default:
		f.slice.Limit = f.limit
	}
	stages, err := c.opts.Shaper.Stages(f.narrow, c.tool, c.agent)
	if err != nil {
		return nil, err
	}
	if len(f.ids) > 0 {
		return c.joined(ctx, f, stages)
	}
	return c.page(ctx, f, stages)
}

// search is proxy_search: where something is.
type search struct {
	source source
	narrow shape.Narrow
	find   pipeline.Search
}

func (s *search) params() []param {
	own := []param{
		{"pattern", aString, &s.find.Pattern, `"error"`},
		{"mode", `"enum":["regex","bm25","fuzzy","context","paths"]`, &s.find.Mode, `"bm25"`},
		{"offset", integer, &s.find.Offset, "0"},
		{"max_results", integer, &s.find.MaxResults, ""},
		{"context_lines", integer, &s.find.ContextLines, ""},
		{"case_insensitive", `"type":"boolean"`, &s.find.CaseInsensitive, ""},
		{"threshold", `"type":"number","default":0.7`, &s.find.Threshold, ""},
		{"top_k", "", &s.find.TopK, ""}, // another name of max_results
		{"context_type", `"enum":["paragraph","section","sentence","lines","record"]`, &s.find.ContextType, ""},
	}
	return append(append(s.source.params(), own...), narrowParams(&s.narrow, aString)...)
}

func (s *search) answer(ctx context.Context, c *call) (json.RawMessage, error) {
	if s.find.Pattern == "" {
		return nil, misused(c.tool, "pattern is missing")
	}
	stages, err := c.opts.Shaper.Stages(s.narrow, c.tool, c.agent)
	if err != nil {
		return nil, err
	}
	const above = "[1000 blocks joined; \"block\":0 to 1000 chooses one · cache_id=0123456789abcdef]\n" // and a header is shorter
	s.find.Fits = func(answer []byte) bool { return c.opts.Shaper.Fits(above+shape.Notes(c.healed...), answer) }
	return c.run(ctx, &s.source, append(stages, &s.find), c.opts.SearchTimeout)
}
