package bench

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"text/tabwriter"

	shown "rlmproxy/pipeline/show"
)

// printed makes the benchmark print its table once, however often it is run.
var printed sync.Once

// bigBytes is the size from which on a result counts for the median saving.
const bigBytes = 100_000

// A summary is what all scores say together.
type summary struct {
	tasks, found   int
	median         float64 // saving in per cent, over inputs of more than 100 KB
	big            int     // tasks that it is the median of
	lost           int     // tasks that cost more than the result inlined
	total, inlined int     // tokens of all tasks
	calls          int
	heads          int // tasks that the head of the result answers
	simple         int // structure and single values, of cut results
	previews       int // of these, answered by the first reply
	failed         int // calls answered with an error
}

func (s summary) alone() float64 { return 100 * float64(s.previews) / float64(max(s.simple, 1)) }

func summarise(scores []score) (sum summary) {
	var savings []float64
	for _, s := range scores {
		sum.tasks++
		sum.total += s.cost()
		sum.inlined += s.inlined
		sum.calls += s.calls
		sum.failed += s.failed
		for _, count := range []struct {
			is bool
			n  *int
		}{
			{s.found, &sum.found},
			{s.cost() > s.inlined, &sum.lost},
			{s.headFound, &sum.heads},
			{s.simple(), &sum.simple},
			{s.simple() && s.preview, &sum.previews},
		} {
			if count.is {
				*count.n++
			}
		}
		if s.bytes > bigBytes {
			savings = append(savings, s.saved())
		}
	}
	slices.Sort(savings)
	sum.big = len(savings)
	if sum.big > 0 {
		sum.median = savings[sum.big/2]
	}
	return sum
}

// simple reports that a preview could be expected to answer.
func (s score) simple() bool { return !s.whole() && (s.kind == structure || s.kind == value) }

// savingsTable prints the golden file.
func savingsTable(scores []score) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `Tokens of o200k that one task costs; ~ is an estimate. A question about one result, asked by a script that
knows the question and what it has read, no more. The first call is not counted.
calls     until the answer was read, the first included
preview   the first reply alone had the answer
rlmproxy  the proxy's own tools and instructions (%s), all replies, all follow-up calls
inlined   the whole result
head      its first %d characters; yes if they have the answer
saved     100 × (1 − rlmproxy ÷ inlined)

`, comma(scores[0].own), headChars)
	section := func(title string, in func(score) bool) {
		fmt.Fprintln(&out, title)
		w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "found\tcalls\tpreview\trlmproxy\tinlined\thead\t\tsaved %\t  result, kind, question")
		for _, s := range scores {
			if in(s) {
				inlined := comma(s.inlined)
				if !s.exact {
					inlined = "~" + inlined
				}
				fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%.1f\t  %s, %s: %s\n", yes(s.found), s.calls, yes(s.preview),
					comma(s.cost()), inlined, comma(s.head), yes(s.headFound), s.saved(), s.file, s.kind, s.question)
			}
		}
		w.Flush()
		fmt.Fprintln(&out)
	}
	section("Over the limit: cut", func(s score) bool { return !s.whole() })
	section("Whole: under the limit, or in a form that loses nothing", score.whole)
	sum := summarise(scores)
	fmt.Fprintf(&out, `tasks                                          %d
found                                          %d
tokens of all tasks: rlmproxy, inlined         %s, ~%s
median saved on results over 100 KB            %.1f %% of %d tasks
tasks that cost more than inlining             %d
structure and single values, by preview alone  %d of %d: %.0f %%
answered by the first %d characters          %d
calls answered with an error                   %d
`, sum.tasks, sum.found, comma(sum.total), comma(sum.inlined), sum.median, sum.big, sum.lost,
		sum.previews, sum.simple, sum.alone(), headChars, sum.heads, sum.failed)
	return out.Bytes()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func comma(n int) string { return shown.Count(n) }
