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
	return c.opts.Shaper.Answer(c.agent, origin, shape.Answer{Header: header, Value: v, Source: d.id, Printed: c.tool != "proxy_filter"})
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
