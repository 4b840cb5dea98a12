package rpc

import (
	"encoding/json"
	"errors"
	"sync"

	"rlmproxy/jsonscan"
)

// maxProgress is how many reports may wait for whoever asked for them; then the
// oldest are dropped, since each one replaces the last.
const maxProgress = 16

// A progressFeed hands the reports on one call to whoever made it, one after the
// other.
type progressFeed struct {
	done chan struct{} // closed when all have been handed out

	mu      sync.Mutex // guards the fields below
	reports chan json.RawMessage
	ended   bool
}

func newProgressFeed(f func(params json.RawMessage)) *progressFeed {
	p := &progressFeed{done: make(chan struct{}), reports: make(chan json.RawMessage, maxProgress)}
	go func() {
		defer close(p.done)
		for params := range p.reports {
			f(params)
		}
	}()
	return p
}

// add queues a report. It does not block.
func (p *progressFeed) add(params json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if len(p.reports) == cap(p.reports) {
		select {
		case <-p.reports:
		default: // one was just taken
		}
	}
	p.reports <- append(json.RawMessage(nil), params...) // there is room: nobody else sends
}

// end takes no more reports, and returns when those that wait have been handed out.
func (p *progressFeed) end() {
	p.mu.Lock()
	p.ended = true
	close(p.reports)
	p.mu.Unlock()
	<-p.done
}

// ProgressToken is the token in a request's params, nil if it has none.
func ProgressToken(params json.RawMessage) json.RawMessage {
	token := jsonscan.Member(jsonscan.Member(params, "_meta"), "progressToken")
	if len(token) == 0 || token[0] == 'n' {
		return nil
	}
	return token
}

// WithProgressToken returns params, an object or nil, with another token in their
// _meta. All else keeps its bytes.
func WithProgressToken(params, token json.RawMessage) (json.RawMessage, error) {
	return withMember(params, "_meta", func(meta json.RawMessage) (json.RawMessage, error) {
		return WithToken(meta, token)
	})
}

// WithToken returns the params of a progress notification, or a _meta, with another
// token. All else keeps its bytes.
func WithToken(params, token json.RawMessage) (json.RawMessage, error) {
	return withMember(params, "progressToken", func(json.RawMessage) (json.RawMessage, error) { return token, nil })
}

// withMember returns object, or an empty one in place of what is none, with its member
// key as f returns it, where it stands or else last. f gets nil for one that is absent.
func withMember(object json.RawMessage, key string, f func(json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	if len(object) == 0 || object[0] != '{' {
		object = json.RawMessage("{}")
	}
	found := false
	var failed error
	out, err := jsonscan.Rewrite(object, func(k string, v json.RawMessage) json.RawMessage {
		if k != key {
			return v
		}
		found = true
		v, err := f(v)
		failed = errors.Join(failed, err)
		return v
	})
	if err = errors.Join(err, failed); err != nil || found {
		return out, err
	}
	value, err := f(nil)
	if err != nil {
		return nil, err
	}
	return jsonscan.With(out, key, value), nil
}
