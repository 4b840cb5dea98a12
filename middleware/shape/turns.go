package shape

import (
	"context"
	"errors"

	"rlmproxy/middleware/guard"
	"rlmproxy/pipeline"
)

// Turn waits until the call that ctx is of may work on n bytes: only so many
// large answers are worked on at one time, and turns go round the agents.
func Turn(ctx context.Context, n int) error {
	err := guard.HoldOf(ctx).Turn(ctx, int64(n))
	if errors.Is(err, context.DeadlineExceeded) {
		return &pipeline.Error{Code: pipeline.LimitTime, Err: err,
			Text: "the time limit passed while other calls worked on large results",
			Hint: "send such calls one after another"}
	}
	return err
}

// A workerJQ is a jq stage. Its program runs in another process: meanwhile other
// calls have their turns.
type workerJQ struct{ *pipeline.JQ }

// Check looks at the syntax only, which is cheap. The worker finds the rest.
func (w workerJQ) Check() error { return w.CheckSyntax() }

func (w workerJQ) Apply(ctx context.Context, in pipeline.Value) (pipeline.Value, error) {
	guard.HoldOf(ctx).Pause()
	out, err := w.JQ.Apply(ctx, in)
	if err == nil {
		err = Turn(ctx, len(out.Data))
	}
	return out, err
}
