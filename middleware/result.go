package middleware

import (
	"bytes"
	"encoding/json"
	"sort"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/tokens"
)

// A result is the result of a tools/call, sliced and only decoded where an
// agent reads text.
type result struct {
	raw     json.RawMessage
	blocks  []block
	docs    []document        // in the order of their blocks
	media   []json.RawMessage // base64 data of images and audio, as written
	meta    json.RawMessage
	isError bool
	partial bool // the tool wants input first: not a result to shape

	// derived results are ours: notes, whole lines, stand above their preview,
	// and plain is what is sent if no preview is shorter; nil sends raw.
	notes string
	plain json.RawMessage
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
	err := jsonscan.Members(raw, func(key string, value json.RawMessage) error {
		switch key {
		case "content":
			if value[0] == '[' {
				return jsonscan.Elements(value, r.addBlock)
			}
		case "structuredContent":
			structured = value
		case "isError":
			r.isError = string(value) == "true"
		case "_meta":
			r.meta = value
		case "resultType":
			r.partial = gjson.ParseBytes(value).String() == inputType
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if structured != nil && string(structured) != "null" && !r.repeatsMedia(structured) && !r.repeats(structured) {
		r.docs = append(r.docs, document{block: len(r.blocks), text: structured})
	}
	if len(r.blocks) == 0 && len(r.docs) == 0 {
		r.docs = []document{{text: raw}}
	}
	return r, nil
}

// addBlock adds an element of content, with a document if an agent reads it.
func (r *result) addBlock(raw json.RawMessage) error {
	if raw[0] != '{' {
		r.blocks = append(r.blocks, block{raw: raw})
		r.addOdd(raw)
		return nil
	}
	var kind string
	var text, resource, data json.RawMessage
	err := jsonscan.Members(raw, func(key string, value json.RawMessage) error {
		switch key {
		case "type":
			_ = json.Unmarshal(value, &kind)
		case "text":
			text = value
		case "data":
			data = value
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
		r.addText(i, text, "")
	case kind == "resource" && resource != nil && resource[0] == '{':
		return r.addResource(raw, resource)
	case kind != "image" && kind != "audio":
		r.addOdd(raw)
	case len(data) > 2 && data[0] == '"':
		r.media = append(r.media, data)
	}
	return nil
}

// addResource makes the resource in the last block, raw, a document.
func (r *result) addResource(raw, resource json.RawMessage) error {
	var text, blob json.RawMessage
	media := "application/octet-stream"
	err := jsonscan.Members(resource, func(key string, value json.RawMessage) error {
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
	i := len(r.blocks) - 1
	switch {
	case err != nil:
		return err
	case text != nil && text[0] == '"':
		r.addText(i, text, "")
	case blob != nil && blob[0] == '"':
		r.addText(i, blob, media)
	default:
		r.addOdd(raw)
	}
	return nil
}

// shortRest is how many bytes an odd block, or structured content beside data that
// a block repeats, may have without being a document.
const shortRest = 1024

// addOdd makes a long block that we do not know a document of its own JSON: the
// agent might read all of it. Short ones go along as they are.
func (r *result) addOdd(raw json.RawMessage) {
	if len(raw) > shortRest {
		r.docs = append(r.docs, document{block: len(r.blocks) - 1, text: raw})
	}
}

func (r *result) addText(i int, quoted json.RawMessage, blob string) {
	text := jsonscan.AppendUnquoted(nil, quoted)
	if room := cap(text) - len(text); room > len(text)/32 {
		text = bytes.Clone(text) // it may be kept as long as the result is
	}
	r.docs = append(r.docs, document{i, text, blob})
}

// repeats reports whether the text blocks say the same as structured content:
// one of them is the same JSON, spaced otherwise, or that of its only member; or
// they are the elements of that member. Servers send both, for clients that know
// one or the other. Cost: one pass over each.
func (r *result) repeats(structured json.RawMessage) bool {
	var member json.RawMessage
	n := 0
	if structured[0] == '{' {
		_ = jsonscan.Members(structured, func(_ string, value json.RawMessage) error {
			n++
			member = value
			return nil
		})
	}
	forms := []form{newForm(structured)}
	if n == 1 {
		forms = append(forms, newForm(member))
		if member[0] == '[' && r.areElements(member) {
			return true
		}
	}
	for _, f := range forms {
		for _, d := range r.docs {
			if d.blob == "" && f.is(d.text) {
				return true
			}
		}
	}
	return false
}

// repeatsMedia reports whether structured content is the data of images and audio
// that blocks have, with hardly anything beside it. An agent sees the blocks.
func (r *result) repeatsMedia(structured json.RawMessage) bool {
	rest := len(structured)
	for _, data := range r.media {
		// Data too short to matter could be anything's.
		if len(data) > shortRest {
			rest -= bytes.Count(structured, data) * len(data)
		}
	}
	return rest < len(structured) && rest <= shortRest
}

// areElements reports whether the documents are the elements of array, in order.
func (r *result) areElements(array json.RawMessage) bool {
	n, same := 0, true
	_ = jsonscan.Elements(array, func(value json.RawMessage) error {
		same = same && n < len(r.docs) && r.docs[n].blob == "" && newForm(value).is(r.docs[n].text)
		n++
		return nil
	})
	return same && n == len(r.docs) && n > 0
}

// A form is a JSON value in the way that texts are compared with it.
type form struct {
	text []byte // of a string what it holds, else the value without white space
	json bool
}

func newForm(value json.RawMessage) form {
	if value[0] == '"' {
		return form{text: jsonscan.AppendUnquoted(nil, value)}
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return form{text: value, json: true}
	}
	return form{text: b.Bytes(), json: true}
}

// is reports whether text is the value. A text that is shorter than the value
// without white space cannot be.
func (f form) is(text []byte) bool {
	if len(text) < len(f.text) {
		return false
	}
	if !f.json {
		return bytes.Equal(text, f.text)
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 || len(f.text) == 0 || text[0] != f.text[0] {
		return false
	}
	var b bytes.Buffer
	return json.Compact(&b, text) == nil && bytes.Equal(b.Bytes(), f.text)
}

// manyDocs is where documents are counted together, by samples, instead of one
// by one.
const manyDocs = 64

// tokens counts what an agent reads of the result; exact is false for an
// estimate.
func (r *result) tokens() (n int, exact bool) {
	if exact = true; len(r.docs) > manyDocs {
		var all []byte
		for _, d := range r.docs {
			all = append(append(all, d.text...), '\n')
		}
		return tokens.Count(all)
	}
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
	i := sort.Search(len(r.docs), func(i int) bool { return r.docs[i].block >= block })
	if i < len(r.docs) && r.docs[i].block == block {
		return r.docs[i], true
	}
	return document{}, false
}
