package preview

import (
	"context"
	"strings"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/records"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
)

const (
	maxNames    = 12 // of fields that the line about records has, of one object
	maxSeenText = 300
)

// seenLine says in a line what jq and fields see of a text that is made of records.
func seenLine(ctx context.Context, rows records.Records) string {
	root, err := schema.Survey(ctx, rows.Value, schema.Depth)
	if err != nil {
		return ""
	}
	what := "an object " + names(root, 1)
	if list := root.Items; list != nil {
		what = "an array of " + show.Count(rows.Total) + " " + names(list, 1)
	}
	return "jq and fields see " + show.Clip(show.Printable(what), maxSeenText)
}

// names are the fields of objects, those of objects in lists below them too, and the
// values of a level.
func names(node *schema.Node, below int) string {
	var list []string
	for i, f := range node.Fields {
		name := f.Name
		if i == maxNames {
			list = append(list, "…")
			break
		}
		if !doc.IsWord(name) {
			name = show.Quote(show.Clip(name, 40))
		}
		switch items := f.Node.Items; {
		case len(node.Fields) == 1 && len(f.Node.Fields) > 0:
			name += ": " + names(f.Node, below)
		case below > 0 && items != nil && len(items.Fields) > 0:
			name += ": [" + names(items, below-1) + "]"
		case f.Name == "level":
			values, _ := f.Node.Values.Summary(f.Node.Count, false)
			name += ": " + values
		}
		list = append(list, name)
	}
	return "{" + strings.Join(list, ", ") + "}"
}
