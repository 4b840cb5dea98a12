package upstream

import "sync"

// tasks are the goroutines of a link. The zero value is ready to use.
type tasks struct {
	mu    sync.Mutex // guards the field below
	ended bool       // nothing is added to wg any more
	wg    sync.WaitGroup
}

// Go runs f in a goroutine that end waits for, and reports false if end has been
// called.
func (t *tasks) Go(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.wg.Go(f)
	}
	return !t.ended
}

// end waits for what runs. It may be called more than once.
func (t *tasks) end() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.wg.Wait()
}
