package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
)

// handle stands for the tool in errors where there is none.
const handle = "rlmproxy://cache"

// A Content is what a handle stands for.
type Content struct {
	Text  []byte          // what a string of it holds
	Value json.RawMessage // the same as JSON, or nil
	// NoModel says that no sub-model may read it, see [cache.Origin].
	NoModel bool
}

// Content returns what a handle of agent stands for: the text of a result, or what a jq
// program makes of it, of a string what it holds. What is gone is called for again if that
// gives the same. Beside an error, which may quote it, NoModel is set as well.
func (t *Tools) Content(ctx context.Context, agent string, h shape.Handle, healer Healer) (content Content, err error) {
	stages, err := t.opts.Shaper.Stages(shape.Narrow{JQ: h.JQ}, "jq", agent)
	if err != nil {
		return Content{}, err
	}
	c := &call{Tools: t, agent: agent, tool: handle, reach: Reach{Healer: healer}}
	defer func() { content.NoModel = c.noModel }()
	d := document{id: h.ID}
	ctx, cancel, question, err := c.readAll(ctx, t.opts.QueryTimeout, h.Block, &d)
	defer cancel()
	switch {
	case err != nil:
		return Content{}, err
	case question != nil:
		return Content{}, &pipeline.Error{Code: pipeline.BadArguments, Text: "cache_id " + string(h.ID) + " is gone, and its tool asks for input when it is called again",
			Hint: "call that tool directly, and use the cache_id of its reply"}
	case d.id != h.ID:
		return Content{}, &pipeline.Error{Code: pipeline.BadArguments, Text: c.healed[0] + ", and gave another result",
			Hint: "look at cache_id " + string(d.id) + " and use that"}
	case h.JQ == "":
		text := d.value.AsText().Data
		return Content{Text: text, Value: jsonIn(text)}, nil
	}
	v, err := stages.Run(ctx, d.value)
	if err != nil {
		return Content{}, err
	}
	switch {
	case len(bytes.TrimSpace(v.Data)) == 0, string(v.Data) == "null":
		return Content{}, &pipeline.Error{Code: pipeline.BadJQ, Text: strings.TrimSuffix("jq: the program gave no data for the argument: "+v.Note, ": ")}
	case v.Data[0] == '"' && v.Kind == pipeline.JSON:
		return Content{Text: jsonscan.AppendUnquoted(nil, v.Data), Value: v.Data}, nil
	}
	return Content{Text: v.Data, Value: jsonIn(v.Data)}, nil
}

// jsonIn is the JSON value that a text is, or nil.
func jsonIn(text []byte) json.RawMessage {
	if text = bytes.TrimSpace(text); jsonscan.Valid(text, jsonscan.MaxDepth-100) { // what is around it nests, too
		return text
	}
	return nil
}
