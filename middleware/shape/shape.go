// Package shape decides how much of an answer an agent reads.
//
//	tool result ─┐                 ┌─ within the limit ─► as it came
//	prompt      ─┼─► documents ─► Shaper ─ a form that loses nothing fits ─► that
//	resource    ─┤                 └─ else ─► cache ─► a preview with a cache_id
//	query       ─┘
//
// A [Document] is one text that an agent reads. [Shaper.ToolResult],
// [Shaper.Prompt], [Shaper.Resource] and [Shaper.Answer] each take the documents
// out of one kind of answer and put the reply in their place. What the cache
// holds is read again with [Shaper.Cached].
//
// Limits are tokens of o200k, or characters; sizes are bytes.
package shape

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/show"
)

// A Store keeps results by agent and id: a [cache.Store], or a [cache.Desk], whose agents are
// shelves.
type Store interface {
	Put(agent string, origin cache.Origin, data []byte) (cache.ID, error)
	Get(agent string, id cache.ID) (*cache.Entry, error)
	Derived(agent string, id cache.ID, key string, build func() (value any, sizeBytes int64, err error)) (any, error)
	Terms() string
}

var (
	_ Store = (*cache.Store)(nil)
	_ Store = (*cache.Desk)(nil)
)

// Options configures a [Shaper]. Store, MaxTokens, QueryTimeout and Logger are
// required.
type Options struct {
	// Store keeps what is cut.
	Store Store
	// JQ runs jq programs. Nil: they run in this process, which is for tests.
	JQ *jq.Pool
	// MaxTokens is how much of an answer an agent reads at once.
	MaxTokens int
	// MaxChars, if not zero, is the limit instead, in characters.
	MaxChars int
	// PreviewTokens is the most that a preview takes of the limit. Zero means half
	// of it.
	PreviewTokens int
	// KindTokens are limits of results by their class, one of [pipeline.Classes]. Those
	// of other classes, and those with 0, have the limit above.
	KindTokens map[string]int
	// WholeTokens is the most that an answer has which is asked for whole. A text within
	// it is cut to its first page, since it may be read to its end.
	WholeTokens int
	// NoLossless cuts what is over the limit without trying whether a form that
	// loses nothing fits.
	NoLossless bool
	// PassThrough leaves all answers as they came.
	PassThrough bool
	// QueryTimeout bounds the work of a policy's fields or jq on one answer, and
	// the search for fields to hide.
	QueryTimeout time.Duration
	// Logger hears of policies that do not apply.
	Logger *slog.Logger
}

// A Shaper shapes answers. It is safe for concurrent use.
type Shaper struct{ opts Options }

// New returns a Shaper.
func New(opts Options) *Shaper { return &Shaper{opts} }

// A Policy is what the operator wants of one tool's answers. The zero value is
// the default.
type Policy struct {
	// Server is whose answers these are, for a text that looks like one of ours. Empty:
	// ours, or such texts are labelled already.
	Server string
	// Terms are those on which these answers are kept, see [cache.Origin.Terms].
	Terms string
	// NoModel says that no sub-model may read them, see [cache.Origin].
	NoModel bool
	// Whole leaves answers as they came.
	Whole bool
	// MaxTokens is the limit. Zero means that of [Options].
	MaxTokens int
	// Narrow is applied to every answer before the agent reads it; the whole
	// answer stays in the cache.
	Narrow Narrow
	// Seen is what the session was shown before, to which this reply is added. Nil: each
	// reply stands for itself.
	Seen *Seen
}

// asItCame is an answer that is not shaped. A text in it that begins as a line of ours has a
// line above it that says whose it is.
func (p Policy) asItCame(raw json.RawMessage) json.RawMessage {
	if p.Server == "" {
		return raw
	}
	return frame.Label(raw, p.Server)
}

