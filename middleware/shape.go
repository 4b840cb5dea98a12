package middleware

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"rlmproxy/cache"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

// A limit is how much of one result an agent reads.
type limit struct {
	tokens int
	chars  int // if not zero it is the limit, and tokens a bound for previews
}

func (s *Server) limit(p Policy) limit {
	switch {
	case p.within != limit{}:
		return p.within
	case p.MaxTokens > 0:
		return limit{tokens: p.MaxTokens}
	case s.opts.MaxChars > 0:
		// Dense text has about two characters to a token; fits decides.
		return limit{tokens: max(s.opts.MaxChars/2, 1), chars: s.opts.MaxChars}
	}
	return limit{tokens: s.opts.MaxTokens}
}

// fits reports whether text is within the limit.
func (l limit) fits(text []byte) bool {
	if l.chars > 0 {
		return len(text) <= l.chars || utf8.RuneCount(text) <= l.chars
	}
	return tokens.AtMost(text, l.tokens)
}

// size is how much of the limit text takes.
func (l limit) size(text []byte) int {
	if l.chars > 0 {
		return utf8.RuneCount(text)
	}
	n, _ := tokens.Count(text)
	return n
}

// admits reports whether texts of this size together are within the limit.
func (l limit) admits(size int) bool {
	if l.chars > 0 {
		return size <= l.chars
	}
	return size <= l.tokens
}

func (l limit) half() limit { return l.share(2) }

// less is what n leaves of the limit.
func (l limit) less(n int) limit {
	if l.chars > 0 {
		return limit{tokens: max(l.tokens-n/2, 1), chars: max(l.chars-n, 1)}
	}
	return limit{tokens: max(l.tokens-n, 1)}
}

// share is the limit of each of n.
func (l limit) share(n int) limit {
	if l.chars > 0 {
		return limit{tokens: max(l.tokens/n, 1), chars: max(l.chars/n, 1)}
	}
	return limit{tokens: max(l.tokens/n, 1)}
}

// small reports without looking that a result of n bytes is within the limit: a
// token, and a character, has at least one byte.
func (l limit) small(n int) bool {
	if l.chars > 0 {
		return n <= l.chars
	}
	return n <= l.tokens
}

// shape returns what agent reads of an upstream's result: within the limit the
// same bytes, else a preview of what the cache now holds.
func (s *Server) shape(agent string, origin cache.Origin, raw json.RawMessage, p Policy) (json.RawMessage, error) {
	lim := s.limit(p)
	if s.opts.PassThrough || !p.shapes() || !p.projects() && lim.small(len(raw)) {
		return raw, nil
	}
	r, err := parseResult(raw)
	if err != nil {
		return nil, fmt.Errorf("the result is not what tools/call returns: %w", err)
	}
	if r.partial || len(r.docs) == 0 {
		return raw, nil
	}
	if p.projects() && !r.isError {
		if out, ok := s.project(agent, origin, r, p, lim); ok {
			return out, nil
		}
	}
	total, _ := r.tokens()
	if lim.chars > 0 && r.chars() <= lim.chars || lim.chars == 0 && total <= lim.tokens {
		return raw, nil
	}
	if len(r.docs) == 1 && r.docs[0].blob == "" && !s.opts.NoLossless && pipeline.MayFit(len(r.docs[0].text), lim.tokens) {
		if out, ok, err := s.lossless(r, total, lim); ok || err != nil {
			return out, err
		}
	}
	return s.cut(agent, origin, r, total, lim)
}

// lossless tries a form of the only document that loses nothing and fits.
func (s *Server) lossless(r *result, total int, lim limit) (json.RawMessage, bool, error) {
	const head = 30 // tokens of the first line, if the note is short
	v := pipeline.Recognise(r.docs[0].text, nil)
	v, ok := pipeline.Lossless(v, lim.tokens-head)
	if !ok {
		return nil, false, nil
	}
	n, _ := tokens.Count(v.Data)
	how := ""
	if v.Note != "" {
		how = " · " + v.Note
	}
	text := append(fmt.Appendf(nil, "[complete: nothing left out%s · ~%s instead of ~%s tokens]\n", how, show.Count(n), show.Count(total)), v.Data...)
	if !lim.fits(text) {
		return nil, false, nil
	}
	out, err := reply{
		text: text, others: r.others(), meta: r.meta, key: metaResult, isError: r.isError,
		facts: facts{Tokens: total, ShownTokens: n, Items: v.Total, ShownItems: v.Total, Complete: true},
	}.encode()
	return out, err == nil, err
}

// cut puts r into the cache and returns its preview. When even the smallest
// preview would be longer than the result, the result itself is returned.
func (s *Server) cut(agent string, origin cache.Origin, r *result, total int, lim limit) (json.RawMessage, error) {
	id, err := s.opts.Store.Put(agent, origin, r.raw)
	if err != nil && !errors.Is(err, cache.ErrTooLarge) {
		return nil, err
	}
	s.keepParsed(agent, id, r)
	calls := s.nextCalls(agent, id, r)
	// Half the limit: a preview is there to choose the next call by, and
	// whoever needs all that fits asks for it.
	most := lim.tokens / 2
	if n := s.opts.PreviewTokens; n > 0 {
		most = min(n, lim.tokens)
	}
	for budget := most; budget > 4; budget = budget * 2 / 3 {
		text, f := s.preview(agent, id, r, calls, total, budget)
		if n, _ := tokens.Count(text); lim.fits(text) && n < total {
			f.ShownTokens = n
			return reply{text: text, others: r.others(), meta: r.meta, key: metaResult, facts: f, isError: r.isError}.encode()
		}
	}
	// The limit has no room for a preview. The first line alone tells the truth,
	// if it is shorter than the result.
	line := firstLine(id, 0, total, "")
	first := append(line[:len(line):len(line)], r.notes...)
	n, _ := tokens.Count(first)
	if n >= total {
		first = line
		n, _ = tokens.Count(first)
	}
	switch {
	case n < total:
	case r.plain != nil:
		return r.plain, nil
	default:
		return r.raw, nil
	}
	return reply{text: first, others: r.others(), meta: r.meta, key: metaResult, isError: r.isError,
		facts: facts{CacheID: id, Tokens: total, ShownTokens: n}}.encode()
}

