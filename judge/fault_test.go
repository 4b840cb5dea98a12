package judge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"rlmproxy/judge"
)

// A faulty model has a fault of ours.
type faulty struct{}

func (faulty) ID() string { return "faulty" }

func (faulty) Complete(context.Context, judge.Prompt) (judge.Completion, error) { panic("secret") }

// TestPanic: a fault of ours in a prompt ends the question, and neither the proxy nor those that
// wait for what it put aside.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items, _ := complaints(4)
		j := judge.New(judge.Options{Together: 1, Budget: judge.Budget{Tokens: 1000}})
		var f *judge.Failure
		if _, err := j.Ask(t.Context(), "a", faulty{}, question, items, nil); !errors.As(err, &f) || !f.Final || strings.Contains(err.Error(), "secret") {
			t.Errorf("of the model: %v", err)
		}
		r, err := j.Ask(t.Context(), "a", newLocal(about), question, items, func(int) { panic("secret") })
		if err != nil || r.Stopped == "" || strings.Contains(r.Stopped, "secret") || r.Judged == 0 {
			t.Errorf("of who hears of progress: %+v, %v", report(r), err)
		}
	})
}
