package bench

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"rlmproxy/middleware"
)

var sweep = flag.Bool("sweep", false, "do all tasks with many limits and preview budgets: go test ./bench -run TestSweep -sweep -v")

// TestSweep prints, as rows of Markdown, what the tasks cost with other limits
// and preview budgets. Tokens and calls are those of the tasks that every setting answers:
// a task that is given up early is cheap.
func TestSweep(t *testing.T) {
	if !*sweep {
		t.Skip("a table for docs/defaults.md, not a check: -sweep prints it")
	}
	type setting struct {
		limit, preview int
		scores         []score
	}
	var settings []setting
	common := map[string]int{}
	for _, limit := range []int{500, 1000, 2000, 4000, 8000} {
		for _, part := range []int{8, 4, 2, 1} {
			s := setting{limit, limit / part, plays(t, middleware.Options{MaxTokens: limit, PreviewTokens: limit / part, KindTokens: map[string]int{}})}
			settings = append(settings, s)
			for _, s := range s.scores {
				if s.found {
					common[s.name()]++
				}
			}
		}
	}
	inAll := func(s score) bool { return common[s.name()] == len(settings) }
	fmt.Printf("Tokens and calls a task: of the %d tasks that are found in all rows.\n\n", countIf(settings[0].scores, inAll))
	fmt.Println("| limit | preview | found | tokens a task | calls a task | median saved, over 100 KB | rows lost | by preview alone |")
	fmt.Println("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, s := range settings {
		all, same := summarise(s.scores), summarise(slices.DeleteFunc(slices.Clone(s.scores), func(s score) bool { return !inAll(s) }))
		fmt.Printf("| %s | %s | %d of %d | %s | %.2f | %.1f %% | %d | %d of %d: %.0f %% |\n", comma(s.limit), comma(s.preview),
			all.found, all.tasks, comma(same.total/same.tasks), float64(same.calls)/float64(same.tasks), all.median, all.lost,
			all.previews, all.simple, all.alone())
	}
}
