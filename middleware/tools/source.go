package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
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
		{"cache_id", aString, &src.cacheID, `"…"`},
		{"tool", `"type":"string","description":"instead of cache_id: tool to call first"`, &src.tool, ""},
		{"arguments", `"type":"object"`, &src.arguments, ""},
		{"block", integer, &src.block, ""},
	}
}

// maxRepeated bounds what a hint repeats of an agent's arguments, in bytes.
const maxRepeated = 300

// withoutFresh are params without those of a fresh call.
func withoutFresh(params []param) []param {
	return slices.DeleteFunc(slices.Clone(params), func(p param) bool { return p.name == "tool" || p.name == "arguments" })
}

// A document is the text of a source.
type document struct {
	id     cache.ID
	fresh  bool         // the id is new to the agent
	origin cache.Origin // of a fresh call
	value  pipeline.Value
	note   string   // how it was made of the result, or empty
	kept   cache.ID // of what was selected from it, if that was asked for
}

// open returns the id of the source, which it makes by a fresh call if need be.
// done is the answer already: that of a fresh call that gave no data.
func (c *call) open(ctx context.Context, src *source) (d document, done json.RawMessage, err error) {
	switch {
	case src.cacheID != "" && src.tool != "":
		return d, nil, misused(c.tool, "give cache_id or tool, not both")
	case Calls(src.tool):
		name, arguments := jsonscan.StringMember(src.arguments, "name"), jsonscan.Member(src.arguments, "arguments")
		if name == "" {
			name = "…"
		}
		if arguments == nil || len(arguments) > maxRepeated {
			arguments = json.RawMessage("{…}")
		}
		return d, nil, &pipeline.Error{Code: pipeline.BadArguments, Text: c.tool + ": tool is one of a server, not " + src.tool,
			Hint: fmt.Sprintf(`give the server's tool itself: "tool":%s,"arguments":%s`, jsonscan.Quote(show.ClipBytes(name, 80)), arguments)}
	case c.Has(src.tool):
		return d, nil, &pipeline.Error{Code: pipeline.BadArguments, Text: c.tool + ": tool must be a server's tool, not " + src.tool,
			Hint: "call " + src.tool + " directly; its reply has a cache_id for this call"}
	case src.tool != "" && c.reach.Fresh == nil:
		return d, nil, &pipeline.Error{
			Code: pipeline.BadArguments,
			Text: c.tool + ": no tool can be called from here",
			Hint: fmt.Sprintf("call %s directly and use the cache_id of its reply", show.ClipBytes(src.tool, 80)),
		}
	case src.cacheID == "" && src.tool == "" && c.reach.Fresh == nil:
		return d, nil, misused(c.tool, "cache_id is missing")
	case src.cacheID == "" && src.tool == "":
		return d, nil, misused(c.tool, "cache_id is missing (or tool and arguments, for a fresh call)")
	case src.cacheID != "" && src.arguments != nil:
		return d, nil, misused(c.tool, "arguments go with tool, not with cache_id")
	case src.tool == "":
		return document{id: bareID(src.cacheID)}, nil, nil
	}
	raw, origin, err := c.reach.Fresh.FreshCall(ctx, src.tool, src.arguments)
	if err != nil {
		return d, nil, err
	}
	if !shape.HasData(raw) {
		done, err = c.opts.Shaper.ToolResult(c.agent, origin, raw, shape.Policy{})
		return d, done, err
	}
	id, err := c.opts.Shaper.Keep(c.agent, origin, raw)
	c.reach.Fresh.Kept(ctx, id)
	return document{id: id, fresh: true, origin: origin}, nil, err
}

// bareID is the id in what an agent has copied, which may be a reply's first line or
// a piece of it: [… cache_id=ID].
func bareID(given string) cache.ID {
	if i := strings.LastIndex(given, "cache_id"); i >= 0 {
		given = given[i+len("cache_id"):]
	}
	return cache.ID(strings.Trim(given, " \t\n=:\"'`[]<>(){}"))
}

// readAll reads the texts of documents, and returns the ctx of a query on them, which ends
// after limit. What is gone is fetched again first, once, in a time of its own. Done is
// the answer already: a server's question.
func (c *call) readAll(ctx context.Context, limit time.Duration, block int, docs ...*document) (limited context.Context, cancel context.CancelFunc, done json.RawMessage, err error) {
	for heals := 0; ; heals++ {
		limited, cancel = context.WithTimeout(ctx, limit)
		var at *document
		for _, at = range docs {
			if err = c.read(limited, at, block); err != nil {
				break
			}
		}
		gone := shape.Gone(err)
		if gone == nil || c.reach.Healer == nil || heals == len(docs) {
			return limited, cancel, nil, err
		}
		cancel()
		healed, again := c.reach.Healer.Heal(ctx, gone)
		switch {
		case again != nil:
			return ctx, cancel, nil, again
		case healed.Question != nil || healed.ID == "":
			return ctx, cancel, healed.Question, err
		}
		if healed.ID != at.id {
			healed.Line += " · cache_id=" + string(healed.ID)
		}
		at.id = healed.ID
		if healed.Line != "" {
			c.healed = append(c.healed, healed.Line)
		}
	}
}

// read reads d's text: that of a block, or without a number (-1) that of the only
// one, or of all joined.
func (c *call) read(ctx context.Context, d *document, block int) error {
	result, err := c.opts.Shaper.Cached(ctx, c.agent, d.id)
	if err != nil {
		return err
	}
	c.noModel = c.noModel || result.NoModel
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

// ReadID returns the cache_id in the arguments of a proxy_* call, or "" if none is there
// that could be one.
func ReadID(arguments json.RawMessage) cache.ID {
	if len(arguments) == 0 {
		return ""
	}
	if id := bareID(jsonscan.StringMember(objectOf(arguments), "cache_id")); id.Possible() {
		return id
	}
	return ""
}

func (c *call) noSuchBlock(block int, docs []shape.Document) error {
	var have []int
	for _, doc := range docs {
		have = append(have, doc.Block)
	}
	e := &pipeline.Error{Code: pipeline.BadArguments, Text: fmt.Sprintf("%s: block %d has no text; these have: %v", c.tool, block, have)}
	switch {
	case len(have) == 0:
	case c.tool == handle:
		e.Hint = fmt.Sprintf("put /%d after the ID", have[0])
	default:
		e.Hint = fmt.Sprintf(`use "block":%d`, have[0])
	}
	return e
}
