package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"rlmproxy/pipeline"
)

// maxIDs is how many results a program may join.
const maxIDs = 20

// joined answers a proxy_filter over several results: a jq program whose input is the
// array of them.
func (c *call) joined(ctx context.Context, f *filter, stages pipeline.Pipeline) (json.RawMessage, error) {
	switch {
	case f.source.cacheID != "" || f.source.tool != "":
		return nil, misused(c.tool, "give cache_ids, or cache_id or tool, not both")
	case f.narrow.JQ == "":
		return nil, misused(c.tool, "cache_ids needs jq, which gets the array of these results")
	case len(f.ids) > maxIDs:
		return nil, misused(c.tool, "%d cache_ids; %d are allowed", len(f.ids), maxIDs)
	}
	if err := f.check(stages); err != nil {
		return nil, err
	}
	var docs []*document
	for _, id := range f.ids {
		docs = append(docs, &document{id: bareID(id)})
	}
	ctx, cancel, done, err := c.readAll(ctx, c.opts.QueryTimeout, f.source.block, docs...)
	defer cancel()
	if err != nil || done != nil {
		return done, err
	}
	var values []pipeline.Value
	for _, d := range docs {
		values = append(values, d.value)
	}
	d := document{note: fmt.Sprintf("%d results joined", len(docs))}
	if d.value, err = pipeline.Join(ctx, values); err != nil {
		return nil, err
	}
	return c.shown(ctx, f, stages, &d)
}
