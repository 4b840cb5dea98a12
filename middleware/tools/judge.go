package tools

import (
	"context"
	"errors"

	"rlmproxy/judge"
	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// A Judge asks the sub-model, for one agent and within its budgets.
type Judge interface {
	// Ask has the question answered for each item, and tells the client how far it is. Items
	// that have no answer are in the report; the error says that nothing could be asked.
	Ask(ctx context.Context, q judge.Question, items []string) (*judge.Report, error)
}

// codeModelAway is that of an error for a sub-model that cannot be asked.
const codeModelAway = "model_unavailable"

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
	report, err := c.reach.Judge.Ask(ctx, q, items)
	var question *judge.QuestionError
	var failure *judge.Failure
	switch {
	case errors.As(err, &question):
		return nil, &pipeline.Error{Code: pipeline.BadArguments, Text: c.tool + ": " + question.Text}
	case errors.As(err, &failure):
		return nil, &pipeline.Error{Code: codeModelAway, Text: "the sub-model does not answer: " + frame.OneLine(show.Clip(failure.Text, 400)),
			Hint: "what was judged is kept, so the same call may go on later; without it, use proxy_filter or proxy_search"}
	}
	return report, err
}

// Judges reports whether a tool of ours may ask the sub-model, and so the client, while it works.
func Judges(name string) bool { return name == "proxy_ask" || name == "proxy_run" }
