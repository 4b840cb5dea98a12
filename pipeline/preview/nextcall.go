package preview

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/table"
)

// NextCall is an example of what an agent can call for v, complete and ready to
// send: tool, space, arguments as JSON; "" where it would say nothing that the preview
// does not. id is the cache ID of v.
func NextCall(v doc.Value, id string) string {
	if rows, ok, err := table.Records(context.Background(), v); ok && err == nil {
		v = rows
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
	if program := topProgram(v); program != "" && jq.Compiles(program) {
		return call("proxy_filter", id, "jq", show.Quote(program))
	}
	return ""
}

const (
	// A program sorts what has minRanked records, and maxRankedBytes in all, which
	// takes a second or two.
	minRanked      = 20
	maxRankedBytes = 20 << 20
)

// topProgram shows the records with the highest values of a number, or is "": no
// preview answers that, and many ask.
func topProgram(v doc.Value) string {
	if len(v.Data) > maxRankedBytes {
		return ""
	}
	root, err := schema.Fold(context.Background(), v, schema.Depth)
	if err != nil { // cannot be: nothing ends this context
		return ""
	}
	list, ok := schema.MainList(v, root)
	if !ok || list.ItemUnit() == "fields" || list.N < minRanked || len(list.At.String()) > 100 || list.Elem.Kinds[schema.IsObject] < list.Elem.Count {
		return ""
	}
	by, name := rankedBy(list.Elem)
	if by == nil {
		return ""
	}
	program := list.At.JQ() + " | sort_by(" + by.JQ() + ") | .[-5:]"
	if name != "" {
		program += " | map([" + doc.Path{{Key: name}}.JQ() + ", " + by.JQ() + "])"
	}
	return strings.TrimPrefix(program, ". | ")
}

// rankedBy is the number that records are likely to be ranked by, at most two levels
// deep, and a text that names a record.
func rankedBy(elem *schema.Node) (by doc.Path, name string) {
	likely := false
	look := func(node *schema.Node, at doc.Path) {
		for _, f := range node.Fields {
			n := f.Node
			if name == "" && len(at) == 0 && n.IsText() && !n.Dull() && len(f.Name) <= 60 {
				name = f.Name
			}
			if 2*n.Numbers.N < elem.Count || n.Numbers.Rising || len(f.Name) > 60 || n.Constant() != "" || isLabel(f.Name) {
				continue
			}
			if words := isAmount(f.Name); by == nil || words && !likely {
				by, likely = at.With(doc.Step{Key: f.Name}), words
			}
		}
	}
	look(elem, nil)
	for _, f := range elem.Fields {
		if f.Node.Kinds[schema.IsObject] == f.Node.Count && f.Node.Rest == nil && !likely {
			look(f.Node, doc.Path{{Key: f.Name}})
		}
	}
	return by, name
}

// amounts are parts of the names of what things are ranked by.
var amounts = []string{"count", "total", "size", "amount", "price", "cost", "score", "duration", "elapsed", "delay", "mag", "rating",
	"gross", "population", "star", "download", "byte", "death", "rate", "value", "salary", "weight", "length", "num", "max", "usage"}

func isAmount(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(amounts, func(word string) bool { return strings.Contains(name, word) })
}

// isLabel reports whether a number of that name names a thing.
func isLabel(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "id", "index", "number", "year", "month", "day", "line", "column", "port", "version", "lat", "lon", "lng", "latitude", "longitude", "code", "zip":
		return true
	}
	return strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_code") || strings.HasSuffix(name, " code")
}

// call writes a call; values are JSON already.
func call(tool, id string, args ...string) string {
	b := jsonscan.AppendMember([]byte("{"), "cache_id", jsonscan.Quote(id))
	for i := 0; i < len(args); i += 2 {
		b = jsonscan.AppendMember(b, args[i], []byte(args[i+1]))
	}
	return tool + " " + string(b) + "}"
}
