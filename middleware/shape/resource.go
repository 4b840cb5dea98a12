package shape

import (
	"context"
	"encoding/json"
	"fmt"

	"rlmproxy/cache"
	"rlmproxy/jsonscan"
)

// Resource returns what agent reads of the result of a resources/read of uri:
// within the limit the same bytes.
func (s *Shaper) Resource(agent, uri string, raw json.RawMessage, p Policy) (json.RawMessage, error) {
	lim := s.limit(p)
	list := jsonscan.Member(raw, "contents")
	if s.opts.PassThrough || p.Whole || len(raw) <= s.least(lim) || len(list) == 0 || list[0] != '[' {
		return p.asItCame(raw), nil
	}
	docs, err := newContents(list)
	if err != nil {
		return nil, err
	}
	r, err := s.shape(agent, cache.Origin{Tool: "resources/read " + uri, ReadOnly: true, NoModel: p.NoModel, Terms: p.Terms}, docs, p, s.limitOf(p, docs))
	if err != nil || r == nil {
		return p.asItCame(raw), err
	}
	out := append([]byte{'['}, textContents(uri, "text/plain", "text", r.text)...)
	for _, contents := range r.others {
		out = jsonscan.AppendElement(out, contents)
	}
	return withList(raw, "contents", append(out, ']'), r.facts)
}

// textContents is one element of the contents of a resource, its text in member.
func textContents(uri, media, member string, text []byte) json.RawMessage {
	return fmt.Appendf(nil, `{"uri":%s,"mimeType":%s,"%s":%s}`,
		jsonscan.Quote(uri), jsonscan.Quote(media), member, jsonscan.Quote(string(text)))
}

// Block returns the result of a resources/read for a block that the cache keeps:
// the base64 data that a preview only names, or a text. It is nil if agent has none
// of this handle.
func (s *Shaper) Block(ctx context.Context, agent string, h Handle) (json.RawMessage, error) {
	kept, err := s.Cached(ctx, agent, h.ID)
	if err != nil {
		return nil, err
	}
	uri := blockURI(h.ID, h.Block)
	d, ok := kept.Doc(h.Block)
	if !ok {
		contents, ok := kept.other(uri, h.Block)
		if !ok {
			return nil, nil
		}
		return fmt.Appendf(nil, `{"contents":[%s]}`, contents), nil
	}
	media, member, data := d.Media, "blob", d.Text
	if media == "" {
		media, member, data = "text/plain", "text", appendData(nil, d.Text)
	}
	return fmt.Appendf(nil, `{"contents":[%s]}`, textContents(uri, media, member, data)), nil
}
