// Package container runs programs in JavaScript with Node.js, each in a container of podman or
// docker of its own.
//
//	Program ─► Engine ─► turn ─► packages, once ─► container ─► Outcome
//	                                                  └► Host: by lines of JSON, over its stdin and stdout
//
// A program is the body of an async function: what it returns is its value. It has no network,
// nothing of this machine but its packages, which it cannot write to, and bounds of memory, CPU,
// processes and time. The functions of its host return promises. Packages of npm are installed in a
// container that has the network, and nothing else of this machine either.
package container

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/script"
)

// Options configures an [Engine]. The zero value runs programs without packages.
type Options struct {
	// Image has Node.js 20.12 or later, npm, sh and tar. It is fetched when it is not there. Empty
	// means docker.io/library/node:22-slim.
	Image string
	// Dir keeps installed packages. Empty: programs that want some are refused.
	Dir string
	// Memory of a container, in bytes. Zero means 256 MiB.
	Memory int64
	// Compute bounds the seconds of CPU that a program's process may take, in whole seconds. Zero
	// means a minute.
	Compute time.Duration
	// Timeout bounds a run, with the time in which the program waits for its host, but without that
	// for a turn or for packages. Zero means 10 minutes.
	Timeout time.Duration
	// Runs are how many programs run at a time; of one agent, half as many. Zero means 4.
	Runs int
	// MaxPackageBytes bounds what one program's packages take when installed, and eight times of it
	// all of Dir. Zero means 256 MiB.
	MaxPackageBytes int64
	// Logger receives what the operator should know. Nil discards it.
	Logger *slog.Logger
}

// An Engine runs programs. It is safe for concurrent use.
type Engine struct {
	opts  Options
	turns *turns

	installing chan struct{} // has room for one

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu        sync.Mutex // guards the fields below
	closed    bool
	work      sync.WaitGroup
	preparing *preparation // nil: not begun, or to be begun anew
}

var _ script.Runner = (*Engine)(nil)

// New returns an engine that looks for podman and docker when it first needs one. Containers that
// proxies have left on this machine, whose processes have ended, are removed in the background.
func New(opts Options) *Engine {
	if opts.Image == "" {
		opts.Image = "docker.io/library/node:22-slim"
	}
	if opts.Memory == 0 {
		opts.Memory = 256 << 20
	}
	if opts.Compute == 0 {
		opts.Compute = time.Minute
	}
	if opts.Timeout == 0 {
		opts.Timeout = 10 * time.Minute
	}
	if opts.Runs == 0 {
		opts.Runs = 4
	}
	if opts.MaxPackageBytes == 0 {
		opts.MaxPackageBytes = 256 << 20
	}
	if opts.Dir != "" {
		if dir, err := filepath.Abs(opts.Dir); err == nil { // another path would be a volume's name
			opts.Dir = dir
		}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{opts: opts, turns: newTurns(opts.Runs, max(opts.Runs/2, 1)), installing: make(chan struct{}, 1)}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	if e.wasUsed() {
		e.work.Go(e.removeOrphans)
	}
	return e
}

// ErrClosed is the error of a closed engine.
var ErrClosed = errors.New("container: the engine is closed")

// begin joins ctx to the life of e. end must be called.
func (e *Engine) begin(ctx context.Context) (joined context.Context, end func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, nil, ErrClosed
	}
	e.work.Add(1)
	joined, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(e.ctx, cancel)
	return joined, func() {
		stop()
		cancel()
		e.work.Done()
	}, nil
}

// Close ends all programs, and returns when their containers have ended.
func (e *Engine) Close() {
	if e == nil {
		return
	}
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	e.work.Wait()
}

// Unavailable is the code of an error that only the operator can repair.
const Unavailable = "container_unavailable"

func unavailable(text string, err error) error {
	hint := "tell the operator: tools with engine container need podman or docker, with an image that has Node.js (containerImage)"
	if runtime.GOOS != "linux" {
		hint += ", and its virtual machine running"
	}
	return &script.Error{Code: Unavailable, Text: text, Hint: hint, Err: err}
}

// limited makes the end of ctx an error of the program's, if it was a deadline.
func limited(ctx context.Context, text string) error {
	err := ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		return &script.Error{Code: doc.LimitTime, Text: text, Err: err}
	}
	return err
}
