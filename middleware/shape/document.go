package shape

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"rlmproxy/jsonscan"
)

// A Document is what an agent reads as one piece of text.
type Document struct {
	// Block is its number, by which an agent asks for it: its index among the
	// blocks of the answer. Structured content comes after the last of them.
	Block int
	Text  []byte
	// Media is the media type of base64 data, empty for text.
	Media string
}

// Documents are what an agent reads of one answer, in the order of its blocks.
type Documents struct {
	Docs   []Document
	blocks []json.RawMessage // the elements of its list, as they came
	media  []json.RawMessage // base64 data of images and audio, as written
	kept   []byte            // what the cache keeps of it; see [read]
	cached *Cached           // once it is kept
	twice  bool              // kept has structured content that the blocks repeat
}

// Doc returns the document of a block.
func (d *Documents) Doc(block int) (Document, bool) {
	i, ok := slices.BinarySearchFunc(d.Docs, block, func(doc Document, block int) int { return doc.Block - block })
	if !ok {
		return Document{}, false
	}
	return d.Docs[i], true
}

// only returns the document of an answer that has one, which is text.
func (d *Documents) only() (Document, bool) {
	if len(d.Docs) != 1 || d.Docs[0].Media != "" {
		return Document{}, false
	}
	return d.Docs[0], true
}

// others are the blocks that go along with a reply as they came: those that are
// no documents (images, audio, links), and short base64 data.
func (d *Documents) others() []json.RawMessage {
	const short = 256 // bytes of data
	var out []json.RawMessage
	for i, b := range d.blocks {
		if doc, is := d.Doc(i); !is || doc.Media != "" && len(doc.Text) <= short {
			out = append(out, b)
		}
	}
	return out
}

// manyDocs is where documents are counted together, by samples, instead of one
// by one.
const manyDocs = 64

// Tokens counts what an agent reads of the answer.
func (d *Documents) Tokens() int {
	if len(d.Docs) > manyDocs {
		return count(join(d.Docs))
	}
	n := 0
	for _, doc := range d.Docs {
		n += count(doc.Text)
	}
	return n
}

// size is how much of the limit the answer takes.
func (d *Documents) size(lim limit) int {
	if lim.chars == 0 {
		return d.Tokens()
	}
	n := 0
	for _, doc := range d.Docs {
		n += utf8.RuneCount(doc.Text)
	}
	return n
}

// bytes is what the texts take in memory.
func (d *Documents) bytes() int64 {
	n := int64(0)
	for _, doc := range d.Docs {
		n += int64(len(doc.Text))
	}
	return n
}

// join puts texts one below the other.
func join(docs []Document) []byte {
	texts := make([][]byte, len(docs))
	for i, doc := range docs {
		texts[i] = doc.Text
	}
	return bytes.Join(texts, []byte{'\n'})
}

// addContent appends a content block, with a document if an agent reads it. What
// is unknown stays a block without a document. The error is always nil.
func (d *Documents) addContent(block json.RawMessage) error {
	d.blocks = append(d.blocks, block)
	m := members(block, "type", "text", "resource", "data")
	text, resource, data := m[1], m[2], m[3]
	switch kind := gjson.ParseBytes(m[0]).String(); {
	case kind == "text" && begins(text, '"'):
		d.addText(text, "")
	case kind == "resource" && begins(resource, '{'):
		d.addResource(resource)
	case kind != "image" && kind != "audio":
		d.addOdd()
	case begins(data, '"'):
		d.media = append(d.media, data)
	}
	return nil
}

// addContents appends an element of the contents of a resource likewise.
func (d *Documents) addContents(block json.RawMessage) error {
	d.blocks = append(d.blocks, block)
	d.addResource(block)
	return nil
}

// addResource makes a document of the contents of a resource, which are the last
// block or within it.
func (d *Documents) addResource(contents json.RawMessage) {
	m := members(contents, "text", "blob", "mimeType")
	switch text, blob := m[0], m[1]; {
	case begins(text, '"'):
		d.addText(text, "")
	case begins(blob, '"'):
		media := "application/octet-stream"
		_ = json.Unmarshal(m[2], &media)
		d.addText(blob, media)
	default:
		d.addOdd()
	}
}

// shortRest is how many bytes an odd block, or structured content beside data that
// a block repeats, may have without being a document.
const shortRest = 1024

// addOdd makes the last block a document of its own JSON if it is long: the agent
// might read all of it. A short one goes along as it is.
func (d *Documents) addOdd() {
	block := d.blocks[len(d.blocks)-1]
	if len(block) > shortRest {
		d.Docs = append(d.Docs, Document{Block: len(d.blocks) - 1, Text: block})
	}
}

// addText makes a document of the last block.
func (d *Documents) addText(quoted json.RawMessage, media string) {
	text := jsonscan.AppendUnquoted(nil, quoted)
	if room := cap(text) - len(text); room > len(text)/32 {
		text = bytes.Clone(text) // it may be kept as long as the answer is
	}
	d.Docs = append(d.Docs, Document{len(d.blocks) - 1, text, media})
}

// members returns the values of those members of an object, nil for what is
// missing. Of a repeated member the last counts.
func members(object json.RawMessage, names ...string) []json.RawMessage {
	values := make([]json.RawMessage, len(names))
	_ = jsonscan.Members(object, func(key string, value json.RawMessage) error {
		if i := slices.Index(names, key); i >= 0 {
			values[i] = value
		}
		return nil
	})
	return values
}

// begins reports whether a value is there and begins so: its type.
func begins(value json.RawMessage, c byte) bool { return len(value) > 0 && value[0] == c }
