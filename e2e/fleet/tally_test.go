package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// An outcome is what became of a call. Those from lost on must not occur.
type outcome int

const (
	answered      outcome = iota // as it should be
	struck                       // an error: its replica was killed meanwhile
	needed                       // an error: a replica that it needed was killed meanwhile
	storeAway                    // an error: the store is away, and when to try again
	expired                      // the id has expired
	evicted                      // the id was evicted
	elsewhere                    // the id was kept by one replica only, while the store was away
	lost                         // the id should still be there, and is not
	neither                      // the id has neither an answer nor a reason
	crossed                      // it got what is another agent's
	wrong                        // an answer that is not the right one
	unexcused                    // an error that nothing excuses
	hangs                        // no answer in time
	timesExecuted                // not executed once: twice, or not at all and yet answered
)

var outcomeNames = []string{"answered", "replica killed", "needed replica killed", "store away", "expired", "evicted", "kept elsewhere",
	"LOST", "NEITHER", "CROSSED", "WRONG", "UNEXCUSED", "HANGS", "NOT EXECUTED ONCE"}

func (o outcome) String() string { return outcomeNames[o] }

// A tally counts calls by what they were for and what became of them.
type tally struct {
	mu       sync.Mutex // guards the fields below
	counts   map[string]map[outcome]int
	longest  map[string]time.Duration
	examples map[outcome][]string
}

func newTally() *tally {
	return &tally{counts: map[string]map[outcome]int{}, longest: map[string]time.Duration{}, examples: map[outcome][]string{}}
}

// count counts a call. Of those that must not occur it keeps some examples.
func (c *tally) count(kind string, o outcome, took time.Duration, example string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[kind] == nil {
		c.counts[kind] = map[outcome]int{}
	}
	c.counts[kind][o]++
	c.longest[kind] = max(c.longest[kind], took)
	if len(c.examples[o]) < 12 {
		c.examples[o] = append(c.examples[o], kind+": "+example)
	}
}

// excused are examples of errors that are allowed, three of each.
func (c *tally) excused() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for o := struck; o < lost; o++ {
		for _, e := range c.examples[o][:min(3, len(c.examples[o]))] {
			fmt.Fprintf(&b, "%s: %s\n", o, e)
		}
	}
	return b.String()
}

// of is how many calls had an outcome.
func (c *tally) of(o outcome) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, counts := range c.counts {
		n += counts[o]
	}
	return n
}

// faults describes what must not have occurred.
func (c *tally) faults() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range slices.Sorted(maps.Keys(c.examples)) {
		if o < lost {
			continue
		}
		n := 0
		for _, counts := range c.counts {
			n += counts[o]
		}
		all = append(all, fmt.Sprintf("%s: %d, such as\n    %s", o, n, strings.Join(c.examples[o], "\n    ")))
	}
	return all
}

// String is a table of what was counted.
func (c *tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(c.counts)) {
		total := 0
		for _, n := range c.counts[kind] {
			total += n
		}
		fmt.Fprintf(&b, "%-22s %6d", kind, total)
		for _, o := range slices.Sorted(maps.Keys(c.counts[kind])) {
			fmt.Fprintf(&b, " · %s %d", o, c.counts[kind][o])
		}
		fmt.Fprintf(&b, " · longest %v\n", c.longest[kind].Round(time.Millisecond))
	}
	return b.String()
}
