package schema

import (
	"fmt"
	"strings"

	"rlmproxy/pipeline/show"
)

// leastRun is how many fields named by numbers are told as one.
const leastRun = 8

// Run tells the fields of an object that are named by numbers, years say, and are numbers
// themselves, missing or empty at times: the first name, the last, what they have in common
// and how many they are. It is 0 if they are few.
func (node *Node) Run() (first, last, what string, n int) {
	empty := 0
	var low, high *numberStats
	for _, f := range node.Fields {
		if !f.InRun() {
			continue
		}
		if n++; n == 1 {
			first, low, high = f.Name, &f.Node.Numbers, &f.Node.Numbers
		}
		last = f.Name
		empty = max(empty, f.Node.Count-f.Node.Kinds[isNumber])
		if s := &f.Node.Numbers; s.N > 0 {
			if s.Min < low.Min || low.N == 0 {
				low = s
			}
			if s.Max > high.Max || high.N == 0 {
				high = s
			}
		}
	}
	if n < leastRun {
		return "", "", "", 0
	}
	what = fmt.Sprintf("%s, number", show.Plural(n, "fields"))
	if empty > 0 {
		what += fmt.Sprintf(" or empty (up to %s)", percent(empty, node.Kinds[IsObject]))
	}
	if low.N > 0 {
		what += ", " + show.Clip(string(low.minRaw), 24) + ".." + show.Clip(string(high.maxRaw), 24)
	}
	return first, last, what, n
}

// InRun reports whether the field is one that [Node.Run] tells.
func (f Field) InRun() bool {
	k := f.Node.Kinds
	return f.Name != "" && len(f.Name) <= 12 && strings.Trim(f.Name, "0123456789") == "" && k[isNumber] > 0 &&
		k[isNumber]+k[isNull]+k[isString] == f.Node.Count && (k[isString] == 0 || f.Node.onlyEmpty())
}

// onlyEmpty reports whether all strings are empty.
func (node *Node) onlyEmpty() bool { return node.example == nil && node.Inner == nil }
