package shape

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"rlmproxy/cache"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/changes"
	"rlmproxy/pipeline/show"
)

// A Seen remembers what one session was shown of results over the limit, for as long as
// it is likely to have that before it. It is safe for concurrent use; a nil Seen remembers
// nothing.
type Seen struct {
	// Memory, if not nil, is where replicas remember it together.
	Memory Memory

	mu      sync.Mutex // guards the fields below
	replies int
	last    []Sight // the latest last
	missed  int     // replies that Memory has not heard of
}

// A Memory remembers what a session was shown by several replicas.
type Memory interface {
	// Note counts that many replies, of which the last showed some of the result id, or of none
	// if that is empty.
	Note(replies int, id cache.ID) error
	// Recall returns how many replies there were, and those of the last Recent that showed
	// some of a result, the latest last.
	Recall() (replies int, last []Sight, err error)
}

// A Sight is a reply that showed some of a kept result.
type Sight struct {
	ID    cache.ID
	Reply int // its number
}

// Recent is how many replies back a session is taken to know.
const Recent = 20

// Note counts a reply, which showed some of the result id. An empty id is no such reply.
func (s *Seen) Note(id cache.ID) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Memory != nil {
		s.missed++
		if s.Memory.Note(s.missed, id) == nil {
			s.missed = 0
		}
		return
	}
	s.replies++
	s.last = slices.DeleteFunc(s.last, func(x Sight) bool { return x.ID == id || s.replies-x.Reply >= Recent })
	if id != "" {
		s.last = append(s.last, Sight{id, s.replies})
	}
}

// recall returns how many replies ago id was shown, 0 if it was not, and the other results
// that were shown, the latest first.
func (s *Seen) recall(id cache.ID) (ago int, others []cache.ID) {
	if s == nil {
		return 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Memory != nil {
		var err error
		if s.replies, s.last, err = s.Memory.Recall(); err != nil {
			return 0, nil // then each reply stands for itself
		}
		s.replies += s.missed
	}
	for _, x := range slices.Backward(s.last) {
		if x.ID == id {
			ago = s.replies + 1 - x.Reply
		} else {
			others = append(others, x.ID)
		}
	}
	return ago, others
}

// maxCompared is with how many earlier results one is compared.
const maxCompared = 4

// again returns the reply for a result that the session was shown before, and for one that
// is nearly such a result: what has changed, if that is within the limit and a third of the
// whole. It returns nil for any other.
func (s *Shaper) again(agent string, origin cache.Origin, docs *Documents, seen *Seen, total int, lim limit) *reply {
	if seen == nil {
		return nil
	}
	kept, err := s.keep(agent, origin, docs)
	if err != nil {
		return nil
	}
	ago, others := seen.recall(kept.ID)
	if ago > 0 {
		text := fmt.Appendf(nil, "[cut: ~0 of ~%s tokens shown · the same as %s ago; proxy_explore shows it · cache_id=%s]\n", show.Count(total), show.Plural(ago, "replies"), kept.ID)
		return s.shorter(docs, text, kept.ID, total, lim)
	}
	only, ok := docs.only()
	if !ok {
		return nil
	}
	for _, id := range others[:min(len(others), maxCompared)] {
		old, ok := s.shown(agent, id)
		if !ok || len(old.Data) > 2*len(only.Text) || len(only.Text) > 2*len(old.Data) {
			continue
		}
		c := changes.Between(context.Background(), old, kept.Value(only))
		if c == nil {
			continue
		}
		body := c.String()
		what := show.Plural(len(c.All), "places")
		if c.Reindented > 0 {
			what += fmt.Sprintf(", and %s reindented", show.Plural(c.Reindented, "lines"))
		}
		text := fmt.Appendf(nil, "[cut: ~%s of ~%s tokens shown · what changed since cache_id=%s: %s · cache_id=%s]\n%s",
			show.Count(count([]byte(body))), show.Count(total), id, what, kept.ID, body)
		if r := s.shorter(docs, text, kept.ID, total, limit{tokens: min(lim.tokens, total/3)}); r != nil {
			return r
		}
	}
	return nil
}

// shorter is a reply of text, nil if that is over the limit or no shorter than all.
func (s *Shaper) shorter(docs *Documents, text []byte, id cache.ID, total int, lim limit) *reply {
	n := count(text)
	if n >= total || !lim.fits(text) {
		return nil
	}
	return &reply{text, docs.others(), Facts{CacheID: id, Tokens: total, ShownTokens: n}}
}

// shown is the only text of a result that the cache keeps.
func (s *Shaper) shown(agent string, id cache.ID) (pipeline.Value, bool) {
	entry, err := s.opts.Store.Get(agent, id)
	if err != nil {
		return pipeline.Value{}, false
	}
	c, err := s.open(agent, id, entry)
	if err != nil {
		return pipeline.Value{}, false
	}
	only, ok := c.only()
	if !ok {
		return pipeline.Value{}, false
	}
	return c.Value(only), true
}
