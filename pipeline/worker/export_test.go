package worker

import (
	"os"
	"slices"
)

// What tests in package worker_test look at.

type Child = child

const SlowTime = slowTime

// ChildOf returns the worker that agent used last, or nil.
func (p *Pool) ChildOf(agent string) *child {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if s.agent == agent && s.child != nil {
			return s.child
		}
	}
	return nil
}

func (p *Pool) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

func (w *child) Pid() int                { return w.cmd.Process.Pid }
func (w *child) Exited() <-chan struct{} { return w.exited }
func (w *child) State() *os.ProcessState { return w.cmd.ProcessState }
func (w *child) Kill()                   { _ = w.cmd.Process.Kill() }
func (w *child) Keeps(keys ...Key) bool {
	return !slices.ContainsFunc(keys, func(k Key) bool { return !w.holds[k] })
}
