package search

// An edits is the last column of the table of edit distances between the beginnings
// of a query (down) and those of a text (across), which grows by a rune each step.
// Only distances up to most are exact; greater ones are just greater.
//
// A column without any distance up to most below a row has none in the next column
// below the row after it, so a step costs about as much as there are edits allowed
// (P. Sellers, The theory and computation of evolutionary distances, J. Algorithms 1,
// 1980; E. Ukkonen, Finding approximate patterns in strings, J. Algorithms 6, 1985).
type edits struct {
	query []rune
	most  int
	// column[i] is the distance of the first i runes of query. Those after last are
	// greater than most, and column[last+1] says so.
	column []int
	last   int
}

func newEdits(query []rune, most int) *edits {
	e := &edits{query: query, most: most, column: make([]int, len(query)+1)}
	e.reset()
	return e
}

// reset makes e the column before any text: every rune of query is missing.
func (e *edits) reset() {
	for i := range e.column {
		e.column[i] = i
	}
	e.last = e.most
}

// step takes the next rune of the text. Top is the distance of an empty query to the
// text so far: its length, if the text is compared from where it began; or 0, if the
// text that is compared may begin anywhere.
func (e *edits) step(r rune, top int) {
	column := e.column
	diagonal := column[0]
	column[0] = top
	bottom := min(e.last+1, len(e.query))
	e.last = 0
	for i, q := range e.query[:bottom] {
		left := column[i+1]
		dist := diagonal
		if q != r {
			dist = 1 + min(diagonal, left, column[i])
		}
		column[i+1] = dist
		if dist <= e.most {
			e.last = i + 1
		}
		diagonal = left
	}
	if e.last < len(e.query) {
		column[e.last+1] = e.most + 1
	}
}

// dist returns the distance of the whole query to the text.
func (e *edits) dist() int {
	if e.last < len(e.query) {
		return e.most + 1
	}
	return e.column[len(e.query)]
}

// hope reports whether a longer text can be within most of the query, if this one is
// compared from where it began.
func (e *edits) hope() bool { return e.last > 0 || e.column[0] <= e.most }
