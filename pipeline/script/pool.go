package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/worker"
)

// Options configures a [Pool].
type Options struct {
	// Worker is that of the processes, which call [Worker]. Workers zero means four, PerAgent
	// two.
	Worker worker.Options
	// Limit bounds the time that a program computes, in which it does not wait for its host.
	// Zero means five seconds.
	Limit time.Duration
	// Whole bounds the time of a run. Zero means ten minutes.
	Whole time.Duration
}

// A Pool runs programs in worker processes. A program is never begun anew once it has called
// or printed anything. It is safe for concurrent use.
type Pool struct {
	*worker.Pool
	opts Options
}

var _ Runner = (*Pool)(nil)

// NewPool returns a pool without a process yet.
func NewPool(opts Options) *Pool {
	opts.Worker.Role = "script"
	if opts.Worker.Workers == 0 {
		opts.Worker.Workers = 4
	}
	if opts.Worker.PerAgent == 0 {
		opts.Worker.PerAgent = 2
	}
	if opts.Limit == 0 {
		opts.Limit = 5 * time.Second
	}
	if opts.Whole == 0 {
		opts.Whole = 10 * time.Minute
	}
	return &Pool{worker.NewPool(opts.Worker), opts}
}

// Run implements [Runner].
func (p *Pool) Run(ctx context.Context, program Program, h Host) (Outcome, error) {
	return p.run(ctx, program, h, false)
}

// Check is an [*Error] for a program that does not compile, with line and column.
func (p *Pool) Check(ctx context.Context, program Program) error {
	_, err := p.run(ctx, program, nil, true)
	return err
}

func (p *Pool) run(ctx context.Context, program Program, h Host, check bool) (Outcome, error) {
	if err := checked(program); err != nil {
		return Outcome{}, err
	}
	data, err := json.Marshal(task{Name: program.name(), Source: program.Source, Arguments: program.Arguments, State: program.State, Limit: p.opts.Limit, Check: check})
	if err != nil {
		return Outcome{}, invalid("%s: arguments and state must be JSON: %v", program.name(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, p.opts.Whole)
	defer cancel()
	asked := &asked{host: h}
	a, err := p.Do(ctx, worker.Task{Agent: program.Agent, Data: data, Head: []byte(program.name()), Host: asked, Limit: p.opts.Limit})
	out := Outcome{Printed: asked.printed}
	if err != nil {
		return out, p.stopped(program, err)
	}
	var e ending
	if err := json.Unmarshal(a.Data, &e); err != nil {
		return out, fmt.Errorf("script: what the worker answers: %w", err)
	}
	out.Value, out.State = e.Value, e.State
	return out, nil
}

// name is what errors call the program.
func (p Program) name() string {
	if p.Name == "" {
		return "program"
	}
	return p.Name
}

// checked refuses what is too large, or not for this runner.
func checked(p Program) error {
	switch {
	case len(p.Source) > maxSourceBytes:
		return invalid("%s: %s bytes; %s are allowed", p.name(), show.Count(len(p.Source)), show.Count(maxSourceBytes))
	case len(p.Arguments) > maxArgumentBytes:
		return invalid("%s: arguments of %s bytes; %s are allowed", p.name(), show.Count(len(p.Arguments)), show.Count(maxArgumentBytes))
	case len(p.State) > 2*maxStateBytes:
		return invalid("%s: state of %s bytes; %s are allowed", p.name(), show.Count(len(p.State)), show.Count(maxStateBytes))
	case len(p.Packages) > 0:
		return invalid("%s: packages are for programs that run in a container", p.name())
	}
	return nil
}

func invalid(format string, args ...any) *Error {
	return &Error{Code: doc.BadProgram, Text: fmt.Sprintf(format, args...)}
}

// stopped says of a program that was stopped why, and leaves other errors be.
func (p *Pool) stopped(program Program, err error) error {
	var s *worker.StoppedError
	if !errors.As(err, &s) {
		return err
	}
	e := &Error{Code: doc.LimitTime, Err: err}
	switch s.Reason {
	case worker.Crowded:
		e.Text, e.Hint = "the time limit passed while other programs ran", "try again later"
	case worker.Time:
		e.Text, e.Hint = lateText(p.opts.Limit)+", within a built-in function", lateHint
		if errors.Is(err, context.DeadlineExceeded) {
			e.Text, e.Hint = fmt.Sprintf("the program ran for longer than %v, calls included", p.opts.Whole), "do it in several programs; state keeps what one has for the next"
		}
	case worker.Room:
		e.Text, e.Hint = "the program had a minute and made room for another agent's", "do it in several programs; state keeps what one has for the next"
	case worker.Memory:
		e.Code, e.Text, e.Hint = doc.LimitMemory, fmt.Sprintf("the program took more than %d MiB of memory", s.MaxBytes>>20), memoryHint
	case worker.Stack:
		e.Code, e.Text, e.Hint = doc.LimitMemory, "the program nests or recurses too deeply", "use loops, and flat values"
	default:
		e.Code, e.Text, e.Hint = doc.BadProgram, "the worker ended while it ran the program", "write it differently, or have it do less"
	}
	if s.Reason != worker.Crowded {
		e.Hint += "; calls that it made are made"
	}
	e.Text = program.name() + ": " + e.Text
	return e
}

// asked is the host of a program, as the worker's task knows it.
type asked struct {
	host    Host
	printed []byte
}

// Tell implements [worker.Host]: what is told was printed.
func (a *asked) Tell(said []byte) {
	if room := 2*maxPrintedBytes - len(a.printed); room > 0 { // the worker has a bound, unless something is wrong with it
		a.printed = append(a.printed, said[:min(room, len(said))]...)
	}
}

// Ask implements [worker.Host].
func (a *asked) Ask(ctx context.Context, raw []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(raw, &q); err != nil || a.host == nil {
		return nil, fmt.Errorf("script: what the worker asks cannot be read: %v", err)
	}
	value, err := a.host.Call(ctx, q.Function, q.Arguments)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r := reply{Value: value}
	switch e := (*Error)(nil); {
	case errors.As(err, &e):
		r = reply{Error: e.Text, Code: e.Code}
		if e.Hint != "" {
			r.Error += " (" + e.Hint + ")"
		}
	case err != nil:
		r = reply{Error: err.Error()}
	case value != nil && !jsonscan.Valid(value, jsonscan.MaxDepth):
		return nil, fmt.Errorf("script: the host answers %s with what is no JSON", q.Function)
	}
	return json.Marshal(r)
}
