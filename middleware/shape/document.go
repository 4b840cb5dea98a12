package shape

import (
	"bytes"
	"encoding/json"
	"sort"
	"unicode/utf8"

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
}

// Doc returns the document of a block.
func (d *Documents) Doc(block int) (Document, bool) {
	i := sort.Search(len(d.Docs), func(i int) bool { return d.Docs[i].Block >= block })
	if i < len(d.Docs) && d.Docs[i].Block == block {
		return d.Docs[i], true
	}
	return Document{}, false
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

func (d *Documents) chars() int {
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
// is unknown stays a block without a document.
func (d *Documents) addContent(block json.RawMessage) error {
	d.blocks = append(d.blocks, block)
	if block[0] != '{' {
		d.addOdd(block)
		return nil
	}
	var kind string
	var text, resource, data json.RawMessage
	err := jsonscan.Members(block, func(key string, value json.RawMessage) error {
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
	switch {
	case err != nil:
		return err
	case kind == "text" && text != nil && text[0] == '"':
		d.addText(text, "")
	case kind == "resource" && resource != nil && resource[0] == '{':
		return d.addResource(block, resource)
	case kind != "image" && kind != "audio":
		d.addOdd(block)
	case len(data) > 2 && data[0] == '"':
		d.media = append(d.media, data)
	}
	return nil
}

// addContents appends an element of the contents of a resource likewise.
func (d *Documents) addContents(block json.RawMessage) error {
	d.blocks = append(d.blocks, block)
	if block[0] != '{' {
		d.addOdd(block)
		return nil
	}
	return d.addResource(block, block)
}

// addResource makes a document of the contents of a resource, which are the last
// block or within it.
func (d *Documents) addResource(block, contents json.RawMessage) error {
	var text, blob json.RawMessage
	media := "application/octet-stream"
	err := jsonscan.Members(contents, func(key string, value json.RawMessage) error {
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
		d.addText(text, "")
	case blob != nil && blob[0] == '"':
		d.addText(blob, media)
	default:
		d.addOdd(block)
	}
	return nil
}

// shortRest is how many bytes an odd block, or structured content beside data that
// a block repeats, may have without being a document.
const shortRest = 1024

// addOdd makes the last block a document of its own JSON if it is long: the agent
// might read all of it. A short one goes along as it is.
func (d *Documents) addOdd(block json.RawMessage) {
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
