// Package jsonc changes files of JSON with comments in place.
//
//	data ── Parse ──► Document ── Object, Insert, Put, Remove ──► Bytes
//
// What is not touched keeps its bytes. Nothing here opens a file.
package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"rlmproxy/config"
)

// A Document is a file that is changed in place.
type Document struct {
	path string
	mark []byte // a byte order mark, if there is one
	root hujson.Value
	nl   string // how its lines end
	unit string // one step of indentation
}

// ByteOrderMark is what some programs begin a file with.
var ByteOrderMark = []byte("\xef\xbb\xbf")

// Parse reads the file at path. The error says where it is no JSON.
func Parse(path string, data []byte) (*Document, error) {
	rest := bytes.TrimPrefix(data, ByteOrderMark)
	root, err := config.ParseJSON(path, rest)
	if err != nil {
		return nil, err
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%s: not an object", path)
	}
	d := &Document{path: path, mark: data[:len(data)-len(rest)], root: root, nl: "\n", unit: "  "}
	if bytes.Contains(data, []byte("\r\n")) {
		d.nl = "\r\n"
	}
	if len(top.Members) > 0 {
		if i := indent(top.Members[0].Name.BeforeExtra); i != "" {
			d.unit = i
		}
	}
	return d, nil
}

// Bytes is the file as it is now.
func (d *Document) Bytes() []byte { return append(slices.Clip(d.mark), d.root.Pack()...) }

// indent is what stands before a value in its line, if that is blank.
func indent(extra hujson.Extra) string {
	line := string(extra[bytes.LastIndexByte(extra, '\n')+1:])
	if strings.Trim(line, " \t") != "" {
		return ""
	}
	return line
}

// blank reports whether extra is blanks alone, and some.
func blank(extra hujson.Extra) bool {
	return len(extra) > 0 && strings.Trim(string(extra), " \t") == ""
}

// Name is that of a member.
func Name(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// Index is the member of that name, or -1.
func Index(obj *hujson.Object, key string) int {
	return slices.IndexFunc(obj.Members, func(m hujson.ObjectMember) bool { return Name(m) == key })
}

// twice is a name that obj has twice, or "".
func twice(obj *hujson.Object) string {
	seen := map[string]bool{}
	for _, m := range obj.Members {
		if seen[Name(m)] {
			return Name(m)
		}
		seen[Name(m)] = true
	}
	return ""
}

// Object is the value below keys, which is nil if it is missing or null. Where create is true,
// it is made.
func (d *Document) Object(keys []string, create bool) (*hujson.Object, error) {
	obj := d.root.Value.(*hujson.Object)
	for depth, key := range keys {
		if again := twice(obj); again == key {
			return nil, fmt.Errorf("%s: %q is there twice", d.path, key)
		}
		at := Index(obj, key)
		if at < 0 {
			if !create {
				return nil, nil
			}
			at = len(obj.Members)
			d.Insert(obj, at, depth, key, hujson.Value{Value: &hujson.Object{}})
		}
		value := &obj.Members[at].Value
		if value.Value.Kind() == 'n' {
			if !create {
				return nil, nil
			}
			value.Value = &hujson.Object{}
		}
		next, ok := value.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s: %q is not an object", d.path, strings.Join(keys[:depth+1], "."))
		}
		obj = next
	}
	if again := twice(obj); again != "" {
		return nil, fmt.Errorf("%s: %q is there twice in %q", d.path, again, strings.Join(keys, "."))
	}
	return obj, nil
}

// Insert puts a member into obj, which is depth levels below the top.
func (d *Document) Insert(obj *hujson.Object, at, depth int, key string, value hujson.Value) {
	before := hujson.Extra(d.nl + strings.Repeat(d.unit, depth+1))
	var beside hujson.Extra // before the value, and in a line of several the name
	empty := len(obj.Members) == 0
	switch top := d.root.Value.(*hujson.Object); {
	case !empty:
		first := obj.Members[0].Name.BeforeExtra
		if bytes.IndexByte(first, '\n') >= 0 {
			before = hujson.Extra(d.nl + indent(first))
		} else {
			before = nil // all in one line
			if at == len(obj.Members) {
				beside = obj.Members[0].Value.BeforeExtra
			}
		}
	case len(top.Members) > 0 && bytes.IndexByte(top.Members[0].Name.BeforeExtra, '\n') < 0:
		before = nil
	}
	comma := Trailing(obj)
	SetTrailing(obj, false)
	// A comment at the end of the line before stays there.
	if i := bytes.IndexByte(obj.AfterExtra, '\n'); i >= 0 && at == len(obj.Members) && before != nil {
		if line := bytes.TrimSpace(obj.AfterExtra[:i]); bytes.HasPrefix(line, []byte("//")) {
			before = slices.Concat(hujson.Extra(" "), hujson.Extra(line), before)
			obj.AfterExtra = slices.Concat(hujson.Extra(d.nl), obj.AfterExtra[i+1:])
		}
	}
	m := hujson.ObjectMember{Name: hujson.Value{BeforeExtra: before, Value: hujson.String(key)}, Value: value}
	if before != nil {
		m.Value.BeforeExtra = hujson.Extra(" ")
	} else if blank(beside) {
		m.Name.BeforeExtra, m.Value.BeforeExtra = slices.Clone(beside), slices.Clone(beside)
	}
	obj.Members = slices.Insert(obj.Members, at, m)
	SetTrailing(obj, comma)
	if empty && before != nil && bytes.IndexByte(obj.AfterExtra, '\n') < 0 {
		obj.AfterExtra = append(obj.AfterExtra, d.nl+strings.Repeat(d.unit, depth)...)
	}
}

