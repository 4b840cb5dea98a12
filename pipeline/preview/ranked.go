package preview

import (
	"slices"
	"strings"

	"rlmproxy/pipeline/schema"
)

// rankedBy is the number that records are likely to be ranked by, at most two levels
// deep, or "".
func rankedBy(elem *schema.Node) (by string) {
	if elem == nil {
		return ""
	}
	likely := false
	look := func(node *schema.Node, prefix string) {
		for _, f := range node.Fields {
			n := f.Node
			if 2*n.Numbers.N < elem.Count || n.Numbers.Rising || n.Constant() != "" || isLabel(f.Name) {
				continue
			}
			if words := isAmount(f.Name); by == "" || words && !likely {
				by, likely = prefix+f.Name, words
			}
		}
	}
	look(elem, "")
	for _, f := range elem.Fields {
		if f.Node.Kinds[schema.IsObject] == f.Node.Count && f.Node.Rest == nil && !likely {
			look(f.Node, f.Name+".")
		}
	}
	return by
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
