package bench

import (
	"flag"
	"fmt"
	"testing"

	"rlmproxy/middleware"
)

var sweep = flag.Bool("sweep", false, "do all tasks with many limits and preview budgets: go test ./bench -run TestSweep -sweep -v")

// TestSweep prints, as rows of Markdown, what all tasks cost with other limits
// and preview budgets.
func TestSweep(t *testing.T) {
	if !*sweep {
		t.Skip("a table for docs/defaults.md, not a check: -sweep prints it")
	}
	fmt.Println("| limit | preview | tokens, all tasks | found | calls | median saved, over 100 KB | rows lost | by preview alone |")
	fmt.Println("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, limit := range []int{500, 1000, 2000, 4000, 8000} {
		for _, part := range []int{8, 4, 2, 1} {
			sum := summarise(plays(t, middleware.Options{MaxTokens: limit, PreviewTokens: limit / part}))
			fmt.Printf("| %d | %d | %s | %d of %d | %.2f | %.1f %% | %d | %d of %d: %.0f %% |\n", limit, limit/part,
				comma(sum.total), sum.found, sum.tasks, float64(sum.calls)/float64(sum.tasks), sum.median, sum.lost,
				sum.previews, sum.simple, sum.alone())
		}
	}
}
