package tools

import (
	"context"
	"encoding/json"

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
	e.outline.Budget = c.opts.Shaper.Budget()
	return c.run(ctx, &e.source, pipeline.Pipeline{&e.outline}, c.opts.QueryTimeout)
}

// filter is proxy_filter: a part of it. Where nothing is selected, it pages.
type filter struct {
	source source
	narrow shape.Narrow
	mode   string
	slice  pipeline.Slice
	format pipeline.Format
}

func (f *filter) params() []param {
	return append(append(f.source.params(), narrowParams(&f.narrow, `"type":"string","description":"input: the document; text: one string"`)...),
		param{"mode", `"enum":["include","exclude"]`, &f.mode, ""},
		param{"offset", integer, &f.slice.Offset, "0"},
		param{"limit", integer, &f.slice.Limit, "20"},
		param{"format", `"enum":["json","table","lines","text"]`, &f.format.As, ""})
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
			return nil, misused(c.tool, `mode "exclude" leaves out what fields names; exclude says it too`)
		}
		f.narrow.Fields, f.narrow.Exclude = nil, f.narrow.Fields
	default:
		return nil, misused(c.tool, `mode must be "include" or "exclude", not %q`, show.ClipBytes(f.mode, 40))
	}
	if f.slice.Offset < 0 || f.slice.Limit < 0 {
		return nil, misused(c.tool, "offset and limit must not be negative")
	}
	stages, err := c.opts.Shaper.Stages(f.narrow, c.tool, c.agent)
	if err != nil {
		return nil, err
	}
	if len(stages) == 0 {
		return c.page(ctx, f)
	}
	if f.slice != (pipeline.Slice{}) {
		stages = append(stages, &f.slice)
	}
	if f.format.As != "" {
		stages = append(stages, &f.format)
	}
	return c.run(ctx, &f.source, stages, c.opts.QueryTimeout)
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
		{"mode", `"enum":["regex","bm25","fuzzy","context"],"default":"regex"`, &s.find.Mode, `"bm25"`},
		{"max_results", integer, &s.find.MaxResults, ""},
		{"context_lines", integer, &s.find.ContextLines, ""},
		{"case_insensitive", `"type":"boolean"`, &s.find.CaseInsensitive, ""},
		{"threshold", `"type":"number","default":0.7`, &s.find.Threshold, ""},
		{"top_k", `"type":"integer","default":5`, &s.find.TopK, ""},
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
	return c.run(ctx, &s.source, append(stages, &s.find), c.opts.SearchTimeout)
}
