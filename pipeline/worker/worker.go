// Package worker runs work of strangers in processes of this binary.
//
//	Task ─► Pool ─► a free worker process ─► Answer
//	          │        └► key → what its [Language] keeps, for the next task
//	          └► Host: what a task asks for while it runs
//
// A task may take any time and memory, and may overflow the stack, which no Go program
// survives. Its process has a ceiling of memory, and is killed at the deadline: what a task does
// costs itself and, at worst, what its worker has kept. What a task is, packages pipeline/jq and
// pipeline/script know. Sizes are bytes.
package worker

import (
	"context"
	"fmt"
	"time"

	"rlmproxy/pipeline/doc"
)

// A Task is something to do for an agent.
type Task struct {
	// Agent is whose it is. Agents take turns.
	Agent string
	// Key names what the worker may keep of Data, among the agent's: the same key, the same
	// data. Empty: nothing is kept.
	Key  string
	Data []byte // not sent to a worker that has kept it
	Head []byte // what is to be done with it, in the language's own form
	// Host does what the task asks for. Nil: it may ask for nothing.
	Host Host
	// Limit bounds the time that it takes, without the time in which it waits for its Host: it
	// is told, and killed if it goes on for as long again and a second. Zero: only ctx does.
	Limit time.Duration
}

// An Answer is what became of a task.
type Answer struct {
	Head []byte // short, in the language's own form
	Data []byte
}

// A Host does what a task asks for. It is called by one goroutine at a time.
type Host interface {
	// Ask answers a question. An error ends the task, and is that of [Pool.Do].
	Ask(ctx context.Context, question []byte) ([]byte, error)
	// Tell hears what the task says. It must not block.
	Tell(said []byte)
}

// A Reason is why a task was stopped.
type Reason int

const (
	Crowded Reason = iota + 1 // its time passed before a worker was free
	Time                      // its time passed
	Memory                    // it reached the ceiling of memory
	Stack                     // it reached that of the stack
	Room                      // it made room for another agent's task, after it had asked for something
	Broken                    // its worker ended, twice if it had not asked for anything
)

// A StoppedError says why a task was stopped that has no answer.
type StoppedError struct {
	Reason   Reason
	MaxBytes int64 // the ceiling of memory
	Err      error // the cause, or nil
}

func (e *StoppedError) Error() string { return fmt.Sprintf("task stopped (%d): %v", e.Reason, e.Err) }

func (e *StoppedError) Unwrap() error { return e.Err }

// A Key names what a worker keeps.
type Key struct{ Agent, Key string }

// A Language does tasks, in a worker process.
type Language interface {
	// Do does one task. Its error goes to who gave it, without its cause.
	Do(w *Work) (Answer, *doc.Error)
	// Holds is what is kept.
	Holds() []Key
	// Forget drops what is kept of an agent. No task runs.
	Forget(agent string)
	// Relieve is called once while a task runs, concurrently, when memory is short.
	Relieve()
	// Late is called once while a task runs, concurrently, when its Limit has passed.
	Late()
}

// Work is a task, in its worker.
type Work struct {
	Key    Key
	Head   []byte
	Data   []byte
	Loaded bool // Data is there; else it is kept under Key

	process *process
}
