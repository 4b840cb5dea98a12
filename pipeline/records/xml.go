package records

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"

	"rlmproxy/jsonscan"
)

// maxXMLBytes are read: an element takes some 100 bytes in memory.
const maxXMLBytes = 16 << 20

// An element of XML is an object: attributes as @name, elements by name, its text as
// #text. One with text alone is a string, and those of one name an array.
type element struct {
	name     string
	attrs    []xml.Attr
	text     []byte
	children []*element
}

// readXML reads XML that is well-formed as an object of its root. Prefixes of names stay.
func readXML(ctx context.Context, text []byte) (*Records, error) {
	if len(text) > maxXMLBytes || bytes.Count(text, []byte{'<'})+bytes.Count(text, []byte{'='}) > maxConfigMarks {
		return nil, nil
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	w := newWriter(ctx, len(text))
	root := &element{}
	open := []*element{root}
	for w.ok() {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil
		}
		top := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			if len(open) > maxConfigDepth || len(open) == 1 && len(root.children) > 0 {
				return nil, nil
			}
			e := &element{name: qualified(t.Name), attrs: t.Attr}
			top.children = append(top.children, e)
			open = append(open, e)
		case xml.EndElement:
			if len(open) == 1 || top.name != qualified(t.Name) {
				return nil, nil
			}
			open = open[:len(open)-1]
		case xml.CharData:
			top.text = append(top.text, t...)
		}
	}
	if len(open) > 1 || len(root.children) != 1 || len(bytes.TrimSpace(bytes.TrimPrefix(root.text, byteOrderMark))) > 0 {
		return nil, w.err
	}
	root.text = nil
	root.write(w)
	if !w.ok() {
		return nil, w.err
	}
	return configured("XML", w.out), nil
}

func qualified(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

func (e *element) write(w *writer) {
	text := bytes.TrimSpace(e.text)
	if len(e.attrs)+len(e.children) == 0 {
		w.out = jsonscan.AppendQuote(w.out, string(text))
		return
	}
	w.open()
	for _, a := range e.attrs {
		w.key("@" + qualified(a.Name))
		w.out = jsonscan.AppendQuote(w.out, a.Value)
	}
	byName := map[string][]*element{}
	for _, c := range e.children {
		byName[c.name] = append(byName[c.name], c)
	}
	for _, c := range e.children {
		same := byName[c.name]
		if same[0] != c || !w.ok() {
			continue
		}
		w.key(c.name)
		if len(same) == 1 {
			c.write(w)
			continue
		}
		w.out = append(w.out, '[')
		for i, one := range same {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			one.write(w)
		}
		w.out = append(w.out, ']')
	}
	if len(text) > 0 {
		w.key("#text")
		w.out = jsonscan.AppendQuote(w.out, string(text))
	}
	w.out = append(w.out, '}')
}
