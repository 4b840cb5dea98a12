package config

import (
	"encoding/json"
	"fmt"
	"path"

	"github.com/tailscale/hujson"
)

// A reader takes typed values out of a document, noting every mistake and
// going on.
type reader struct {
	doc      document
	mistakes ErrorList
	warnings []string
}

// A node is one value of the document.
type node struct {
	value  hujson.Value
	path   string // mcpServers.git.args[1]
	secret bool   // its text must not be shown
}

// A member is one key of an object with its value.
type member struct {
	key    string
	offset int // of the key
	value  node
}

func (n node) literal() hujson.Literal {
	lit, _ := n.value.Value.(hujson.Literal)
	return lit
}

func (n node) isNull() bool { return n.literal().Kind() == 'n' }

// found says what stands at n, for "found …".
func (n node) found() string {
	switch n.value.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 'n':
		return "null"
	}
	lit := n.literal()
	kind := map[hujson.Kind]string{'"': "a string", '0': "a number", 't': "true", 'f': "false"}[lit.Kind()]
	switch {
	case n.secret || lit.Kind() == 't' || lit.Kind() == 'f':
		return kind
	case lit.Kind() == '"':
		return preview(lit.String())
	case len(lit) > maxPreview:
		return string(lit[:maxPreview]) + "…"
	}
	return string(lit)
}

// wrong notes that n is not what it should be.
func (r *reader) wrong(n node, want string) {
	r.mistake(n, "expected "+want+", found "+n.found(), "")
}

func (r *reader) mistake(n node, text, hint string) {
	r.mistakeAt(n.value.StartOffset, n.path, text, hint)
}

// maxKept bounds mistakes, and warnings. To place one takes time in the
// size of the file, and a generated file can have one in every value.
const maxKept = 200

func (r *reader) mistakeAt(offset int, key, text, hint string) {
	if len(r.mistakes) >= maxKept {
		return
	}
	m := r.doc.mistake(offset, text)
	m.Key, m.Hint = key, hint
	r.mistakes = append(r.mistakes, m)
}

func (r *reader) warn(offset int, key, text, hint string) {
	if len(r.warnings) >= maxKept {
		return
	}
	m := r.doc.mistake(offset, text)
	m.Key, m.Hint = key, hint
	r.warnings = append(r.warnings, m.Error())
}

// object lists the members of n in the file's order, without those whose
// value is null: hosts write null for "not set". A key's second occurrence
// is a mistake. ok is false when n is no object.
func (r *reader) object(n node) (members []member, ok bool) {
	obj, ok := n.value.Value.(*hujson.Object)
	if !ok {
		r.wrong(n, "an object")
		return nil, false
	}
	first := map[string]int{}
	for _, m := range obj.Members {
		name, _ := m.Name.Value.(hujson.Literal)
		key := name.String()
		at := pathTo(n.path, key)
		if offset, seen := first[key]; seen && len(r.mistakes) < maxKept {
			line, _ := r.doc.position(offset)
			r.mistakeAt(m.Name.StartOffset, at, fmt.Sprintf("the key stands twice, first on line %d", line), "")
			continue
		}
		first[key] = m.Name.StartOffset
		value := node{m.Value, at, n.secret || secretKeys[key]}
		if !value.isNull() {
			members = append(members, member{key, m.Name.StartOffset, value})
		}
	}
	return members, true
}

// text is the string n, or "" with a mistake noted.
func (r *reader) text(n node) string {
	lit := n.literal()
	if lit.Kind() == '"' {
		return lit.String()
	}
	want := "a string"
	if lit != nil {
		want = "a string in quotes"
	}
	r.wrong(n, want)
	return ""
}

// texts are the strings of the array n.
func (r *reader) texts(n node) []string {
	arr, ok := n.value.Value.(*hujson.Array)
	if !ok {
		hint := ""
		if n.literal().Kind() == '"' {
			hint = `each is a string of its own, in brackets: ["one", "two"]`
		}
		r.mistake(n, "expected an array of strings, found "+n.found(), hint)
		return nil
	}
	var list []string
	for i, v := range arr.Elements {
		list = append(list, r.text(node{v, fmt.Sprintf("%s[%d]", n.path, i), n.secret}))
	}
	return list
}

// textMap is the object n with values that are all strings.
func (r *reader) textMap(n node) map[string]string {
	members, _ := r.object(n)
	if len(members) == 0 {
		return nil
	}
	m := map[string]string{}
	for _, each := range members {
		m[each.key] = r.text(each.value)
	}
	return m
}

// globs are the patterns in the array n.
func (r *reader) globs(n node) []string {
	list := r.texts(n)
	if arr, ok := n.value.Value.(*hujson.Array); ok {
		for i, v := range arr.Elements {
			r.glob(v.StartOffset, fmt.Sprintf("%s[%d]", n.path, i), list[i])
		}
	}
	return list
}

// glob checks one pattern over tool names.
func (r *reader) glob(offset int, key, pattern string) {
	if _, err := path.Match(pattern, ""); err != nil {
		r.mistakeAt(offset, key, "not a glob: "+preview(pattern), `* is any run, ? one character, [a-z] a range; \[ is a bracket itself`)
	}
}

func (r *reader) truth(n node) (value bool) {
	switch n.literal().Kind() {
	case 't', 'f':
		return n.literal().Bool()
	}
	r.wrong(n, "true or false")
	return false
}

// parsed is n as parse reads it. Numbers count, and strings too where
// quoted says so. It is nil when a mistake was noted.
func (r *reader) parsed(n node, parse parser, quoted bool) any {
	lit := n.literal()
	text := string(lit)
	if lit.Kind() == '"' && quoted {
		text = lit.String()
	} else if !json.Valid(lit) || lit.Kind() == '"' {
		text = "\x00" // no parser accepts it, and all say what they want
	}
	value, want := parse(text)
	if want != "" {
		r.wrong(n, want)
		return nil
	}
	return value
}
