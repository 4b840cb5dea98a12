package tools

import (
	"context"

	"rlmproxy/judge"
	"rlmproxy/pipeline"
)

// A Judge asks the sub-model, for one agent and within its budgets.
type Judge interface {
	// Ask has the question answered for each item, and tells the client how far it is. Items
	// that have no answer are in the report; the error says that nothing could be asked.
	Ask(ctx context.Context, q judge.Question, items []string) (*judge.Report, error)
}

// judgeItems asks the sub-model about items, unless the call has read what the operator keeps
// from it: an item may be made of that.
func (c *call) judgeItems(ctx context.Context, q judge.Question, items []string) (*judge.Report, error) {
	switch {
	case c.reach.Judge == nil:
		return nil, off("the sub-model", "subModel")
	case c.noModel:
		return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: c.tool + `: the operator keeps this result from the sub-model ("subModel": false)`,
			Hint: "read it with proxy_filter or proxy_search"}
	}
	return c.reach.Judge.Ask(ctx, q, items)
}

// Judges reports whether a tool of ours may ask the sub-model, and so the client, while it works.
func Judges(name string) bool { return name == "proxy_ask" }
