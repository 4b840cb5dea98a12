package preview

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/jsonscan"
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
)

// jsonCalls suggests a program made of the fields and values that are there,
// and the structure.
func jsonCalls(v doc.Value, id string) []string {
	explore := call("proxy_explore", id)
	root, err := schema.Survey(context.Background(), v, schema.Depth)
	if err != nil { // cannot be: nothing ends this context
		return []string{explore}
	}
	if list, ok := schema.MainList(v, root); ok {
		program := listProgram(list)
		if program == "." {
			return []string{call("proxy_filter", id), explore}
		}
		if program != "" && jq.Compiles(program) {
			return []string{call("proxy_filter", id, "jq", show.Quote(program)), explore}
		}
		return []string{explore}
	}
	if _, at, ok := schema.MainText(v); ok && isWordy(at) {
		return []string{call("proxy_filter", id, "jq", show.Quote(at.JQ()), "format", show.Quote("text"))}
	}
	if path := largestMember(v.Data); path != nil && isWordy(path) {
		explore = call("proxy_explore", id, "path", show.Quote(path.String()))
	}
	return []string{explore}
}

// mostPicked is how many fields a suggested program shows of each record.
const mostPicked = 4

// listProgram selects records by a value that is there, or those with the
// largest number, and of them up to four short fields. It is "" if the records
// have none, and "." if a program would put out the whole list again: pages of it
// are the way on.
func listProgram(l schema.List) string {
	if l.Elem == nil || !isWordy(l.At) {
		return ""
	}
	objects := l.Elem.Kinds[schema.IsObject]
	if objects == 0 {
		if l.Whole && l.Elem.Kinds[schema.IsArray] == 0 {
			return "."
		}
		return ""
	}
	var names, same []string // same have one value everywhere
	var category, number *schema.Field
	for _, f := range l.Elem.Fields {
		sh := f.Node
		scalar := sh.Kinds[schema.IsObject]+sh.Kinds[schema.IsArray] == 0
		if !scalar || len(f.Name) > 60 || sh.Bytes/sh.Count > 100 || 2*sh.Count < objects {
			continue
		}
		if sh.Count > 1 && len(sh.Values.List) == 1 && sh.Values.Tell(sh.Count) != "" {
			same = append(same, jqKey(f.Name))
		}
		names = append(names, jqKey(f.Name))
		everywhere := sh.Count == l.Elem.Count && sh.Owners == sh.Count
		if sh.Numbers.N == 0 && sh.Values.Tell(sh.Count) != "" && len(sh.Values.List) > 1 && (category == nil || len(sh.Values.List) < len(category.Node.Values.List)) {
			category = f
		}
		if everywhere && sh.Numbers.N == sh.Count && !sh.Numbers.Rising && sh.Numbers.Min < sh.Numbers.Max && number == nil {
			number = f
		}
	}
	if len(names) == 0 {
		return ""
	}
	all := len(names)
	if len(names) > mostPicked {
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(same, name) })
	}
	names = names[:min(len(names), mostPicked)]
	if number != nil && category == nil && len(names) > 0 && !slices.Contains(names, jqKey(number.Name)) {
		names[len(names)-1] = jqKey(number.Name)
	}
	if len(names) == 0 {
		names = same[:mostPicked]
	}
	each := l.At.With(doc.Step{Kind: doc.StepEach}).JQ()
	if objects < l.Elem.Count { // what is no object would stop the program
		each += " | objects"
	}
	pick := "{" + strings.Join(names, ", ") + "}"
	if l.Tree() && category != nil {
		at := doc.Path{{Key: category.Name}}.JQ()
		return fmt.Sprintf("[.. | objects | select(%s == %s)] | length", at, category.Node.Values.Telling(category.Node.Count))
	}
	switch {
	case category != nil:
		at := doc.Path{{Key: category.Name}}.JQ()
		value := category.Node.Values.Telling(category.Node.Count)
		return fmt.Sprintf("[%s | select(%s == %s) | %s]", each, at, value, pick)
	case number != nil:
		at := doc.Path{{Key: number.Name}}.JQ()
		return fmt.Sprintf("[%s] | sort_by(-%s)[:10] | map(%s)", each, at, pick)
	}
	if l.Whole && objects == l.Elem.Count && all == len(l.Elem.Fields) && all <= mostPicked {
		return "."
	}
	return each + " | " + pick
}

// jqKey is a key as it stands in {…}.
func jqKey(name string) string {
	if doc.IsWord(name) {
		return name
	}
	return show.Quote(name)
}

// largestMember is the path of the biggest container in an object.
func largestMember(data []byte) (path doc.Path) {
	size := 0
	for key, value := range jsonscan.Fields(data) {
		if jsonscan.IsContainer(value) && len(value) > size {
			size, path = len(value), doc.Path{{Key: jsonscan.Unquote(key)}}
		}
	}
	return path
}

// isWordy reports that a path is short enough to suggest.
func isWordy(p doc.Path) bool { return len(p.String()) <= 100 }
