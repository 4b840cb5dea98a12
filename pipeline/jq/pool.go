package jq

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/worker"
)

// A Query is a program and what it is for.
type Query struct {
	// Agent is whose it is. No agent has all workers at a time.
	Agent string
	// Key names the document among the agent's: the same key, the same Kind
	// and Data. Empty: the tree is not kept.
	Key     string
	Kind    Kind
	Data    []byte
	Program string
}

// A Pool runs programs in worker processes, which call [Worker] and keep the trees of documents
// for later programs. It is safe for concurrent use.
type Pool struct{ *worker.Pool }

// NewPool returns a pool without a process yet.
func NewPool(opts worker.Options) *Pool {
	opts.Role = "jq"
	return &Pool{worker.NewPool(opts)}
}

// Run runs q. It returns soon after the end of ctx, for the worker is killed then;
// an expired deadline is an [*Error] with code limit_time, as are a program that
// does not compile or fails, bad_jq, and one that needs too much memory or stack,
// limit_memory. Other errors are that of a cancelled ctx, [worker.ErrClosed], and ours.
func (p *Pool) Run(ctx context.Context, q Query) (Output, error) {
	if err := checkSize(q.Program); err != nil {
		return Output{}, err
	}
	a, err := p.Do(ctx, worker.Task{Agent: q.Agent, Key: q.Key, Data: q.Data, Head: append([]byte{byte(q.Kind)}, q.Program...)})
	if err != nil {
		return Output{}, stopped(err)
	}
	n, err := strconv.Atoi(string(a.Head))
	if err != nil {
		return Output{}, fmt.Errorf("jq: what the worker answers: %w", err)
	}
	return Output{a.Data, n}, nil
}

// stopped says of a program that was stopped why, and leaves other errors be.
func stopped(err error) error {
	var s *worker.StoppedError
	if !errors.As(err, &s) {
		return err
	}
	switch s.Reason {
	case worker.Crowded:
		return &Error{Code: doc.LimitTime, Text: "jq: the time limit passed while other programs ran", Hint: "try again, one program at a time", Err: err}
	case worker.Time:
		return ended(context.DeadlineExceeded)
	case worker.Memory:
		return &Error{Code: doc.LimitMemory, Text: fmt.Sprintf("jq: document and program took more than %d MiB of memory", s.MaxBytes>>20),
			Hint: "select fewer records and fields first, and output less; fields, offset and limit, and proxy_search take less memory", Err: err}
	case worker.Stack:
		return &Error{Code: doc.LimitMemory, Text: "jq: the program nests or recurses too deeply for its stack",
			Hint: "build flat values; fold with reduce over numbers, or use map, group_by, add", Err: err}
	}
	return &Error{Code: doc.BadJQ, Text: "jq: the worker ended twice while it ran the program", Hint: "write it differently, or select less", Err: err}
}
