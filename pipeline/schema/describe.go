package schema

import (
	"fmt"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/show"
)

// DescribeRoot is what kind of JSON a document is, and how many items it has.
func DescribeRoot(v doc.Value, root *Node) string {
	switch {
	case v.Kind == doc.JSONLines:
		return "JSON Lines, an array of " + show.Plural(root.MaxLen, "lines")
	case root.Kinds[IsArray] > 0:
		return "JSON array of " + show.Plural(root.MaxLen, "items")
	case root.Kinds[IsObject] > 0:
		return "JSON object of " + show.Plural(root.Members, "fields")
	}
	return "JSON " + root.types()
}

// types names the types of node, most frequent first, the others with their
// share.
func (node *Node) types() string {
	var names []string
	used := [numKinds]bool{}
	for {
		best := -1
		for k, n := range node.Kinds {
			if n > 0 && !used[k] && (best < 0 || n > node.Kinds[best]) {
				best = k
			}
		}
		if best < 0 {
			return strings.Join(names, " or ")
		}
		used[best] = true
		name := kindNames[best]
		if best == isString && len(names) > 0 && node.onlyEmpty() {
			name = `""`
		}
		if len(names) > 0 {
			name += " (" + percent(node.Kinds[best], node.Count) + ")"
		}
		names = append(names, name)
	}
}

// Describe is the line for one path, without the path. Of a scalar that is
// there once it is the value.
func Describe(at doc.Path, node, parent *Node) string {
	types := node.types()
	if parent.Rest == node {
		types = mapKeys(parent) + " → " + types
	} else if node.Count == 1 && !jsonscan.IsContainer(node.first) && parent.Count == 1 {
		return show.Printable(show.Elide(node.first, 120))
	}
	parts := []string{types}
	if last := at[len(at)-1]; last.Kind == doc.StepKey && node.Owners < parent.Kinds[IsObject] {
		parts = append(parts, "in "+percent(node.Owners, parent.Kinds[IsObject]))
	}
	if node.Kinds[IsArray] > 0 && node.Items != nil {
		if node.minItems == node.MaxLen {
			parts = append(parts, show.Plural(node.MaxLen, "items"))
		} else {
			parts = append(parts, fmt.Sprintf("%s–%s", show.Count(node.minItems), show.Plural(node.MaxLen, "items")))
		}
	}
	scalars := node.Kinds[isNumber] + node.Kinds[isString] + node.Kinds[isBool]
	values, all := node.Values.Summary(scalars, node.Kinds[isNumber] == scalars || opaque(node.example))
	if dates := node.dates; dates.n > 0 && dates.n == node.Kinds[isString] && !dates.mixed && (values == "" || len(node.Values.List) > fewDates) {
		parts = append(parts, string(dates.min)+".."+string(dates.max))
	} else if values != "" {
		parts = append(parts, values)
	} else if node.example != nil && !node.OnlyJSON() {
		parts = append(parts, "e.g. "+show.Printable(show.Elide(node.example, 48)))
	}
	if node.Numbers.N > 0 && !all {
		parts = append(parts, node.Numbers.String())
	}
	if mean := node.Bytes / node.Count; mean > 100 {
		parts = append(parts, "~"+show.Count(mean)+" bytes")
	}
	return strings.Join(parts, ", ")
}

// KeyNames names the first keys of objects, or of the objects in arrays, with how
// often they are there if not always: {id, name 40%, …+5}.
func (node *Node) KeyNames() string {
	if node.Items != nil && node.Kinds[IsObject] == 0 {
		node = node.Items
	}
	if len(node.Fields) == 0 || node.Rest != nil {
		return ""
	}
	out := ""
	for i, f := range node.Fields {
		name := show.Clip(show.Printable(f.Name), 30)
		if len(out)+len(name) > 60 {
			out += fmt.Sprintf(", …+%d", len(node.Fields)-i)
			break
		}
		if out != "" {
			out += ", "
		}
		if out += name; f.Node.Owners < node.Kinds[IsObject] {
			out += " " + percent(f.Node.Owners, node.Kinds[IsObject])
		}
	}
	return "{" + out + "}"
}

// mapKeys is {1,204 keys like "a1b2"}.
func mapKeys(node *Node) string {
	n, more := node.keys()
	plus := ""
	if more {
		plus = "+"
	}
	like := ""
	for i, f := range node.Fields[:min(len(node.Fields), 3)] {
		like += []string{" like ", ", ", ", "}[i] + show.Quote(show.Clip(f.Name, 30))
	}
	return fmt.Sprintf("{%s%s keys%s}", show.Count(n), plus, like)
}

// percent of a total, and neither 0% nor 100% for what is only nearly so.
func percent(n, of int) string {
	switch {
	case n >= of:
		return "100%"
	case 200*n < of:
		return "<1%"
	}
	return fmt.Sprintf("%d%%", min((n*200+of)/(2*of), 99))
}
