package tools

import (
	"cmp"
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

// run answers with what stages make of the source.
func (c *call) run(ctx context.Context, src *source, stages pipeline.Pipeline, timeout time.Duration) (json.RawMessage, error) {
	if err := check(src, stages); err != nil {
		return nil, err
	}
	d, done, err := c.open(ctx, src)
	if err != nil || done != nil {
		return done, err
	}
	done, err = c.query(ctx, &d, src, stages, timeout)
	return done, c.hinted(&d, err)
}

// check is an error for settings that no document makes right. What is wrong with a
// program is told better with the document at hand, but no tool is called for it.
func check(src *source, stages pipeline.Pipeline) error {
	err := stages.Check()
	var e *pipeline.Error
	if src.tool == "" && errors.As(err, &e) && e.Code == pipeline.BadJQ {
		return nil
	}
	return err
}

// query answers with what stages make of an open document.
func (c *call) query(ctx context.Context, d *document, src *source, stages pipeline.Pipeline, timeout time.Duration) (json.RawMessage, error) {
	ctx, cancel, done, err := c.readAll(ctx, timeout, src.block, d)
	defer cancel()
	if err != nil || done != nil {
		return done, err
	}
	v, err := stages.Run(ctx, d.value)
	if err != nil {
		return nil, err
	}
	return c.reply(d, c.header(d, v, c.tool == "proxy_search"), v, false)
}

// reply answers with v below a header, whole if that is wanted.
func (c *call) reply(d *document, header string, v pipeline.Value, whole bool) (json.RawMessage, error) {
	return c.opts.Shaper.Answer(c.agent, c.origin(d, c.arguments), shape.Answer{Header: header, Value: v, Source: cmp.Or(d.kept, d.id), Printed: c.tool != "proxy_filter", Whole: whole})
}

// origin is what the cache names as the call behind what is kept of an answer.
func (c *call) origin(d *document, arguments json.RawMessage) cache.Origin {
	return cache.Origin{Tool: c.tool, Arguments: arguments, ReadOnly: !d.fresh || d.origin.ReadOnly, NoModel: c.noModel, Terms: c.terms}
}

// header says what an answer is a part of, if it is one, and where a fresh call's
// result is, and what was called again. A search says itself how much it shows, in its
// first line.
func (c *call) header(d *document, v pipeline.Value, searched bool) string {
	var said []string
	if v.Items != v.Total && !searched {
		said = append(said, fmt.Sprintf("%s of %s %s", show.Count(v.Items), show.Count(v.Total), v.Unit))
	}
	if d.fresh {
		said = append(said, "cache_id="+string(d.id))
	}
	if d.kept != "" {
		said = append(said, keptAs+string(d.kept))
	}
	return shape.Notes(append([]string{strings.Join(said, " · "), d.note, v.Note}, c.healed...)...)
}

// hinted adds to an error without a hint the call that shows what is there. Behind a fresh
// call it says where the result is, which need not be called for again, and of what was
// gone that it is there again.
func (c *call) hinted(d *document, err error) error {
	var e *pipeline.Error
	switch {
	case errors.As(err, &e):
	case d.fresh && errors.Is(err, context.DeadlineExceeded):
		e = &pipeline.Error{Code: pipeline.LimitTime, Err: err, Text: "the time limit passed before the query was done",
			Hint: "narrow first, with fields, jq or offset and limit"}
	default:
		return err
	}
	out := *e
	if c.healed != nil {
		out.Text = strings.Join(append([]string{out.Text}, c.healed...), "; ")
	}
	if out.Hint == "" {
		out.Hint = fmt.Sprintf(`proxy_explore {"cache_id":%q} shows what is there`, d.id)
	}
	if d.fresh {
		out.Hint += fmt.Sprintf(`; the result is kept: give "cache_id":%q in place of tool and arguments`, d.id)
		if !d.origin.ReadOnly {
			out.Hint += "; " + shape.ActsAgain(d.origin.Tool)
		}
	}
	return &out
}