// firstLine is the line that no cut goes without. Items may be empty.
func firstLine(id cache.ID, shown, total int, items string) []byte {
	b := fmt.Appendf(nil, "[cut: ~%s of ~%s tokens shown%s", show.Count(shown), show.Count(total), items)
	if id == "" {
		return append(b, " · too large to keep: call the tool again with narrower arguments]\n"...)
	}
	return fmt.Appendf(b, " · cache_id=%s]\n", id)
}

// idTokens is what a cache ID costs, hardly ever more.
const idTokens = 12

// Of many blocks a preview lists as many as get blockTokens each, headTokens of
// them for the line that names the block.
const (
	blockTokens = 80
	headTokens  = 20
)

// preview renders the first line, the next calls and a preview of each
// document, in about budget tokens.
func (s *Server) preview(agent string, id cache.ID, r *result, calls []string, total, budget int) ([]byte, facts) {
	f := facts{CacheID: id, Tokens: total}
	noted, _ := tokens.Count([]byte(r.notes))
	reserve := 48 + noted
	for _, c := range calls {
		// What an id costs differs with the id, and what is shown should not.
		n, _ := tokens.Count([]byte(strings.ReplaceAll(c, string(id), "")))
		reserve += n + idTokens + 4
	}
	if reserve > budget*2/3 {
		calls, reserve = nil, min(48, budget/2)
	}
	var body bytes.Buffer
	listed := min(len(r.docs), max((budget-reserve)/blockTokens, 1))
	each := (budget - reserve) / listed
	if len(r.docs) > 1 {
		each -= headTokens
	}
	unit := ""
	for i, d := range r.docs[:listed] {
		if len(r.docs) > 1 {
			n, _ := tokens.Count(d.text)
			fmt.Fprintf(&body, "--- block %d of this result: ~%s tokens\n", d.block, show.Count(n))
		}
		if d.blob != "" {
			fmt.Fprintf(&body, "%s, %s characters of base64: read the resource %s\n", d.blob, show.Count(len(d.text)), blobURI(id, d.block))
			continue
		}
		text, part := pipeline.Preview(s.recognise(agent, id, d), each)
		body.Write(text)
		if i < listed-1 {
			body.WriteByte('\n')
		}
		f.ShownItems += part.Shown
		f.Items += part.Total
		unit = part.Unit
	}
	if len(r.docs) > 1 {
		unit, f.ShownItems, f.Items = "blocks", listed, len(r.docs)
	}
	shown, _ := tokens.Count(body.Bytes())
	items := ""
	if unit != "" {
		items = fmt.Sprintf(" · %s of %s %s", show.Count(f.ShownItems), show.Count(f.Items), unit)
		if f.ShownItems == f.Items {
			items += ", abridged" // or it would look whole
		}
	}
	var out bytes.Buffer
	out.Write(firstLine(id, shown, total, items))
	out.WriteString(r.notes)
	for _, c := range calls {
		fmt.Fprintf(&out, "next: %s\n", c)
	}
	out.Write(body.Bytes())
	return out.Bytes(), f
}

// nextCalls returns calls made for the largest document.
func (s *Server) nextCalls(agent string, id cache.ID, r *result) []string {
	if id == "" {
		return nil
	}
	largest := -1
	for i, d := range r.docs {
		if d.blob == "" && (largest < 0 || len(d.text) > len(r.docs[largest].text)) {
			largest = i
		}
	}
	if largest < 0 {
		return nil
	}
	calls := pipeline.NextCalls(s.recognise(agent, id, r.docs[largest]), string(id))
	if len(r.docs) == 1 {
		return calls
	}
	for i, c := range calls {
		calls[i] = addBlock(c, r.docs[largest].block)
	}
	return calls
}

// addBlock adds the block parameter to a next call, "tool {json}".
func addBlock(call string, block int) string {
	if i := len(call) - 1; i > 0 && call[i] == '}' {
		return fmt.Sprintf(`%s,"block":%d}`, call[:i], block)
	}
	return call
}

// others are the blocks that are no documents: images, audio, links.
func (r *result) others() []block {
	var out []block
	for i, b := range r.blocks {
		d, isDoc := r.doc(i)
		if !isDoc {
			out = append(out, b)
		} else if d.blob != "" && len(d.text) <= 256 {
			out = append(out, b)
		}
	}
	return out
}

// memo keeps what is derived from one document of a cached result.
func (s *Server) memo(agent string, id cache.ID, block int) pipeline.Memo {
	if id == "" {
		return nil
	}
	return func(key string, build func() (any, int64, error)) (any, error) {
		v, err := s.opts.Store.Derived(agent, id, fmt.Sprintf("%d/%s", block, key), build)
		if errors.Is(err, cache.ErrUnknown) || errors.Is(err, cache.ErrExpired) || errors.Is(err, cache.ErrEvicted) {
			// It went while we worked; we still hold the bytes.
			v, _, err = build()
		}
		return v, err
	}
}
