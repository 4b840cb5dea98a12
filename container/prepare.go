package container

import (
	"context"
	"fmt"
	"time"

	"rlmproxy/private"
)

// pullTime bounds how long an image may take to be fetched.
const pullTime = 15 * time.Minute

// A preparation finds the program and the image, for all who wait for them.
type preparation struct {
	done    chan struct{} // closed when the fields below are set
	program *program
	err     error
}

// prepared returns the program that runs containers, once the image is there. What has failed is
// tried again by the next call.
func (e *Engine) prepared(ctx context.Context) (*program, error) {
	e.mu.Lock()
	p := e.preparing
	if p == nil && !e.closed {
		p = &preparation{done: make(chan struct{})}
		e.preparing = p
		e.work.Go(func() {
			if p.program, p.err = e.prepare(); p.err != nil {
				e.unprepared(p)
			}
			close(p.done)
		})
	}
	e.mu.Unlock()
	if p == nil {
		return nil, ErrClosed
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, limited(ctx, fmt.Sprintf("the image %s is still being fetched, which goes on: call again later", e.opts.Image))
	}
	if p.err != nil {
		return nil, unavailable(p.err.Error(), p.err)
	}
	return p.program, nil
}

// unprepared has the next call look again, as p does not hold any more. Nil stands for the last one.
func (e *Engine) unprepared(p *preparation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p == nil || e.preparing == p {
		e.preparing = nil
	}
}

func (e *Engine) prepare() (*program, error) {
	p, err := find(e.ctx)
	if err != nil {
		return nil, err
	}
	if e.opts.Dir != "" { // which says, too, that there may be something to remove at the next start
		if err := private.Folder(e.opts.Dir, "could change what programs import"); err != nil {
			return nil, fmt.Errorf("the folder for packages cannot be used: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(e.ctx, commandTime)
	defer cancel()
	if _, err := p.output(ctx, "image", "inspect", "--format", "{{.Id}}", e.opts.Image); err == nil {
		return p, nil
	}
	e.opts.Logger.Info("an image for containers is fetched", "program", p.name, "image", e.opts.Image)
	ctx, cancel = context.WithTimeout(e.ctx, pullTime)
	defer cancel()
	if _, err := p.output(ctx, "pull", "--quiet", e.opts.Image); err != nil {
		return nil, fmt.Errorf("the image %s is not here and cannot be fetched: %w", e.opts.Image, err)
	}
	return p, nil
}
