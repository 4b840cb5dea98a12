package render

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// A treeWriter writes nested objects that have a name, a list of such objects, and
// perhaps a type that says no more than whether the list is there: what tools return
// for folders and files.
//
//	src/
//	  main.go
type treeWriter struct {
	tick                 doc.Ticker
	out                  []byte
	name, children, kind string // keys; kind may be empty
	ofBranch, ofLeaf     string // values of kind, as in the data
	branches, leaves     int
}

// tree writes v as a tree, if it is one all through.
func tree(v doc.Value) (doc.Value, bool) {
	w := treeWriter{tick: doc.Ticker{Ctx: context.Background()}}
	if v.Kind != doc.JSON || !w.keys(v.Data) {
		return v, false
	}
	data := bytes.TrimSpace(v.Data)
	var ok bool
	if jsonscan.Kind(data) == '[' {
		ok = w.nodes(data, 0)
	} else {
		ok = w.node(data, 0)
	}
	if !ok || w.branches == 0 || w.leaves == 0 {
		return v, false
	}
	out := v
	out.Kind, out.Data, out.Memo, out.Key, out.Note = doc.Text, w.out, nil, "", ""
	note := fmt.Sprintf("as a tree of %s; names that end in / have %s, indented by two spaces", w.name, w.children)
	if w.kind != "" {
		note += fmt.Sprintf("; their %s is %s, else %s", w.kind, show.Clip(w.ofBranch, 40), show.Clip(w.ofLeaf, 40))
	}
	out.AddNote(note)
	return out, true
}

// keys finds which key is which, by the first object that has an array.
func (w *treeWriter) keys(data []byte) bool {
	for !w.complete() {
		var next []byte
		if jsonscan.Kind(data) == '[' {
			for _, item := range jsonscan.Items(data) {
				if item[0] == '{' && bytes.IndexByte(item, '[') > 0 {
					next = item
					break
				}
			}
		}
		if next == nil && jsonscan.Kind(data) == '{' {
			for key, value := range jsonscan.Fields(data) {
				switch name := jsonscan.Unquote(key); {
				case value[0] == '[' && w.children == "":
					w.children = name
				case value[0] == '"' && (w.name == "" || name == "name"):
					if w.name != "" {
						w.kind = w.name
					}
					w.name = name
				case value[0] == '"' && w.kind == "":
					w.kind = name
				default:
					return false
				}
			}
			return w.complete()
		}
		if data = next; data == nil {
			return false
		}
	}
	return true
}

func (w *treeWriter) complete() bool { return w.name != "" && w.children != "" }

func (w *treeWriter) nodes(list []byte, depth int) bool {
	for _, item := range jsonscan.Items(list) {
		if jsonscan.Kind(item) != '{' || !w.node(item, depth) {
			return false
		}
	}
	return true
}

// node writes one object and what is below it, and reports false if a reader could not
// tell from that what it was.
func (w *treeWriter) node(object []byte, depth int) bool {
	var name, kind, children []byte
	for key, value := range jsonscan.Fields(object) {
		var to *[]byte
		switch jsonscan.Unquote(key) {
		case w.name:
			to = &name
		case w.children:
			to = &children
		case w.kind:
			to = &kind
		default:
			return false
		}
		if *to != nil {
			return false
		}
		*to = value
	}
	if w.tick.Err() != nil || depth > 100 || jsonscan.Kind(name) != '"' || children != nil && children[0] != '[' || (kind != nil) != (w.kind != "") {
		return false
	}
	text := jsonscan.Unquote(name)
	if text == "" || text[0] == ' ' || strings.HasSuffix(text, "/") || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '\ufffd' || r == '\u2028' }) {
		return false
	}
	said, count := &w.ofLeaf, &w.leaves
	if children != nil {
		said, count = &w.ofBranch, &w.branches
	}
	if *count++; *count == 1 {
		*said = string(kind)
	}
	if *said != string(kind) {
		return false
	}
	for range depth {
		w.out = append(w.out, "  "...)
	}
	w.out = append(w.out, text...)
	if children == nil {
		w.out = append(w.out, '\n')
		return true
	}
	w.out = append(w.out, "/\n"...)
	return w.nodes(children, depth+1)
}
