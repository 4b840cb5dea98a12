package cache_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"rlmproxy/cache"
)

func Example() {
	store, err := cache.New(cache.Options{MaxEntriesPerAgent: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	call := cache.Origin{Tool: "git_log", Arguments: json.RawMessage(`{"n":3}`)}
	id, err := store.Put("ann", call, []byte(`["one","two","three"]`))
	if err != nil {
		log.Fatal(err)
	}
	entry, err := store.Get("ann", id)
	fmt.Printf("%s %v\n", entry.Data, err)

	// Another agent's id is no different from one that nobody has.
	_, err = store.Get("bob", id)
	fmt.Println(errors.Is(err, cache.ErrUnknown))

	// The second entry takes the place of the first, which still says what it was.
	if _, err := store.Put("ann", cache.Origin{Tool: "git_show"}, []byte("…")); err != nil {
		log.Fatal(err)
	}
	_, err = store.Get("ann", id)
	var gone *cache.GoneError
	if errors.As(err, &gone) {
		fmt.Println(gone.Reason, gone.Origin.Tool, string(gone.Origin.Arguments))
	}
	// Output:
	// ["one","two","three"] <nil>
	// true
	// evicted git_log {"n":3}
}

func ExampleStore_Derived() {
	store, err := cache.New(cache.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	id, err := store.Put("ann", cache.Origin{}, []byte(`["one","two","three"]`))
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		tree, err := store.Derived("ann", id, "tree", func() (any, int64, error) {
			fmt.Println("parsing")
			entry, err := store.Get("ann", id)
			if err != nil {
				return nil, 0, err
			}
			var tree []string
			err = json.Unmarshal(entry.Data, &tree)
			return tree, 100, err
		})
		fmt.Println(tree, err)
	}
	// Output:
	// parsing
	// [one two three] <nil>
	// [one two three] <nil>
}
