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
		return nil, misused(c.tool, "cache_ids is for jq, whose input is an array of these results")
	case len(f.ids) > maxIDs:
		return nil, misused(c.tool, "%d cache_ids; %d are allowed", len(f.ids), maxIDs)
	}
	if err := f.check(stages); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.QueryTimeout)
	defer cancel()
	var docs []pipeline.Value
	for _, id := range f.ids {
		d := document{id: bareID(id)}
		if err := c.read(ctx, &d, f.source.block); err != nil {
			return nil, err
		}
		docs = append(docs, d.value)
	}
	d := document{note: fmt.Sprintf("%d results joined", len(docs))}
	var err error
	if d.value, err = pipeline.Join(ctx, docs); err != nil {
		return nil, err
	}
	return c.shown(ctx, f, stages, &d)
}
