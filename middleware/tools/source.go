package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// A source is what a query works on: a cached result, or a fresh call, whose
// result is cached first.
type source struct {
	cacheID   string
	tool      string
	arguments json.RawMessage
	block     int // -1: the only one, or all
}

func (src *source) params() []param {
	src.block = -1
	return []param{
		{"cache_id", &src.cacheID, `"…"`},
		{"tool", &src.tool, ""},
		{"arguments", &src.arguments, ""},
		{"block", &src.block, ""},
	}
}

// A document is the text of a source.
type document struct {
	id    cache.ID
	fresh bool // the id is new to the agent
	value pipeline.Value
	note  string // how it was made of the result, or empty
}

// open returns the id of the source, which it makes by a fresh call if need be.
// done is the answer already: that of a fresh call that gave no data.
func (c *call) open(ctx context.Context, src *source) (d document, done json.RawMessage, err error) {
	switch {
	case src.cacheID != "" && src.tool != "":
		return d, nil, badArgs(c.tool, nil, "give cache_id or tool, not both")
	case src.cacheID == "" && src.tool == "":
		return d, nil, badArgs(c.tool, nil, "cache_id is missing (or tool and arguments, for a fresh call)")
	case src.cacheID != "" && src.arguments != nil:
		return d, nil, badArgs(c.tool, nil, "arguments go with tool, not with cache_id")
	case src.tool == "":
		return document{id: bareID(src.cacheID)}, nil, nil
	}
	raw, origin, err := c.fresh.FreshCall(ctx, src.tool, src.arguments)
	if err != nil {
		return d, nil, err
	}
	if !shape.HasData(raw) {
		done, err = c.opts.Shaper.ToolResult(c.agent, origin, raw, shape.Policy{})
		return d, done, err
	}
	id, err := c.opts.Shaper.Keep(c.agent, origin, raw)
	return document{id: id, fresh: true}, nil, err
}

// bareID is the id in what an agent has copied, which may be a reply's first line or
// a piece of it: [… cache_id=ID].
func bareID(given string) cache.ID {
	if i := strings.LastIndex(given, "cache_id"); i >= 0 {
		given = given[i+len("cache_id"):]
	}
	return cache.ID(strings.Trim(given, " \t\n=:\"'`[]<>(){}"))
}

// read reads d's text: that of a block, or without a number (-1) that of the only
// one, or of all joined.
func (c *call) read(ctx context.Context, d *document, block int) error {
	result, err := c.opts.Shaper.Cached(ctx, c.agent, d.id)
	if err != nil {
		return err
	}
	if block >= 0 {
		doc, ok := result.Doc(block)
		if !ok {
			return c.noSuchBlock(block, result.Docs)
		}
		d.value = result.Value(doc)
		return nil
	}
	var texts []shape.Document
	for _, doc := range result.Docs {
		if doc.Media == "" {
			texts = append(texts, doc)
		}
	}
	switch len(texts) {
	case 0:
		return &pipeline.Error{Code: pipeline.BadArguments, Text: c.tool + ": this result has no text"}
	case 1:
		d.value = result.Value(texts[0])
		return nil
	}
	d.note = fmt.Sprintf("%d blocks joined; \"block\":%d to %d chooses one", len(texts), texts[0].Block, texts[len(texts)-1].Block)
	d.value, err = result.Joined(texts)
	return err
}

func (c *call) noSuchBlock(block int, docs []shape.Document) error {
	var have []int
	for _, doc := range docs {
		have = append(have, doc.Block)
	}
	e := &pipeline.Error{Code: pipeline.BadArguments, Text: fmt.Sprintf("%s: block %d has no text; these have: %v", c.tool, block, have)}
	if len(have) > 0 {
		e.Hint = fmt.Sprintf(`the same with "block":%d`, have[0])
	}
	return e
}

// run answers with what stages make of the source.
func (c *call) run(ctx context.Context, src *source, stages pipeline.Pipeline, timeout time.Duration) (json.RawMessage, error) {
	if err := stages.Check(); err != nil {
		return nil, err
	}
	d, done, err := c.open(ctx, src)
	if err != nil || done != nil {
		return done, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := c.read(ctx, &d, src.block); err != nil {
		return nil, err
	}
	v, err := stages.Run(ctx, d.value)
	if err != nil {
		return nil, d.hinted(err)
	}
	return c.reply(&d, header(&d, v), v)
}

// reply answers with v below a header.
func (c *call) reply(d *document, header string, v pipeline.Value) (json.RawMessage, error) {
	origin := cache.Origin{Tool: c.tool, Arguments: c.arguments}
	return c.opts.Shaper.Answer(c.agent, origin, shape.Answer{Header: header, Value: v, Source: d.id})
}

// header says what an answer is a part of, if it is one, and where a fresh call's
// result is.
func header(d *document, v pipeline.Value) string {
	var said []string
	// A search says so itself, in its first line.
	if v.Items != v.Total && v.Unit != "matches" && v.Unit != "passages" {
		said = append(said, fmt.Sprintf("%s of %s %s", show.Count(v.Items), show.Count(v.Total), v.Unit))
	}
	if d.fresh {
		said = append(said, "cache_id="+string(d.id))
	}
	return shape.Notes(strings.Join(said, " · "), d.note, v.Note)
}

// hinted adds to an error without a hint the call that shows what is there.
func (d *document) hinted(err error) error {
	var e *pipeline.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	if out.Hint == "" {
		out.Hint = fmt.Sprintf(`proxy_explore {"cache_id":%q} shows what is there`, d.id)
	} else if d.fresh {
		out.Hint += fmt.Sprintf(" (the result of the fresh call is kept: cache_id=%s)", d.id)
	}
	return &out
}
