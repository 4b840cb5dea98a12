package quality

import (
	"bytes"
	"fmt"
	"text/tabwriter"
)

// Table prints nDCG@10 and recall@5 of runs over the same files: by file, by
// kind of question and over all.
func Table(files []*File, runs ...Run) []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\tquestions\t")
	for _, r := range runs {
		fmt.Fprintf(w, "%s nDCG@10\trecall@5\t", r.Name)
	}
	fmt.Fprintln(w)
	row := func(name string, picks func(file, question int) bool) {
		n := 0
		var cells []byte
		for _, r := range runs {
			var picked []Score
			for i, scores := range r.scores {
				for j, s := range scores {
					if picks(i, j) {
						picked = append(picked, s)
					}
				}
			}
			m := mean(picked)
			cells = fmt.Appendf(cells, "%.3f\t%.3f\t", m.NDCG, m.Recall)
			n = len(picked)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\n", name, n, cells)
	}
	for n, f := range files {
		row(f.Name, func(file, _ int) bool { return file == n })
	}
	for _, kind := range kinds {
		row(kind, func(file, question int) bool { return files[file].Questions[question].Kind == kind })
	}
	row("all", func(int, int) bool { return true })
	w.Flush()
	return b.Bytes()
}

// Questions prints nDCG@10 of runs for each question.
func Questions(files []*File, runs ...Run) []byte {
	var b bytes.Buffer
	for _, r := range runs {
		fmt.Fprintf(&b, "%-6s", r.Name)
	}
	b.WriteString("\n")
	for i, f := range files {
		fmt.Fprintf(&b, "\n%s\n", f.Name)
		for j, q := range f.Questions {
			for _, r := range runs {
				fmt.Fprintf(&b, "%.3f ", r.scores[i][j].NDCG)
			}
			fmt.Fprintf(&b, "%s: %s\n", q.Kind, q.Text)
		}
	}
	return b.Bytes()
}
