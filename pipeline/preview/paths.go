package preview

import (
	"cmp"
	"slices"

	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/schema"
	"rlmproxy/pipeline/show"
)

// A pathLine tells one path of a document, or what several fields of an object
// have in common.
type pathLine struct {
	text  string
	cost  int // tokens; 0 until it is chosen
	rank  int // the lowest are chosen first
	count int // values at the path
	paths int // that it tells

	// Where the lines below tell the keys, short stands for the text; it is ""
	// of what is an object and nothing else.
	short string
	keys  bool // text names keys
	below []int
}

// maxpathLines is more than any budget has room for.
const maxpathLines = 1000

// What puts a line behind others, beside its depth. A level counts two; one on the
// spine, where a field has most of what its object has, counts one.
const (
	levelRank = 2
	spineRank = 1
	plainRank = 1
	rareRank  = 1 // in fewer than one of ten
	dullRank  = 3 // constants, addresses, hashes
)

// A pathWriter makes the lines while it walks.
type pathWriter struct {
	at    doc.Path
	terse bool
	depth int // levels of fields that are told; those of one more are named
	lines []pathLine
	total int

	// Of each step to where the walk is:
	nodes  []*schema.Node
	counts []int // values
	ranks  []int
	levels []int // of fields
	line   []int // its index in lines, or -1

	open map[together]int // the index of the line that tells several fields
}

// A together is what several fields of an object are told as.
type together struct {
	of   *schema.Node
	what string
}

// pathLines tells the paths below root, which stands at at, and how many there
// are, of depth levels of fields. Terse leaves out what a tree has on its lower levels.
func pathLines(root *schema.Node, at doc.Path, depth int, terse bool) (lines []pathLine, total int) {
	w := &pathWriter{at: at, terse: terse, depth: depth, nodes: []*schema.Node{root}, counts: []int{root.Count}, ranks: []int{0}, levels: []int{0}, line: []int{-1}, open: map[together]int{}}
	root.Walk(at, w.visit)
	return w.lines, w.total
}

func (w *pathWriter) visit(path doc.Path, node, parent *schema.Node) (below bool) {
	steps := path[len(w.at):]
	n := len(steps)
	last := steps[n-1]
	level := w.levels[n-1]
	if last.Kind == doc.StepKey || parent.Rest == node {
		if level++; level > w.depth {
			return false
		}
	}
	w.levels = append(w.levels[:n], level)
	w.nodes = append(w.nodes[:n], node)
	// The elements of a field's arrays stand for no more than the field.
	count := node.Count
	if most := w.counts[n-1]; most > 1 {
		count = min(count, most)
	}
	w.counts = append(w.counts[:n], count)
	rank := w.ranks[n-1]
	if last.Kind == doc.StepKey || last.Kind == doc.StepIndex {
		if rank += levelRank; 2*node.Bytes > parent.Bytes && parent.Count > 0 {
			rank += spineRank - levelRank
		}
	}
	w.ranks = append(w.ranks[:n], rank)
	w.line = append(w.line[:n], w.line[n-1])

	like, again := node.Recurs(steps, w.nodes)
	again = again && w.terse
	isElement := last.Kind == doc.StepEach && parent.Rest != node
	objects := node.Kinds[schema.IsObject] == node.Count && len(node.Fields) > 0
	if isElement && objects && !again {
		return true
	}
	if last.Kind == doc.StepKey && w.fold(path, node, parent) {
		return false
	}
	text := path.String()
	if len(text) > 200 || w.total >= maxpathLines {
		w.total++
		return true
	}
	always := last.Kind == doc.StepKey && node.Owners == parent.Kinds[schema.IsObject]
	if node.Rest != nil && always && level < w.depth && node.Kinds[schema.IsObject] == node.Count {
		return true // the line of its keys says so
	}
	text += ": " + w.column(steps, last) + schema.Describe(path, node, parent)
	l := pathLine{text: text, short: text, rank: rank, count: count}
	if names := node.KeyNames(); again {
		l.text += ", with the same fields as ." + like.String()
	} else if names != "" {
		l.keys, l.rank = true, l.rank+plainRank
		if l.text += " " + names; objects && always {
			l.short = ""
		}
	}
	switch {
	case node.Dull():
		l.rank += dullRank
	case node.Count == 1 && parent.Count == 1 && len(node.Fields) == 0:
		l.rank-- // the value itself
	}
	if last.Kind == doc.StepKey && 10*node.Owners < parent.Kinds[schema.IsObject] {
		l.rank += rareRank
	}
	w.add(l, w.line[n-1], 1)
	w.line[n] = len(w.lines) - 1
	return !again
}

