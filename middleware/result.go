package middleware

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"rlmproxy/middleware/wire"
	"rlmproxy/pipeline/tokens"
)

// A result is the result of a tools/call, sliced and only decoded where an
// agent reads text.
type result struct {
	raw     json.RawMessage
	blocks  []block
	docs    []document
	meta    json.RawMessage
	isError bool
	partial bool // the tool wants input first: not a result to shape
}

// A block is one element of content.
type block struct {
	raw  json.RawMessage
	kind string // its type
}

// A document is what an agent reads as one piece of text.
type document struct {
	block int // index in content; structured content comes after the last
	text  []byte
	blob  string // the media type of base64 data, or empty
}

// parseResult slices raw. What it does not know stays a block without a
// document; a result that has no content at all is one document.
func parseResult(raw json.RawMessage) (*result, error) {
	r := &result{raw: raw}
	var structured json.RawMessage
	err := wire.Members(raw, func(key string, value json.RawMessage) error {
		switch key {
		case "content":
			if value[0] == '[' {
				return wire.Elements(value, func(b json.RawMessage) error { return r.addBlock(b) })
			}
		case "structuredContent":
			structured = value
		case "isError":
			r.isError = string(value) == "true"
		case "_meta":
			r.meta = value
		case "resultType":
			r.partial = string(value) != `"complete"`
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if structured != nil && string(structured) != "null" && !r.repeats(structured) {
		r.docs = append(r.docs, document{block: len(r.blocks), text: structured})
	}
	if len(r.blocks) == 0 && len(r.docs) == 0 {
		r.docs = []document{{text: raw}}
	}
	return r, nil
}

func (r *result) addBlock(raw json.RawMessage) error {
	if raw[0] != '{' {
		r.blocks = append(r.blocks, block{raw: raw})
		return nil
	}
	var kind string
	var text, resource json.RawMessage
	err := wire.Members(raw, func(key string, value json.RawMessage) error {
		switch key {
		case "type":
			_ = json.Unmarshal(value, &kind)
		case "text":
			text = value
		case "resource":
			resource = value
		}
		return nil
	})
	if err != nil {
		return err
	}
	i := len(r.blocks)
	r.blocks = append(r.blocks, block{raw, kind})
	switch {
	case kind == "text" && text != nil && text[0] == '"':
		return r.addText(i, text, "")
	case kind == "resource" && resource != nil && resource[0] == '{':
		var blob json.RawMessage
		media := "application/octet-stream"
		text = nil
		err := wire.Members(resource, func(key string, value json.RawMessage) error {
			switch key {
			case "text":
				text = value
			case "blob":
				blob = value
			case "mimeType":
				_ = json.Unmarshal(value, &media)
			}
			return nil
		})
		switch {
		case err != nil:
			return err
		case text != nil && text[0] == '"':
			return r.addText(i, text, "")
		case blob != nil && blob[0] == '"':
			return r.addText(i, blob, media)
		}
	}
	return nil
}

func (r *result) addText(i int, quoted json.RawMessage, blob string) error {
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return err
	}
	r.docs = append(r.docs, document{i, []byte(s), blob})
	return nil
}

// repeats reports whether the first text block says the same as structured
// content: the same JSON, spaced otherwise, or its only member. Servers send
// both, for clients that know one or the other.
func (r *result) repeats(structured json.RawMessage) bool {
	for _, d := range r.docs {
		if d.blob != "" {
			continue
		}
		if sameJSON(d.text, structured) {
			return true
		}
		n, same := 0, false
		if structured[0] == '{' {
			_ = wire.Members(structured, func(_ string, value json.RawMessage) error {
				n++
				var s string
				if value[0] == '"' && len(value) >= len(d.text) && json.Unmarshal(value, &s) == nil && s == string(d.text) {
					same = true
				} else if value[0] != '"' && sameJSON(d.text, value) {
					same = true
				}
				return nil
			})
		}
		if n == 1 && same {
			return true
		}
	}
	return false
}

// sameJSON reports whether a and b are equal but for white space.
func sameJSON(a, b []byte) bool {
	a = bytes.TrimSpace(a)
	if len(a) == 0 || len(b) == 0 || a[0] != b[0] || !json.Valid(a) {
		return false
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// tokens counts what an agent reads of the result; exact is false for an
// estimate.
func (r *result) tokens() (n int, exact bool) {
	exact = true
	for _, d := range r.docs {
		c, ok := tokens.Count(d.text)
		n += c
		exact = exact && ok
	}
	return n, exact
}

func (r *result) chars() int {
	n := 0
	for _, d := range r.docs {
		n += utf8.RuneCount(d.text)
	}
	return n
}

// doc returns the document of a block.
func (r *result) doc(block int) (document, bool) {
	for _, d := range r.docs {
		if d.block == block {
			return d, true
		}
	}
	return document{}, false
}
