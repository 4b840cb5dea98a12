package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rlmproxy/pipeline/jq"
	"rlmproxy/pipeline/show"
)

// jsonCalls suggests a program made of the fields and values that are there,
// and the structure.
func jsonCalls(v Value, id string) []string {
	explore := call("proxy_explore", id)
	root, err := survey(context.Background(), v, surveyDepth)
	if err != nil { // cannot be: nothing ends this context
		return []string{explore}
	}
	if list, ok := mainListing(v, root); ok {
		program := listProgram(list)
		if program == "." {
			return []string{call("proxy_filter", id), explore}
		}
		if program != "" && jq.Compiles(program) {
			return []string{call("proxy_filter", id, "jq", show.Quote(program)), explore}
		}
		return []string{explore}
	}
	if _, at, ok := mainText(v); ok && isWordy(at) {
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
func listProgram(l listing) string {
	if l.elem == nil || !isWordy(l.at) {
		return ""
	}
	objects := l.elem.kinds[isObject]
	if objects == 0 {
		if l.whole && l.elem.kinds[isArray] == 0 {
			return "."
		}
		return ""
	}
	var names, same []string // same have one value everywhere
	var category, number *field
	for _, f := range l.elem.fields {
		sh := f.shape
		scalar := sh.kinds[isObject]+sh.kinds[isArray] == 0
		if !scalar || len(f.name) > 60 || sh.bytes/sh.count > 100 || 2*sh.count < objects {
			continue
		}
		if sh.count > 1 && len(sh.values.list) == 1 && sh.values.tell(sh.count) != "" {
			same = append(same, jqKey(f.name))
		}
		names = append(names, jqKey(f.name))
		everywhere := sh.count == l.elem.count && sh.owners == sh.count
		if sh.numbers.n == 0 && sh.values.tell(sh.count) != "" && len(sh.values.list) > 1 && (category == nil || len(sh.values.list) < len(category.shape.values.list)) {
			category = f
		}
		if everywhere && sh.numbers.n == sh.count && !sh.numbers.rising && sh.numbers.min < sh.numbers.max && number == nil {
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
	if number != nil && category == nil && len(names) > 0 && !slices.Contains(names, jqKey(number.name)) {
		names[len(names)-1] = jqKey(number.name)
	}
	if len(names) == 0 {
		names = same[:mostPicked]
	}
	each := l.at.with(Step{Kind: StepEach}).JQ()
	if objects < l.elem.count { // what is no object would stop the program
		each += " | objects"
	}
	pick := "{" + strings.Join(names, ", ") + "}"
	if l.tree() && category != nil {
		at := Path{{Key: category.name}}.JQ()
		return fmt.Sprintf("[.. | objects | select(%s == %s)] | length", at, category.shape.values.telling(category.shape.count))
	}
	switch {
	case category != nil:
		at := Path{{Key: category.name}}.JQ()
		value := category.shape.values.telling(category.shape.count)
		return fmt.Sprintf("[%s | select(%s == %s) | %s]", each, at, value, pick)
	case number != nil:
		at := Path{{Key: number.name}}.JQ()
		return fmt.Sprintf("[%s] | sort_by(-%s)[:10] | map(%s)", each, at, pick)
	}
	if l.whole && objects == l.elem.count && all == len(l.elem.fields) && all <= mostPicked {
		return "."
	}
	return each + " | " + pick
}

// jqKey is a key as it stands in {…}.
func jqKey(name string) string {
	if isWord(name) {
		return name
	}
	return show.Quote(name)
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
