package shape

import (
	"bytes"
	"fmt"
	"strings"

	"rlmproxy/cache"
	"rlmproxy/middleware/frame"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// A preview is what an agent sees of an answer that is over the limit.
type preview struct {
	of    *Cached
	from  cache.Origin
	total int    // tokens of the answer
	notes string // whole lines below the first one
	call  string // an example of a next call, complete; or empty
}

// idTokens is what a cache ID costs, hardly ever more.
const idTokens = 12

// Of many blocks a preview lists as many as get blockTokens each, headTokens of
// them for the line that names the block.
const (
	blockTokens = 80
	headTokens  = 20
)

// render writes the first line, the next calls and a preview of each document, in
// about budget tokens. The facts lack ShownTokens.
func (p *preview) render(budget int) ([]byte, Facts) {
	reserve := 48 + count([]byte(p.notes))
	call := p.call
	if call != "" {
		// What an id costs differs with the id, and what is shown should not.
		reserve += count([]byte(strings.ReplaceAll(call, string(p.of.ID), ""))) + idTokens + 4
	}
	if reserve > budget*2/3 {
		call, reserve = "", min(48, budget/2)
	}
	body, part := p.documents(budget - reserve)
	items := ""
	if part.Unit != "" {
		items = fmt.Sprintf(" · %s of %s %s", show.Count(part.Shown), show.Count(part.Total), part.Unit)
		if part.Shown == part.Total {
			items += ", abridged" // or it would look whole
		}
	}
	out := firstLine(p.of.ID, p.from, count(body), p.total, items)
	out = append(out, p.notes...)
	if call != "" {
		out = fmt.Appendf(out, "next: %s\n", frame.OneLine(call))
	}
	return append(out, body...), Facts{CacheID: p.of.ID, Tokens: p.total, ShownItems: part.Shown, Items: part.Total}
}

// firstLine is the line that no cut goes without. Items may be empty.
func firstLine(id cache.ID, from cache.Origin, shown, total int, items string) []byte {
	b := fmt.Appendf(nil, "[cut: ~%s of ~%s tokens shown%s", show.Count(shown), show.Count(total), items)
	if id == "" && !from.ReadOnly {
		return append(b, " · too large to keep; another call would act again]\n"...)
	}
	if id == "" {
		return append(b, " · too large to keep: call the tool again with narrower arguments]\n"...)
	}
	return fmt.Appendf(b, " · cache_id=%s]\n", id)
}

// documents previews as many documents as budget has room for, and says which
// part of the answer that is.
func (p *preview) documents(budget int) ([]byte, pipeline.Part) {
	docs := p.of.Docs
	listed := min(len(docs), max(budget/blockTokens, 1))
	each := budget / listed
	if len(docs) > 1 {
		each -= headTokens
	}
	var body bytes.Buffer
	var part pipeline.Part
	for i, d := range docs[:listed] {
		if len(docs) > 1 {
			fmt.Fprintf(&body, "--- block %d of this result: ~%s tokens\n", d.Block, show.Count(count(d.Text)))
		}
		if d.Media != "" {
			fmt.Fprintf(&body, "%s, %s characters of base64: read the resource %s\n", mediaLine(d.Media), show.Count(len(d.Text)), blockURI(p.of.ID, d.Block))
			continue
		}
		var text []byte
		text, part = pipeline.Preview(p.of.Value(d), each)
		body.Write(frame.Quote(text))
		if i < listed-1 {
			body.WriteByte('\n')
		}
	}
	if len(docs) > 1 {
		part = pipeline.Part{Shown: listed, Total: len(docs), Unit: "blocks"}
	}
	return body.Bytes(), part
}

// mediaLine is a media type as a line begins with it. The server has chosen it.
func mediaLine(media string) string {
	return string(frame.Quote([]byte(show.Clip(frame.OneLine(media), 80))))
}

// nextCall returns a call made for the largest text of the answer, or "".
func (c *Cached) nextCall() string {
	if c.ID == "" {
		return ""
	}
	var largest *Document
	for i, d := range c.Docs {
		if d.Media == "" && (largest == nil || len(d.Text) > len(largest.Text)) {
			largest = &c.Docs[i]
		}
	}
	if largest == nil {
		return ""
	}
	call := pipeline.NextCall(c.Value(*largest), string(c.ID))
	// A call is "tool {json}".
	if open, ok := strings.CutSuffix(call, "}"); ok && len(c.Docs) > 1 {
		return fmt.Sprintf(`%s,"block":%d}`, open, largest.Block)
	}
	return call
}
