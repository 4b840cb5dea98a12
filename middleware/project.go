package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"rlmproxy/cache"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/tokens"
)

// project narrows a result as its tool's policy says, and reports false where
// that does not apply or saves nothing: then the result is shaped as any other.
// The whole result is cached; what is left of it, if that is still over the
// limit, under an id of its own.
func (s *Server) project(agent string, origin cache.Origin, r *result, p Policy, lim limit) (json.RawMessage, bool) {
	if len(r.docs) != 1 || r.docs[0].blob != "" {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.QueryTimeout)
	defer cancel()
	standing := narrowing{p.Fields, p.Exclude, p.JQ}
	stages, err := standing.stages(origin.Tool, s.opts.JQ, agent)
	var v pipeline.Value
	if err == nil {
		v, err = stages.Run(ctx, pipeline.Recognise(r.docs[0].text, nil))
	}
	if err != nil {
		s.logger.Warn("the tool's standing projection does not apply", "tool", origin.Tool, "error", err)
		return nil, false
	}
	total, _ := r.tokens()
	n, _ := tokens.Count(v.Data)
	if n+firstTokens >= total {
		return nil, false // it saves nothing, and need not be kept
	}
	id, err := s.opts.Store.Put(agent, origin, r.raw)
	if err != nil {
		return nil, false
	}
	text := append(firstLine(id, n, total, " · fields chosen by the operator"), notes(found{}, v)...)
	text = append(text, v.Data...)
	if shown, _ := tokens.Count(text); shown >= total {
		return nil, false
	} else if !lim.fits(text) {
		out, err := s.cutProjection(agent, origin, r, v, id, n, lim)
		return out, err == nil && out != nil
	}
	out, err := reply{
		text: text, others: r.others(), meta: r.meta, key: metaResult,
		facts: facts{CacheID: id, Tokens: total, ShownTokens: n, Items: v.Total, ShownItems: v.Items},
	}.encode()
	return out, err == nil
}

// firstTokens is what the first line of a projection costs at least.
const firstTokens = 30

// cutProjection cuts v, which the operator's choice left of r, and returns nil
// if the limit has no room for that. whole is the id of r.
func (s *Server) cutProjection(agent string, origin cache.Origin, r *result, v pipeline.Value, whole cache.ID, total int, lim limit) (json.RawMessage, error) {
	left, err := derived(v.Data, fmt.Sprintf("[fields chosen by the operator; the whole result: cache_id=%s]\n", whole)+notes(found{}, v))
	if err != nil {
		return nil, err
	}
	left.meta = r.meta
	left.blocks = append(left.blocks, r.others()...)
	out, err := s.cut(agent, origin, left, total, lim)
	if bytes.Equal(out, left.raw) {
		return nil, err // it would look whole
	}
	return out, err
}