// Remove takes the member out.
func Remove(obj *hujson.Object, at int) {
	comma := Trailing(obj)
	SetTrailing(obj, false)
	obj.Members = slices.Delete(obj.Members, at, at+1)
	SetTrailing(obj, comma)
}

// RemoveAlone is Remove that takes what is said of the member in its line along, and leaves what
// the end of the line before says of another.
func RemoveAlone(obj *hujson.Object, at int) {
	comma := Trailing(obj)
	SetTrailing(obj, false)
	before, _, _ := bytes.Cut(obj.Members[at].Name.BeforeExtra, []byte("\n"))
	obj.Members = slices.Delete(obj.Members, at, at+1)
	next := &obj.AfterExtra
	if at < len(obj.Members) {
		next = &obj.Members[at].Name.BeforeExtra
	}
	if i := bytes.IndexByte(*next, '\n'); i >= 0 {
		*next = (*next)[i:]
	}
	if before = bytes.TrimRight(before, " \t\r"); len(before) > 0 {
		rest := *next
		if bytes.IndexByte(rest, '\n') < 0 {
			rest = append(hujson.Extra("\n"), rest...)
		}
		*next = slices.Concat(before, rest)
	}
	SetTrailing(obj, comma)
}

// Trailing reports whether a comma follows the last member.
func Trailing(obj *hujson.Object) bool {
	return len(obj.Members) > 0 && obj.Members[len(obj.Members)-1].Value.AfterExtra != nil
}

// SetTrailing has a comma follow the last member, or none.
func SetTrailing(obj *hujson.Object, comma bool) {
	if len(obj.Members) == 0 {
		return
	}
	last := &obj.Members[len(obj.Members)-1].Value
	switch {
	case comma && last.AfterExtra == nil:
		last.AfterExtra = hujson.Extra{}
	case !comma && last.AfterExtra != nil:
		obj.AfterExtra = append(slices.Clone(last.AfterExtra), obj.AfterExtra...)
		last.AfterExtra = nil
	}
}

// value is v as it stands depth levels below the top.
func (d *Document) value(v any, depth int, oneLine bool) (hujson.Value, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if !oneLine {
		enc.SetIndent(strings.Repeat(d.unit, depth), d.unit)
	}
	if err := enc.Encode(v); err != nil {
		return hujson.Value{}, err
	}
	text := bytes.TrimSpace(b.Bytes())
	return hujson.Parse(bytes.ReplaceAll(text, []byte("\n"), []byte(d.nl)))
}

// Put inserts v into obj, which keys lead to.
func (d *Document) Put(obj *hujson.Object, keys []string, at int, key string, v any) error {
	model := obj
	if top := d.root.Value.(*hujson.Object); len(obj.Members) == 0 && len(top.Members) > 0 {
		model = top
	}
	oneLine := len(model.Members) > 0 && bytes.IndexByte(model.Members[0].Name.BeforeExtra, '\n') < 0
	value, err := d.value(v, len(keys)+1, oneLine)
	if err == nil {
		d.Insert(obj, at, len(keys), key, value)
	}
	return err
}

// Set puts v in the place of the member of obj, which keys lead to, or behind the others where
// there is none of that name. What stands beside a value stays.
func (d *Document) Set(obj *hujson.Object, keys []string, key string, v any) error {
	at := Index(obj, key)
	if at < 0 {
		return d.Put(obj, keys, len(obj.Members), key, v)
	}
	oneLine := bytes.IndexByte(obj.Members[0].Name.BeforeExtra, '\n') < 0
	value, err := d.value(v, len(keys)+1, oneLine)
	if err == nil {
		obj.Members[at].Value.Value = value.Value
	}
	return err
}

// Decoded is v as encoding/json decodes it, with numbers as they are written.
func Decoded(v hujson.Value) (any, error) {
	v = v.Clone()
	v.Standardize()
	dec := json.NewDecoder(bytes.NewReader(v.Pack()))
	dec.UseNumber()
	var out any
	err := dec.Decode(&out)
	return out, err
}

// Same reports whether two values are the same but for blanks, comments and the order of
// members.
func Same(a, b hujson.Value) bool {
	x, errX := Decoded(a)
	y, errY := Decoded(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}
