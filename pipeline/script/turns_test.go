package script

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/worker"
)

// TestTwoOfAnAgent: of an agent's programs two run at a time, whatever they wait for; another's
// begin meanwhile.
func TestTwoOfAnAgent(t *testing.T) {
	p := newPool(t, Options{})
	begun, goOn := make(chan string, 10), make(chan struct{})
	host := &fakeHost{answer: func(_ context.Context, _ string, args []json.RawMessage) (json.RawMessage, error) {
		begun <- string(args[0])
		<-goOn
		return nil, nil
	}}
	ended := make(chan error, 10)
	run := func(agent string) {
		go func() {
			_, err := p.Run(t.Context(), Program{Agent: agent, Source: "call('" + agent + "')"}, host)
			ended <- err
		}()
	}
	for range 4 {
		run("a")
	}
	first := <-begun + <-begun
	run("b")
	run("b")
	if all := first + <-begun + <-begun; all != `"a""a""b""b"` {
		t.Errorf("begun: %s", all)
	}
	close(goOn)
	for range 6 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestStopped: what a program hears of why it ended, in its agent's words.
func TestStopped(t *testing.T) {
	p := newPool(t, Options{})
	for reason, want := range map[worker.Reason]string{
		worker.Room:    "had a minute and made room for another agent's",
		worker.Crowded: "passed while other programs ran",
		worker.Stack:   "nests or recurses too deeply",
		worker.Broken:  "the worker ended while it ran",
	} {
		var e *Error
		err := p.stopped(Program{}, &worker.StoppedError{Reason: reason, Err: errors.New("pid 17")})
		if !errors.As(err, &e) || !strings.Contains(e.Text, want) || strings.Contains(e.Text+e.Hint, "17") || (reason != worker.Crowded) != strings.Contains(e.Hint, "calls that it made are made") {
			t.Errorf("%d: %v", reason, err)
		}
		if reason == worker.Room && e.Code != doc.LimitTime {
			t.Errorf("its code is %s", e.Code)
		}
	}
}
