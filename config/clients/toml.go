package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"rlmproxy/config/jsonc"
)

// An expression is a table's header or a key with its value: whole lines of a file of TOML.
type expression struct {
	start, end int
	path       []string // from the top
}

// maxBrackets bounds nesting: the parsers recurse.
const maxBrackets = 500

// decodeTOML is data as encoding/json would have it, but for numbers.
func decodeTOML(path string, data []byte) (map[string]any, error) {
	depth := 0
	for _, c := range data {
		switch c {
		case '[', '{':
			if depth++; depth > maxBrackets {
				return nil, fmt.Errorf("%s: nested more than %d levels deep", path, maxBrackets)
			}
		case ']', '}':
			depth = max(depth-1, 0)
		}
	}
	var tree map[string]any
	err := toml.Unmarshal(bytes.TrimPrefix(data, jsonc.ByteOrderMark), &tree)
	if at, ok := errors.AsType[*toml.DecodeError](err); ok { // which quotes the line
		line, column := at.Position()
		err = fmt.Errorf("%s:%d:%d: not TOML", path, line, column)
	}
	return tree, err
}

// expressions are those of data, in order.
func expressions(data []byte) ([]expression, error) {
	var p unstable.Parser
	p.Reset(data)
	var all []expression
	var header []string
	for p.NextExpression() {
		node := p.Expression()
		if node.Kind == unstable.Comment {
			continue
		}
		var keys []string
		start, end := -1, 0
		for it := node.Key(); it.Next(); {
			key := it.Node()
			keys = append(keys, string(key.Data))
			if start < 0 {
				start = int(key.Raw.Offset)
			}
			end = int(key.Raw.Offset + key.Raw.Length)
		}
		if start < 0 {
			return nil, errors.New("an expression without a key")
		}
		path := keys
		if node.Kind == unstable.KeyValue {
			path = slices.Concat(header, keys)
			end = int(node.Raw.Offset + node.Raw.Length)
		} else {
			header = keys
		}
		e := expression{start: bytes.LastIndexByte(data[:start], '\n') + 1, end: len(data), path: path}
		if i := bytes.IndexByte(data[end:], '\n'); i >= 0 {
			e.end = end + i + 1
		}
		all = append(all, e)
	}
	return all, p.Error()
}

// serverOf is the server that e is about, or "".
func (e expression) serverOf(key string) string {
	if len(e.path) > 1 && e.path[0] == key {
		return e.path[1]
	}
	return ""
}

// split is data without the lines about servers, and those lines: runs of them with the
// comments between.
func split(data []byte, key string, servers func(name string) bool) (kept, cut []byte, err error) {
	all, err := expressions(data)
	from := 0
	for i := 0; i < len(all); i++ {
		if !servers(all[i].serverOf(key)) {
			continue
		}
		start := all[i].start
		for i+1 < len(all) && servers(all[i+1].serverOf(key)) {
			i++
		}
		kept = append(kept, data[from:start]...)
		if len(cut) > 0 {
			cut = append(cut, '\n')
		}
		cut = append(cut, data[start:all[i].end]...)
		from = all[i].end
	}
	return append(kept, data[from:]...), cut, err
}

// cutTOML is data without the lines about servers, and with what is added at its end. The
// result must say the same but for those servers, else it is refused.
func cutTOML(path string, data []byte, key string, servers func(name string) bool, added []byte) ([]byte, error) {
	before, err := decodeTOML(path, data)
	if err != nil {
		return nil, err
	}
	out, _, err := split(data, key, servers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(added) > 0 {
		nl := "\n"
		if bytes.Contains(data, []byte("\r\n")) {
			nl = "\r\n"
			added = bytes.ReplaceAll(bytes.ReplaceAll(added, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
		}
		if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, nl...)
		}
		if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n"+nl)) {
			out = append(out, nl...)
		}
		out = append(out, added...)
	}
	after, err := decodeTOML(path, out)
	if err != nil {
		return nil, errUnedited(path)
	}
	more, err := decodeTOML(path, added)
	if err != nil {
		return nil, errUnedited(path)
	}
	want := maps.Clone(serversIn(before, key))
	maps.DeleteFunc(want, func(name string, _ any) bool { return servers(name) })
	maps.Copy(want, serversIn(more, key))
	got := serversIn(after, key)
	delete(before, key)
	delete(after, key)
	if !(reflect.DeepEqual(before, after) && reflect.DeepEqual(got, want)) {
		return nil, errUnedited(path)
	}
	return out, nil
}

func errUnedited(path string) error {
	return fmt.Errorf("%s: its servers cannot be edited without changing something else: write each as [mcp_servers.name]", path)
}

// serversIn is the table at key, and empty where there is none.
func serversIn(tree map[string]any, key string) map[string]any {
	if t, ok := tree[key].(map[string]any); ok {
		return t
	}
	return map[string]any{}
}

// toml is our entry in the form of c.
func (l Launch) toml(c *Client) []byte {
	quoted := func(v any) string { // strings of JSON are strings of TOML
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(v)
		return strings.TrimSpace(b.String())
	}
	text := fmt.Appendf(nil, "[%s.%s]\ncommand = %s\nargs = %s\n", c.key, Ours, quoted(l.Command), quoted(l.Args))
	if seconds := l.timeout(c); seconds > 0 {
		text = fmt.Appendf(text, "tool_timeout_sec = %d\n", seconds)
	}
	return text
}
