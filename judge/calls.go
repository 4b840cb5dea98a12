package judge

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"rlmproxy/pipeline/tokens"
)

const (
	// attempts is how often a call is made that fails for what may pass, with a pause from
	// leastPause, doubled each time: 31 seconds in all. No pause is longer than mostPause.
	attempts   = 7
	leastPause = 500 * time.Millisecond
	mostPause  = 2 * time.Minute
)

// complete has the model complete a prompt within the budgets, and again where it fails for what
// may pass. The error is a [*Failure] where this prompt is at fault, [*spent], or why all ends.
func (a *asking) complete(ctx context.Context, p Prompt) (c Completion, err error) {
	input, _ := tokens.Count([]byte(p.System + p.User + string(p.Schema)))
	estimate := input + p.MaxTokens
	for attempt := 1; ; attempt++ {
		if err := a.wait(ctx); err != nil {
			return c, err
		}
		if err := a.purse.take(estimate); err != nil {
			return c, err
		}
		calling, cancel := context.WithTimeout(ctx, a.judge.opts.Timeout)
		c, err = a.try(calling, p)
		late := calling.Err() != nil
		cancel()
		a.mu.Lock()
		a.calls++
		a.mu.Unlock()
		if err == nil {
			output, _ := tokens.Count([]byte(c.Text))
			c.Input, c.Output = usage(c.Input, input), usage(c.Output, output)
			a.mu.Lock()
			a.input += c.Input
			a.output += c.Output
			a.mu.Unlock()
			a.purse.settle(estimate, c.Input+c.Output)
			return c, nil
		}
		a.purse.settle(estimate, 0)
		if ctx.Err() != nil {
			return c, context.Cause(ctx)
		}
		f := failureOf(err, late, a.judge.opts.Timeout)
		a.mu.Lock()
		a.trouble = f.Text
		a.mu.Unlock()
		switch {
		case f.Final:
			a.fail(f)
			return c, f
		case !f.Again:
			return c, f
		case attempt == attempts, !a.later(ctx, attempt, f.Wait):
			a.fail(f)
			return c, f
		}
		a.judge.log.Debug("judge: the model is asked again", "model", a.model.ID(), "error", f.Text)
	}
}

// try is one call of the model, of which a panic is a failure: what was put aside for it comes back.
func (a *asking) try(ctx context.Context, p Prompt) (c Completion, err error) {
	defer func() {
		if f := a.faultOf(recover()); f != nil {
			err = f
		}
	}()
	return a.model.Complete(ctx, p)
}

// usage is a number of tokens that a server says, or where that can be none the estimate.
func usage(said, estimate int) int {
	if said <= 0 || said > 1e8 {
		return estimate
	}
	return said
}

// failureOf is an error of a model as a failure.
func failureOf(err error, late bool, limit time.Duration) *Failure {
	var f *Failure
	switch {
	case errors.As(err, &f):
		return f
	case late:
		return &Failure{Text: "the model did not answer within " + limit.String(), Again: true, Err: err}
	}
	return &Failure{Text: "the model does not answer: " + err.Error(), Again: true, Err: err}
}

// later has all prompts wait, and reports whether that is worth it: not where the time of the
// question ends before, or the model wants a longer pause than anybody waits.
func (a *asking) later(ctx context.Context, attempt int, wait time.Duration) bool {
	pause := leastPause << (attempt - 1)
	pause = max(wait, pause-time.Duration(rand.Int64N(int64(pause/4))))
	if attempt == 1 && wait > 0 {
		pause = wait
	}
	until := time.Now().Add(pause)
	if deadline, ok := ctx.Deadline(); pause > mostPause || ok && until.After(deadline) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if until.After(a.pause) {
		a.pause = until
	}
	return true
}

// wait waits for the end of a pause.
func (a *asking) wait(ctx context.Context) error {
	for {
		a.mu.Lock()
		rest := time.Until(a.pause)
		a.mu.Unlock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if rest <= 0 {
			return nil
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}
