package judge

import (
	"context"
	"errors"
)

// A Judge asks models. It is safe for concurrent use.
type Judge struct{ opts Options }

// New returns a judge.
func New(opts Options) *Judge { return &Judge{opts} }

// Ask has m answer q about each item. Equal items are asked about once, those that the agent had
// judged before not at all.
//
// Where a budget is spent or ctx ends, the report is of what was judged until then. It is an error
// where nothing could be judged: a question that cannot be asked ([*QuestionError]), or a model that
// cannot be reached or refuses ([*Failure]).
//
// progress, which may be nil, is called with how many of the items are done, by one goroutine at a
// time, with more each time.
func (j *Judge) Ask(ctx context.Context, agent string, m Model, q Question, items []string, progress func(done int)) (*Report, error) {
	return nil, errors.New("not built")
}

// A QuestionError says what is wrong with a question.
type QuestionError struct{ Text string }

func (e *QuestionError) Error() string { return e.Text }

// Check returns what is wrong with a question, or nil.
func (q Question) Check() *QuestionError { return nil }

// Speaks reports whether a text speaks to a model, or of how it should answer.
func Speaks(text string) bool { return false }
