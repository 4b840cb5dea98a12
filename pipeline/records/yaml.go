package records

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
)

const (
	// maxConfigBytes of YAML, TOML or INI are read, and maxConfigMarks of what divides
	// them: their parsers cannot be stopped, and take 200 bytes for each value.
	maxConfigBytes = 4 << 20
	maxConfigMarks = 400_000
	// maxConfigDepth bounds how deep the values are in one another.
	maxConfigDepth = 100
)

// tooLarge reports a text that the parsers do not get.
func tooLarge(text []byte) bool {
	if len(text) > maxConfigBytes {
		return true
	}
	marks := 0
	for _, c := range text {
		if c == '\n' || c == ',' || c == ':' || c == '-' || c == '[' || c == '{' || c == '=' {
			marks++
		}
	}
	return marks > maxConfigMarks
}

// readYAML reads YAML as the JSON that it stands for, several documents as an array.
// Keys keep their order; times stay strings; aliases are written out.
func readYAML(ctx context.Context, text []byte) (*Records, error) {
	if tooLarge(text) {
		return nil, nil
	}
	w := &yamlWriter{writer: newWriter(ctx, len(text))}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var documents [][]byte
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}
		start := len(w.out)
		if err != nil || !w.value(&node, maxConfigDepth) {
			return nil, w.err
		}
		if one := node.Content[0]; one.ShortTag() == "!!null" && one.Value == "" {
			continue // nothing behind the last ---
		}
		documents = append(documents, w.out[start:len(w.out):len(w.out)])
	}
	var data []byte
	switch len(documents) {
	case 0:
		return nil, nil
	case 1:
		data = documents[0]
	default:
		data = append(append([]byte{'['}, bytes.Join(documents, []byte{','})...), ']')
	}
	return configured("YAML", data), nil
}

// configured are records that are one JSON value; nil unless it is an object or an array.
func configured(form string, data []byte) *Records {
	if !doc.IsDocument(data) {
		return nil
	}
	return &Records{doc.Counted(doc.JSON, data, nil), form}
}

type yamlWriter struct {
	*writer
	merged int // members that were looked at to merge them, taken or not
}

// value writes a node, and reports false for what is not to be JSON.
func (w *yamlWriter) value(n *yaml.Node, depth int) bool {
	if depth == 0 || !w.ok() {
		return false
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return len(n.Content) == 1 && w.value(n.Content[0], depth)
	case yaml.AliasNode:
		return w.value(n.Alias, depth-1)
	case yaml.SequenceNode:
		w.out = append(w.out, '[')
		for i, item := range n.Content {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if !w.value(item, depth-1) {
				return false
			}
		}
		w.out = append(w.out, ']')
		return true
	case yaml.MappingNode:
		w.open()
		keys := map[string]bool{}
		if !w.members(n, keys, depth) {
			return false
		}
		w.out = append(w.out, '}')
		return true
	}
	return w.scalarNode(n)
}

// members writes those of a mapping, and then those that it merges and has not.
func (w *yamlWriter) members(n *yaml.Node, keys map[string]bool, depth int) bool {
	if depth == 0 {
		return false
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind == yaml.AliasNode:
			key = key.Alias
		case key.ShortTag() == "!!merge":
			merged = append(merged, value)
			continue
		}
		if key.Kind != yaml.ScalarNode {
			return false
		}
		if keys[key.Value] {
			continue
		}
		keys[key.Value] = true
		w.key(key.Value)
		if !w.value(value, depth-1) {
			return false
		}
	}
	for _, m := range merged {
		all := []*yaml.Node{m}
		if m.Kind == yaml.SequenceNode {
			all = m.Content
		}
		for _, from := range all {
			if from.Kind == yaml.AliasNode {
				from = from.Alias
			}
			w.merged += 1 + len(from.Content)
			if from.Kind != yaml.MappingNode || w.merged > w.limit || !w.members(from, keys, depth-1) {
				return false
			}
		}
	}
	return true
}

func (w *yamlWriter) scalarNode(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!null":
		w.out = append(w.out, "null"...)
		return true
	case "!!bool":
		w.out = strconv.AppendBool(w.out, strings.EqualFold(n.Value, "true"))
		return true
	case "!!int":
		if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil && !jsonscan.IsNumber(n.Value) {
			w.out = strconv.AppendInt(w.out, i, 10)
			return true
		}
		fallthrough
	case "!!float":
		if jsonscan.IsNumber(n.Value) {
			w.out = append(w.out, n.Value...)
			return true
		}
	}
	w.out = jsonscan.AppendQuote(w.out, n.Value)
	return true
}
