package shape

import (
	"bytes"
	"encoding/json"

	"rlmproxy/jsonscan"
)

// repeats reports whether the text blocks say the same as structured content:
// one of them is the same JSON, spaced otherwise, or that of its only member; or
// they are the elements of that member. Servers send both, for clients that know
// one or the other. Cost: one pass over each.
func (d *Documents) repeats(structured json.RawMessage) bool {
	var member json.RawMessage
	n := 0
	if structured[0] == '{' {
		_ = jsonscan.Members(structured, func(_ string, value json.RawMessage) error {
			n++
			member = value
			return nil
		})
	}
	wanted := []compared{compact(structured)}
	if n == 1 {
		wanted = append(wanted, compact(member))
		if member[0] == '[' && d.areElements(member) {
			return true
		}
	}
	for _, w := range wanted {
		for _, doc := range d.Docs {
			if doc.Media == "" && w.is(doc.Text) {
				return true
			}
		}
	}
	return false
}

// areElements reports whether the documents are the elements of array, in order.
func (d *Documents) areElements(array json.RawMessage) bool {
	n, same := 0, true
	_ = jsonscan.Elements(array, func(value json.RawMessage) error {
		same = same && n < len(d.Docs) && d.Docs[n].Media == "" && compact(value).is(d.Docs[n].Text)
		n++
		return nil
	})
	return same && n == len(d.Docs) && n > 0
}

// repeatsMedia reports whether structured content is the data of images and audio
// that blocks have, with hardly anything beside it. An agent sees the blocks.
func (d *Documents) repeatsMedia(structured json.RawMessage) bool {
	rest := len(structured)
	for _, data := range d.media {
		// Data too short to matter could be anything's.
		if len(data) > shortRest {
			rest -= bytes.Count(structured, data) * len(data)
		}
	}
	return rest < len(structured) && rest <= shortRest
}

// A compared is a JSON value in the form in which texts are compared with it:
// of a string what it holds, of any other value its JSON without white space.
type compared struct {
	text   []byte
	isJSON bool
}

func compact(value json.RawMessage) compared {
	if value[0] == '"' {
		return compared{text: jsonscan.AppendUnquoted(nil, value)}
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return compared{value, true}
	}
	return compared{b.Bytes(), true}
}

// is reports whether text is the value. A text that is shorter than the value
// without white space cannot be.
func (c compared) is(text []byte) bool {
	if len(text) < len(c.text) {
		return false
	}
	if !c.isJSON {
		return bytes.Equal(text, c.text)
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 || len(c.text) == 0 || text[0] != c.text[0] {
		return false
	}
	var b bytes.Buffer
	return json.Compact(&b, text) == nil && bytes.Equal(b.Bytes(), c.text)
}
