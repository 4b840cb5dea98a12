package pipeline

import (
	"context"
	"strconv"
	"strings"
)

// NextCalls returns one or two calls that are useful for v, complete and
// ready to send: tool, space, arguments as JSON. id is the cache ID of v.
func NextCalls(v Value, id string) []string {
	if v.Kind == Text {
		return textCalls(v, id)
	}
	explore := call("proxy_explore", id)
	list, base := v.Data, Path(nil)
	if v.Kind == JSON && kindOf(v.Data) == '{' {
		if list, base = largestArray(v.Data, nil, 6); list == nil {
			if path := largestMember(v.Data); path != nil && isWordy(path) {
				explore = call("proxy_explore", id, "path", quoted(path.String()))
			}
			return []string{explore}
		}
	}
	program := listProgram(v, list, base)
	if program == "" || !compiles(program) {
		return []string{explore}
	}
	return []string{call("proxy_filter", id, "jq", quoted(program)), explore}
}

// listProgram selects up to three short fields of the first records.
func listProgram(v Value, list []byte, base Path) string {
	lines := v
	if v.Kind == JSON {
		lines = counted(JSON, list, nil)
	}
	head, err := (&Slice{Limit: 50}).Apply(context.Background(), lines)
	if err != nil {
		return ""
	}
	root, err := survey(context.Background(), head, 1)
	if err != nil || root.items == nil || root.items.kinds[isObject] == 0 {
		return ""
	}
	var names []string
	for _, f := range root.items.fields {
		scalar := f.shape.kinds[isObject]+f.shape.kinds[isArray] == 0
		if len(names) == 3 || !scalar || len(f.name) > 60 || f.shape.bytes/f.shape.count > 100 {
			continue
		}
		if isWord(f.name) {
			names = append(names, f.name)
		} else {
			names = append(names, quoted(f.name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	program := base.with(Step{Kind: StepEach}).JQ()
	for _, value := range items(lines) {
		if value[0] != '{' { // it would stop the program
			program += " | objects"
			break
		}
	}
	return program + " | {" + strings.Join(names, ", ") + "}"
}

// largestMember is the path of the biggest container in an object.
func largestMember(data []byte) (path Path) {
	size := 0
	for key, value := range members(data) {
		if isOpen(value) && len(value) > size {
			size, path = len(value), Path{{Key: unquote(key)}}
		}
	}
	return path
}

// isWordy reports that a path is short enough to suggest.
func isWordy(p Path) bool { return len(p.String()) <= 100 }

// textCalls are those of the digest, or a look at the middle.
func textCalls(v Value, id string) []string {
	d, err := digestOf(context.Background(), v)
	if err != nil { // cannot be: nothing ends this context
		return nil
	}
	var calls []string
	for _, c := range d.calls {
		calls = append(calls, call(c[0], id, c[1:]...))
	}
	if len(calls) < 2 {
		calls = append(calls, call("proxy_explore", id))
	}
	if n := countLines(v.Data); len(calls) < 2 && n > 20 {
		calls = append(calls, call("proxy_filter", id, "offset", strconv.Itoa(n/2), "limit", "20"))
	}
	return calls[:min(len(calls), 2)]
}

// call writes a call; values are JSON already.
func call(tool, id string, args ...string) string {
	b := append([]byte(tool), ` {"cache_id":`...)
	b = appendQuoted(b, id)
	for i := 0; i < len(args); i += 2 {
		b = append(appendQuoted(append(b, ','), args[i]), ':')
		b = append(b, args[i+1]...)
	}
	return string(append(b, '}'))
}

func quoted(s string) string { return string(appendQuoted(nil, s)) }
