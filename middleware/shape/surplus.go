package shape

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/show"
)

// Bounds on what goes along with a reply as it came: images, audio and links, which no
// limit of tokens counts. Model APIs take a hundred images at most.
const (
	maxOthers     = 100
	maxOtherBytes = 32 << 20
)

// some is how many of others may go along with a reply.
func some(others []json.RawMessage) int {
	bytes := 0
	for i, b := range others {
		if bytes += len(b); i == maxOthers || bytes > maxOtherBytes {
			return i
		}
	}
	return len(others)
}

// fewer returns r, the reply that stands for docs or nil if they may be read as they
// came, with no more other blocks than may go along. The rest stays in the cache, and
// the first line says so.
func (s *Shaper) fewer(agent string, origin cache.Origin, docs *Documents, r *reply) (*reply, error) {
	others := docs.others()
	n := some(others)
	if n == len(others) {
		return r, nil
	}
	kept, err := s.keep(agent, origin, docs)
	if err != nil && !errors.Is(err, cache.ErrTooLarge) {
		return nil, err
	}
	if r == nil {
		texts := slices.DeleteFunc(slices.Clone(docs.Docs), func(d Document) bool { return d.Media != "" })
		r = &reply{text: join(texts)}
		r.facts.Tokens = count(r.text)
	}
	first := firstLineOthers(kept.ID, n, len(others))
	if kept.ID != "" {
		next := slices.IndexFunc(docs.blocks, func(b json.RawMessage) bool { return &b[0] == &others[n][0] })
		first = fmt.Appendf(first, "next: read the resource %s, and so on\n", blockURI(kept.ID, next))
	}
	r.text, r.others = append(first, r.text...), others[:n]
	r.facts.CacheID, r.facts.ShownTokens, r.facts.Complete = kept.ID, count(r.text), false
	return r, nil
}

// firstLineOthers is the first line of a reply that lacks blocks which are no text.
func firstLineOthers(id cache.ID, shown, total int) []byte {
	b := fmt.Appendf(nil, "[cut: %s of %s images, audio and links shown", show.Count(shown), show.Count(total))
	if id == "" {
		return append(b, " · too large to keep: call the tool again with narrower arguments]\n"...)
	}
	return fmt.Appendf(b, " · cache_id=%s]\n", id)
}

// other is a block of the answer that is no document as the contents of a resource.
func (d *Documents) other(uri string, block int) (json.RawMessage, bool) {
	if block < 0 || block >= len(d.blocks) {
		return nil, false
	}
	m := members(d.blocks[block], "data", "mimeType")
	if !begins(m[0], '"') {
		return textContents(uri, "application/json", "text", d.blocks[block]), true
	}
	out := jsonscan.Object("uri", jsonscan.Quote(uri))
	if begins(m[1], '"') {
		out = jsonscan.With(out, "mimeType", m[1])
	}
	return jsonscan.With(out, "blob", m[0]), true
}
