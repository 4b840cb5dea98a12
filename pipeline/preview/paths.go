package preview

import (
	"cmp"
	"slices"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/schema"
)

// A pathLine tells one path of a document.
type pathLine struct {
	text  string
	cost  int // tokens; 0 until it is chosen
	depth int
	count int // values at the path
}

// maxpathLines is more than any budget has room for.
const maxpathLines = 1000

// pathLines tells the paths below root, which stands at at, and how many there
// are. Terse leaves out what other lines tell: that elements are objects, and
// what a tree has on its lower levels.
func pathLines(root *schema.Node, at doc.Path, terse bool) (lines []pathLine, total int) {
	counts := []int{root.Count} // of the values at each step to where the walk is
	above := []*schema.Node{root}
	root.Walk(at, func(path doc.Path, node, parent *schema.Node) bool {
		below := path[len(at):]
		above = append(above[:len(below)], node)
		// The elements of a field's arrays stand for no more than the field.
		count := node.Count
		if most := counts[len(below)-1]; most > 1 {
			count = min(count, most)
		}
		counts = append(counts[:len(below)], count)
		like, again := node.Recurs(below, above)
		again = again && terse
		isElement := path[len(path)-1].Kind == doc.StepEach && parent.Rest != node
		if terse && isElement && node.Kinds[schema.IsObject] == node.Count && len(node.Fields) > 0 && !again {
			return true
		}
		name := path.String()
		if total++; total > maxpathLines || len(name) > 200 {
			return true
		}
		depth := 0
		for _, step := range below {
			if step.Kind == doc.StepKey {
				depth++
			}
		}
		line := name + ": " + schema.Describe(path, node, parent)
		if again {
			line += ", with the fields of ." + like.String() + " again"
		}
		lines = append(lines, pathLine{text: line, depth: depth, count: count})
		return !again
	})
	return lines, total
}

// choosePaths chooses lines that cost share tokens together: those of the upper
// levels first, and of a level those that most records have. It sets their
// cost and returns how many they are.
func choosePaths(lines []pathLine, share int) (chosen int) {
	order := make([]*pathLine, len(lines))
	for i := range lines {
		order[i] = &lines[i]
	}
	slices.SortStableFunc(order, func(a, b *pathLine) int {
		return cmp.Or(a.depth-b.depth, b.count-a.count)
	})
	for _, l := range order {
		n := lineTokens(l.text)
		if n > share {
			break
		}
		l.cost = n
		share -= n
		chosen++
	}
	return chosen
}
