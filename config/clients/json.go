package clients

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

// A document is a file of JSON with comments that is changed in place: what is not touched
// keeps its bytes.
type document struct {
	path string
	mark []byte // a byte order mark, if there is one
	root hujson.Value
	nl   string // how its lines end
	unit string // one step of indentation
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// parse reads JSON. The error says where it is none.
func parse(path string, data []byte) (*document, error) {
	rest := bytes.TrimPrefix(data, byteOrderMark)
	root, err := config.ParseJSON(path, rest)
	if err != nil {
		return nil, err
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%s: not an object", path)
	}
	d := &document{path: path, mark: data[:len(data)-len(rest)], root: root, nl: "\n", unit: "  "}
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

func (d *document) bytes() []byte { return append(slices.Clip(d.mark), d.root.Pack()...) }

// indent is what stands before a value in its line, if that is blank.
func indent(extra hujson.Extra) string {
	line := string(extra[bytes.LastIndexByte(extra, '\n')+1:])
	if strings.Trim(line, " \t") != "" {
		return ""
	}
	return line
}

func name(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// index is the member of that name, or -1.
func index(obj *hujson.Object, key string) int {
	return slices.IndexFunc(obj.Members, func(m hujson.ObjectMember) bool { return name(m) == key })
}

// twice is a name that obj has twice, or "".
func twice(obj *hujson.Object) string {
	seen := map[string]bool{}
	for _, m := range obj.Members {
		if seen[name(m)] {
			return name(m)
		}
		seen[name(m)] = true
	}
	return ""
}

// object is the value below keys, which is nil if it is missing or null. Where make is true,
// it is made.
func (d *document) object(keys []string, create bool) (*hujson.Object, error) {
	obj := d.root.Value.(*hujson.Object)
	for depth, key := range keys {
		if again := twice(obj); again == key {
			return nil, fmt.Errorf("%s: %q is there twice", d.path, key)
		}
		at := index(obj, key)
		if at < 0 {
			if !create {
				return nil, nil
			}
			at = len(obj.Members)
			d.insert(obj, at, depth, key, hujson.Value{Value: &hujson.Object{}})
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

// insert puts a member into obj, which is depth levels below the top.
func (d *document) insert(obj *hujson.Object, at, depth int, key string, value hujson.Value) {
	before := hujson.Extra(d.nl + strings.Repeat(d.unit, depth+1))
	empty := len(obj.Members) == 0
	switch top := d.root.Value.(*hujson.Object); {
	case !empty:
		first := obj.Members[0].Name.BeforeExtra
		if bytes.IndexByte(first, '\n') >= 0 {
			before = hujson.Extra(d.nl + indent(first))
		} else {
			before = nil // all in one line
		}
	case len(top.Members) > 0 && bytes.IndexByte(top.Members[0].Name.BeforeExtra, '\n') < 0:
		before = nil
	}
	comma := trailing(obj)
	setTrailing(obj, false)
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
	}
	obj.Members = slices.Insert(obj.Members, at, m)
	setTrailing(obj, comma)
	if empty && before != nil && bytes.IndexByte(obj.AfterExtra, '\n') < 0 {
		obj.AfterExtra = append(obj.AfterExtra, d.nl+strings.Repeat(d.unit, depth)...)
	}
}

// remove takes the member out.
func remove(obj *hujson.Object, at int) {
	comma := trailing(obj)
	setTrailing(obj, false)
	obj.Members = slices.Delete(obj.Members, at, at+1)
	setTrailing(obj, comma)
}

// trailing reports whether a comma follows the last member.
func trailing(obj *hujson.Object) bool {
	return len(obj.Members) > 0 && obj.Members[len(obj.Members)-1].Value.AfterExtra != nil
}

func setTrailing(obj *hujson.Object, comma bool) {
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
func (d *document) value(v any, depth int, oneLine bool) (hujson.Value, error) {
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

// put inserts v into obj, which keys lead to.
func (d *document) put(obj *hujson.Object, keys []string, at int, key string, v any) error {
	model := obj
	if top := d.root.Value.(*hujson.Object); len(obj.Members) == 0 && len(top.Members) > 0 {
		model = top
	}
	oneLine := len(model.Members) > 0 && bytes.IndexByte(model.Members[0].Name.BeforeExtra, '\n') < 0
	value, err := d.value(v, len(keys)+1, oneLine)
	if err == nil {
		d.insert(obj, at, len(keys), key, value)
	}
	return err
}

// decoded is v as encoding/json decodes it, with numbers as they are written.
func decoded(v hujson.Value) (any, error) {
	v = v.Clone()
	v.Standardize()
	dec := json.NewDecoder(bytes.NewReader(v.Pack()))
	dec.UseNumber()
	var out any
	err := dec.Decode(&out)
	return out, err
}

// same reports whether two values are the same but for blanks, comments and the order of
// members.
func same(a, b hujson.Value) bool {
	x, errX := decoded(a)
	y, errY := decoded(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}
