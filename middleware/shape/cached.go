package shape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"rlmproxy/cache"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// A Cached is an answer that the cache keeps for an agent.
type Cached struct {
	*Documents
	ID      cache.ID // empty: it was too large to keep
	NoModel bool     // see [cache.Origin]
	agent   string
	store   Store
}

// keep puts an answer into the cache. The documents are kept beside it, so that
// the first query need not read them again. The error may be [cache.ErrTooLarge].
func (s *Shaper) keep(agent string, origin cache.Origin, docs *Documents) (*Cached, error) {
	if docs.cached != nil {
		return docs.cached, nil
	}
	if docs.twice {
		docs.kept, docs.twice = withoutStructured(docs.kept), false
	}
	id, err := s.opts.Store.Put(agent, origin, docs.kept)
	c := &Cached{docs, id, origin.NoModel, agent, s.opts.Store}
	if err == nil {
		docs.cached = c
		_, _ = c.memo(allBlocks)("documents", func() (any, int64, error) { return docs, docs.bytes(), nil })
	}
	return c, err
}

// Terms are those on which answers are kept now, see [cache.Store.SetTerms].
func (s *Shaper) Terms() string { return s.opts.Store.Terms() }

// Keep puts the result of a tools/call into the cache, at any length.
func (s *Shaper) Keep(agent string, origin cache.Origin, raw json.RawMessage) (cache.ID, error) {
	docs, err := read(raw)
	if err != nil {
		return "", err
	}
	kept, err := s.keep(agent, origin, docs)
	if errors.Is(err, cache.ErrTooLarge) {
		e := tooLarge(err, "the result of "+origin.Tool, len(raw), "call the tool with narrower arguments")
		if !origin.ReadOnly {
			e.Hint = ActsAgain(origin.Tool)
		}
		return "", e
	}
	return kept.ID, err
}

// KeepValue puts what a query found into the cache, at any length, where it is read as any
// result.
func (s *Shaper) KeepValue(agent string, origin cache.Origin, v pipeline.Value) (cache.ID, error) {
	data := plain(v)
	kept, err := s.keep(agent, origin, newText(data))
	if errors.Is(err, cache.ErrTooLarge) {
		return "", tooLarge(err, "the selection", len(data), "select less of it, or leave out keep")
	}
	return kept.ID, err
}

// tooLarge is the error for what does not fit into the cache.
func tooLarge(err error, what string, size int, hint string) *pipeline.Error {
	return &pipeline.Error{Code: pipeline.LimitMemory, Err: err, Text: fmt.Sprintf("%s, %s bytes, is too large to keep", what, show.Count(size)), Hint: hint}
}

// Cached returns what the cache keeps for agent under id. The call waits here for
// its turn to work on it.
func (s *Shaper) Cached(ctx context.Context, agent string, id cache.ID) (*Cached, error) {
	entry, err := s.opts.Store.Get(agent, id)
	if err != nil {
		return nil, explained(err)
	}
	if err := Turn(ctx, len(entry.Data)); err != nil {
		return nil, err
	}
	return s.open(agent, id, entry)
}

// open reads an entry of the cache.
func (s *Shaper) open(agent string, id cache.ID, entry *cache.Entry) (*Cached, error) {
	c := &Cached{ID: id, NoModel: entry.Origin.NoModel, agent: agent, store: s.opts.Store}
	docs, err := c.memo(allBlocks)("documents", func() (any, int64, error) {
		docs, err := read(entry.Data)
		if err != nil {
			return nil, 0, err
		}
		return docs, docs.bytes(), nil
	})
	if err != nil {
		return nil, err
	}
	c.Documents = docs.(*Documents)
	return c, nil
}

// allBlocks stands for the number of a block in what is derived from all of them.
const allBlocks = -1

// memo keeps what is derived from one block of the answer.
func (c *Cached) memo(block int) pipeline.Memo {
	if c.ID == "" {
		return nil
	}
	return func(key string, build func() (any, int64, error)) (any, error) {
		v, err := c.store.Derived(c.agent, c.ID, fmt.Sprintf("%d/%s", block, key), build)
		if errors.Is(err, cache.ErrUnknown) || errors.Is(err, cache.ErrExpired) || errors.Is(err, cache.ErrEvicted) {
			// It went while we worked; we still hold the bytes.
			v, _, err = build()
		}
		return v, err
	}
}

// Value says what a document of the answer is, once for each that the cache keeps.
func (c *Cached) Value(d Document) pipeline.Value {
	memo := c.memo(d.Block)
	if memo == nil {
		return pipeline.Recognise(d.Text, nil)
	}
	build := func() *pipeline.Value {
		v := pipeline.Recognise(d.Text, memo)
		v.Key = c.key(d.Block)
		return &v
	}
	seen, err := memo("value", func() (any, int64, error) { return build(), int64(len(d.Text)), nil })
	if err != nil {
		return *build()
	}
	return *seen.(*pipeline.Value)
}

// Joined is a text of several documents of the answer, one below the other.
func (c *Cached) Joined(docs []Document) (pipeline.Value, error) {
	block := len(c.blocks) + 1 // no document has this number
	memo := c.memo(block)
	text, err := memo("joined", func() (any, int64, error) {
		text := join(docs)
		return text, int64(len(text)), nil
	})
	if err != nil {
		return pipeline.Value{}, err
	}
	v := pipeline.Recognise(text.([]byte), memo)
	v.Key = c.key(block)
	return v, nil
}

// key names a block among all that the agent has in the cache. An id is made of
// the answer's bytes, so a key never comes to mean others.
func (c *Cached) key(block int) string { return fmt.Sprintf("%s/%d", c.ID, block) }
