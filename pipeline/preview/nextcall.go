package preview

import (
	"context"
	"strconv"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/records"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
)

// NextCall is an example of what an agent can call for v, complete and ready to
// send: tool, space, arguments as JSON. id is the cache ID of v.
func NextCall(v doc.Value, id string) string {
	if rows, ok, err := records.Of(context.Background(), v); ok && err == nil {
		v = rows.Value
	}
	if v.Kind == doc.Text {
		switch n := doc.CountLines(v.Data); {
		case n > 20:
			return call("proxy_filter", id, "offset", strconv.Itoa(n/2), "limit", "20")
		case n == 1: // pages of it
			return call("proxy_filter", id)
		}
		return call("proxy_explore", id)
	}
	if program := exampleProgram(v); program != "" && jq.Compiles(program) {
		return call("proxy_filter", id, "jq", show.Quote(program))
	}
	return call("proxy_explore", id)
}

// exampleProgram shows up to four short fields of each record, "" if there are
// none, or no others to leave out.
func exampleProgram(v doc.Value) string {
	root, err := schema.Survey(context.Background(), v, schema.Depth)
	if err != nil { // cannot be: nothing ends this context
		return ""
	}
	list, ok := schema.MainList(v, root)
	if !ok || list.Elem == nil || len(list.At.String()) > 100 {
		return ""
	}
	var names []string
	for _, f := range list.Elem.Fields {
		isScalar := f.Node.Kinds[schema.IsObject]+f.Node.Kinds[schema.IsArray] == 0
		if isScalar && len(names) < 4 && len(f.Name) <= 60 && f.Node.Bytes/f.Node.Count <= 100 {
			name := f.Name
			if !doc.IsWord(name) {
				name = show.Quote(name)
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 || len(names) == len(list.Elem.Fields) {
		return ""
	}
	program := list.At.With(doc.Step{Kind: doc.StepEach}).JQ()
	if list.Elem.Kinds[schema.IsObject] < list.Elem.Count { // what is no object would stop the program
		program += " | objects"
	}
	return program + " | {" + strings.Join(names, ", ") + "}"
}

// call writes a call; values are JSON already.
func call(tool, id string, args ...string) string {
	b := jsonscan.AppendMember([]byte("{"), "cache_id", jsonscan.Quote(id))
	for i := 0; i < len(args); i += 2 {
		b = jsonscan.AppendMember(b, args[i], []byte(args[i+1]))
	}
	return tool + " " + string(b) + "}"
}
