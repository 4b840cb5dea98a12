package shape

import (
	"bytes"
	"encoding/json"

	"rlmproxy/jsonscan"
)

// The result of a tools/call is kept as it came, an object. Other answers are kept
// below a line that says what they are.
const (
	textLine     = "text\n"     // a text
	blocksLine   = "blocks\n"   // an array of content blocks, of a prompt's messages
	contentsLine = "contents\n" // the contents of a resource, an array
)

// newText returns an answer that is one text.
func newText(text []byte) *Documents {
	d, _ := read(append([]byte(textLine), text...))
	return d
}

// newBlocks returns the documents of content blocks.
func newBlocks(blocks ...json.RawMessage) (*Documents, error) {
	kept := []byte(blocksLine + "[")
	for _, b := range blocks {
		kept = jsonscan.AppendElement(kept, b)
	}
	return read(append(kept, ']'))
}

// newContents returns the documents of the contents of a resource.
func newContents(list json.RawMessage) (*Documents, error) {
	return read(append([]byte(contentsLine), list...))
}

// read returns the documents of what the cache keeps. They share its memory.
func read(kept []byte) (*Documents, error) {
	d := &Documents{kept: kept}
	if text, ok := bytes.CutPrefix(kept, []byte(textLine)); ok {
		d.Docs = []Document{{Text: text}}
		return d, nil
	}
	if list, ok := bytes.CutPrefix(kept, []byte(blocksLine)); ok {
		return d, jsonscan.Elements(list, d.addContent)
	}
	if list, ok := bytes.CutPrefix(kept, []byte(contentsLine)); ok {
		return d, jsonscan.Elements(list, d.addContents)
	}
	r, err := ParseToolResult(kept)
	if err != nil {
		return nil, err
	}
	return &r.Documents, nil
}