// add adds a line that tells paths, below the line of index of.
func (w *pathWriter) add(l pathLine, of, paths int) {
	l.paths = paths
	w.total += paths
	if of >= 0 {
		w.lines[of].below = append(w.lines[of].below, len(w.lines))
	}
	w.lines = append(w.lines, l)
}

// column is the name of a column before what is told of it, if it has one.
func (w *pathWriter) column(steps doc.Path, last doc.Step) string {
	n := len(steps)
	if last.Kind != doc.StepIndex || n < 3 {
		return ""
	}
	if names := w.nodes[n-3].ColumnNames(len(w.nodes[n-1].Columns)); names != nil {
		return names[last.Index] + ", "
	}
	return ""
}

// fold tells a field that says little of a single record on one line with others
// of its object: what is the same in all, addresses, and the values of one object.
func (w *pathWriter) fold(path doc.Path, node, parent *schema.Node) bool {
	objects := parent.Kinds[schema.IsObject]
	name := show.Clip(show.Printable(path[len(path)-1].Key), 60)
	what, dull := "addresses: ", dullRank
	inRun := (schema.Field{Name: path[len(path)-1].Key, Node: node}).InRun()
	switch value := node.Constant(); {
	case parent.Rest != nil:
		return false
	case inRun && w.run(path[:len(path)-1], node, parent):
		return true
	case w.terse && len(path) > 1 && parent.Count == 1 && node.Value() != "":
		// Of a single object the values are told, as the path costs more than they do.
		what, dull = "", levelRank-1
		name += " " + node.Value()
	case value != "" && node.Owners == objects && objects > 1:
		what = "the same in all: "
		name += " " + value
	case objects < 2 || node.Count < 2 || !node.IsURL():
		return false
	}
	const most = 400 // bytes
	key := together{parent, what}
	if i, ok := w.open[key]; ok && len(w.lines[i].text)+len(name) < most {
		w.lines[i].text += ", " + name
		w.lines[i].paths++
		w.total++
		return true
	}
	n := len(path) - len(w.at)
	at := path[:len(path)-1].String()
	if len(at) > 200 || w.total >= maxpathLines {
		w.total++
		return true
	}
	w.open[key] = len(w.lines)
	w.add(pathLine{text: at + ": " + what + name, rank: w.ranks[n-1] + dull, count: node.Count}, w.line[n-1], 1)
	return true
}

// run tells fields named by numbers on one line, with the first of them. It reports false
// where they are few.
func (w *pathWriter) run(at doc.Path, node, parent *schema.Node) bool {
	key := together{parent, "run"}
	if i, ok := w.open[key]; ok {
		w.lines[i].paths++
		w.total++
		return true
	}
	first, last, what, many := parent.Run()
	if many == 0 {
		return false
	}
	n := len(at) + 1 - len(w.at)
	text := at.With(doc.Step{Key: first}).String() + " to " + show.Quote(last) + ": " + what
	w.open[key] = len(w.lines)
	w.add(pathLine{text: text, short: text, rank: w.ranks[n], count: node.Count}, w.line[n-1], 1)
	return true
}

// choosePaths chooses lines that cost share tokens together, those of the lowest
// rank first, and of a rank those that most records have. It sets their cost and
// returns how many paths they tell.
func choosePaths(lines []pathLine, share int) (chosen int) {
	order := make([]int, len(lines))
	for i := range lines {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(lines[a].rank-lines[b].rank, lines[b].count-lines[a].count)
	})
	for _, i := range order {
		n := lineTokens(lines[i].text)
		if n > share {
			break
		}
		lines[i].cost = n
		share -= n
		chosen += lines[i].paths
	}
	for i := range lines {
		l := &lines[i]
		told := 0
		for _, j := range l.below {
			if lines[j].cost > 0 {
				told++
			}
		}
		if l.keys && l.cost > 0 && 2*told > len(l.below) {
			if l.text, l.cost = l.short, 0; l.text != "" {
				l.cost = lineTokens(l.text)
			}
		}
	}
	return chosen
}
