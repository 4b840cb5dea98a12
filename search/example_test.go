package search_test

import (
	"context"
	"fmt"

	"rlmproxy/search"
)

var text = []byte(`# Limits

An agent may keep 20 results. The oldest one is evicted first.

# Errors

unknown_cache_id: nobody was given this id.
expired_cache_id: call the tool again.
`)

func ExampleRegex() {
	m, err := search.Regex(context.Background(), text, `\w+_cache_id`, search.RegexOptions{Limit: 1})
	if err != nil {
		panic(err)
	}
	for _, h := range m.Hits {
		fmt.Printf("line %d: %s\n", h.Line, text[h.Start:h.End])
	}
	fmt.Println(m.Total, "in all")
	// Output:
	// line 7: unknown_cache_id
	// 2 in all
}

func ExampleIndex_Search() {
	passages := search.Passages(text)
	ix, err := search.NewIndex(context.Background(), text, passages)
	if err != nil {
		panic(err)
	}
	for _, r := range ix.Search("evicting the older results", 1) {
		for _, word := range search.Highlight(text, passages[r.Passage], "evicting the older results", 0) {
			fmt.Println(string(text[word.Start:word.End]))
		}
	}
	// Output:
	// results
	// evicted
}

func ExampleFuzzy() {
	hits, _, err := search.Fuzzy(context.Background(), text, "expierd", search.FuzzyOptions{})
	if err != nil {
		panic(err)
	}
	for _, h := range hits {
		fmt.Printf("line %d: %s, %.2f alike\n", h.Line, text[h.Start:h.End], h.Score)
	}
	// Output: line 8: expired, 0.71 alike
}

func ExampleExpand() {
	m, err := search.Regex(context.Background(), text, "oldest", search.RegexOptions{})
	if err != nil {
		panic(err)
	}
	for _, unit := range []search.Unit{search.Sentence, search.Section} {
		for _, s := range search.Expand(text, m.Hits, unit, 0) {
			fmt.Printf("%s: %q\n", unit, text[s.Start:s.End])
		}
	}
	// Output:
	// sentence: "The oldest one is evicted first."
	// section: "# Limits\n\nAn agent may keep 20 results. The oldest one is evicted first."
}
