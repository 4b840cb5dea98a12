package shape

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

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
	r, err := s.shape(agent, cache.Origin{Tool: "resources/read " + uri, ReadOnly: true}, docs, p, s.limitOf(p, docs))
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

// blockURI names a block of a cached answer as a resource.
func blockURI(id cache.ID, block int) string {
	return fmt.Sprintf("rlmproxy://cache/%s/%d", id, block)
}

// idOf reads a URI of blockURI.
func idOf(uri string) (id cache.ID, block int, ok bool) {
	rest, _ := strings.CutPrefix(uri, "rlmproxy://cache/")
	text, number, _ := strings.Cut(rest, "/")
	block, _ = strconv.Atoi(number)
	id = cache.ID(text)
	return id, block, uri == blockURI(id, block)
}

// ReadID returns the id of the answer of which a URI names a block, "" if it is none of
// ours.
func ReadID(uri string) cache.ID {
	if id, _, ok := idOf(uri); ok && id.Possible() {
		return id
	}
	return ""
}

// Block returns the result of a resources/read for a block that the cache keeps:
// the base64 data that a preview only names, or a text. It reports false if agent
// has none of this URI.
func (s *Shaper) Block(ctx context.Context, agent, uri string) (json.RawMessage, bool) {
	id, block, ok := idOf(uri)
	if !ok {
		return nil, false
	}
	kept, err := s.Cached(ctx, agent, id)
	if err != nil {
		return nil, false
	}
	d, ok := kept.Doc(block)
	if !ok {
		contents, ok := kept.other(uri, block)
		return fmt.Appendf(nil, `{"contents":[%s]}`, contents), ok
	}
	media, member, data := d.Media, "blob", d.Text
	if media == "" {
		media, member, data = "text/plain", "text", appendData(nil, d.Text)
	}
	return fmt.Appendf(nil, `{"contents":[%s]}`, textContents(uri, media, member, data)), ok
}