// shape returns the reply that stands for docs, or nil if the agent reads them as
// they came.
func (s *Shaper) shape(agent string, origin cache.Origin, docs *Documents, p Policy, lim limit) (*reply, error) {
	if len(docs.Docs) == 0 {
		return nil, nil
	}
	if !p.Narrow.empty() {
		if r := s.narrow(agent, origin, docs, p.Narrow, lim); r != nil {
			return r, nil
		}
	}
	size := docs.size(lim)
	if lim.admits(size) {
		return nil, nil
	}
	total := size
	if lim.chars > 0 {
		total = docs.Tokens()
	}
	if r := s.again(agent, origin, docs, p.Seen, total, lim); r != nil {
		return r, nil
	}
	if !s.opts.NoLossless {
		if r := s.lossless(agent, origin, docs, total, lim); r != nil {
			return r, nil
		}
	}
	return s.cut(agent, origin, docs, total, lim.under(s.limit(p)), "")
}

// lossless returns the only document in a form that loses nothing and fits, or nil
// if there is none. The document itself is kept, for who needs its bytes.
func (s *Shaper) lossless(agent string, origin cache.Origin, docs *Documents, total int, lim limit) *reply {
	const head = 30 + idTokens // tokens of the first line, if the note is short
	only, ok := docs.only()
	if !ok || !pipeline.MayFit(len(only.Text), lim.tokens) {
		return nil
	}
	v, ok := pipeline.Lossless(pipeline.Recognise(only.Text, nil), lim.tokens-head)
	if !ok {
		return nil
	}
	n := count(v.Data)
	how := ""
	if v.Note != "" {
		how = " · " + v.Note
	}
	text := fmt.Appendf(nil, "[complete: nothing left out%s · ~%s instead of ~%s tokens", how, show.Count(n), show.Count(total))
	var id cache.ID
	if kept, err := s.keep(agent, origin, docs); err == nil {
		id = kept.ID
		text = fmt.Appendf(text, ` · original: "format":"text" · cache_id=%s`, id)
	}
	text = appendData(append(text, "]\n"...), v.Data)
	if !lim.fits(text) {
		return nil
	}
	return &reply{text, docs.others(), Facts{CacheID: id, Tokens: total, ShownTokens: n, Items: v.Total, ShownItems: v.Total, Complete: true}}
}

// cut keeps docs, which have total tokens, in the cache and returns a preview of
// them with notes, whole lines, above it. It returns nil if the shortest preview
// would be longer than they are.
func (s *Shaper) cut(agent string, origin cache.Origin, docs *Documents, total int, lim limit, notes string) (*reply, error) {
	kept, err := s.keep(agent, origin, docs)
	if err != nil && !errors.Is(err, cache.ErrTooLarge) {
		return nil, err
	}
	p := preview{of: kept, from: origin, total: total, notes: notes, call: kept.nextCall()}
	most := s.previewTokens(lim)
	if text, facts, ok := p.firstPage(most, s.opts.WholeTokens); ok && facts.ShownTokens < total && lim.fits(text) {
		return &reply{text, docs.others(), facts}, nil
	}
	for budget := most; budget > 4; budget = budget * 2 / 3 {
		text, facts := p.render(budget)
		if facts.ShownTokens = count(text); facts.ShownTokens < total && lim.fits(text) {
			return &reply{text, docs.others(), facts}, nil
		}
	}
	// The limit has no room for a preview. The first line alone tells the truth,
	// if it is shorter than the answer.
	line := firstLine(kept.ID, origin, 0, total, "")
	for _, text := range [][]byte{append(line[:len(line):len(line)], notes...), line} {
		if n := count(text); n < total {
			return &reply{text, docs.others(), Facts{CacheID: kept.ID, Tokens: total, ShownTokens: n}}, nil
		}
	}
	return nil, nil
}

// previewTokens is how much of the limit a preview takes at most. Half of it: an agent
// chooses its next call by a preview, and asks for all that fits if it needs that.
func (s *Shaper) previewTokens(lim limit) int {
	if n := s.opts.PreviewTokens; n > 0 {
		return min(n, lim.tokens)
	}
	return lim.tokens / 2
}
