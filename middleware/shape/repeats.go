package shape

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline"
)

// repeats reports whether the blocks say the same as structured content. Servers
// send both, for clients that know one or the other: a text is the same JSON,
// spaced otherwise, or that of its only member; or the texts are the elements of
// that member; or images and audio are its data. Cost: a few passes over each.
func (d *Documents) repeats(structured json.RawMessage) bool {
	if d.haveText(structured) || d.haveData(structured) {
		return true
	}
	var members []json.RawMessage
	if structured[0] == '{' {
		_ = jsonscan.Members(structured, func(_ string, value json.RawMessage) error {
			members = append(members, value)
			return nil
		})
	}
	return len(members) == 1 && (d.haveText(members[0]) || d.areElements(members[0]))
}

// haveText reports whether one of the texts is value.
func (d *Documents) haveText(value json.RawMessage) bool {
	is := comparer(value)
	return slices.ContainsFunc(d.Docs, func(doc Document) bool { return doc.Media == "" && is(doc.Text) })
}

// areElements reports whether the texts are the elements of value, in order.
func (d *Documents) areElements(value json.RawMessage) bool {
	n, same := 0, value[0] == '['
	_ = jsonscan.Elements(value, func(element json.RawMessage) error {
		same = same && n < len(d.Docs) && d.Docs[n].Media == "" && comparer(element)(d.Docs[n].Text)
		n++
		return nil
	})
	return same && n == len(d.Docs) && n > 0
}

// haveData reports whether value is the data of images and audio, with hardly
// anything beside it.
func (d *Documents) haveData(value json.RawMessage) bool {
	rest := len(value)
	for _, data := range d.media {
		// Data too short to matter could be anything's.
		if len(data) > shortRest {
			rest -= bytes.Count(value, data) * len(data)
		}
	}
	return rest < len(value) && rest <= shortRest
}

// comparer returns a function that reports whether a text is value: what a string
// holds, or JSON however it is spaced, escaped and ordered.
func comparer(value json.RawMessage) func(text []byte) bool {
	if value[0] == '"' {
		held := jsonscan.AppendUnquoted(nil, value)
		return func(text []byte) bool { return bytes.Equal(text, held) }
	}
	want := compact(value)
	if len(want) == 0 {
		return func([]byte) bool { return false }
	}
	wanted := sync.OnceValue(func() any { return decoded(want) })
	return func(text []byte) bool {
		if text = bytes.TrimSpace(text); len(text) > 0 && text[0] != want[0] {
			// JSON may stand behind a sentence, or in a fence.
			if v := pipeline.Recognise(text, nil); v.Whole != nil {
				text = bytes.TrimSpace(v.Data)
			}
		}
		// What begins otherwise need not be read, nor what is far from as long.
		if len(text) == 0 || text[0] != want[0] || len(text) < len(want)/maxEscape {
			return false
		}
		got := compact(text)
		return bytes.Equal(got, want) || len(got) <= maxDecoded && len(want) <= maxDecoded && reflect.DeepEqual(decoded(got), wanted())
	}
}

const (
	// maxEscape is how much longer a character is as an escape than itself.
	maxEscape = 6
	// maxDecoded bytes of JSON are decoded to compare them, at up to six times the
	// memory. What is longer is compared as it is written.
	maxDecoded = 4 << 20
)

// compact is JSON without white space, or nil if value is none.
func compact(value []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return nil
	}
	return b.Bytes()
}

// decoded is what a value says, its numbers as they are spelt.
func decoded(value []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return &v // is like nothing else
	}
	return v
}

// withoutStructured is the result of a tools/call without structured content.
func withoutStructured(result json.RawMessage) json.RawMessage {
	out, err := jsonscan.Rewrite(result, func(key string, value json.RawMessage) json.RawMessage {
		if key == "structuredContent" {
			return nil
		}
		return value
	})
	if err != nil { // cannot be: it was sliced before
		return result
	}
	return out
}
