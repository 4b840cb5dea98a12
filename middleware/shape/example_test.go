package shape_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"rlmproxy/cache"
	"rlmproxy/middleware/shape"
)

// A result over the limit is kept, and its agent reads a preview.
func ExampleShaper_ToolResult() {
	store, err := cache.New(cache.Options{Key: []byte("0123456789abcdef")})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	shaper := shape.New(shape.Options{Store: store, MaxTokens: 300, QueryTimeout: time.Second, Logger: slog.Default()})

	log := strings.Repeat(`all is well\n`, 500) + "disk full"
	raw, err := shaper.ToolResult("an agent", cache.Origin{Tool: "log"}, []byte(`{"content":[{"type":"text","text":"`+log+`"}]}`), shape.Policy{})
	if err != nil {
		panic(err)
	}
	facts := gjson.GetBytes(raw, `_meta.rlmproxy/result`)
	fmt.Println("tokens:", facts.Get("tokens"), "complete:", facts.Get("complete"))
	fmt.Println(gjson.GetBytes(raw, "content.0.text").String()[:5], "…")

	// What was left out is there for queries, and not for others.
	id := cache.ID(facts.Get("cache_id").String())
	kept, err := shaper.Cached(context.Background(), "an agent", id)
	fmt.Println(len(kept.Docs[0].Text), err)
	_, err = shaper.Cached(context.Background(), "another agent", id)
	fmt.Println(err)
	// Output:
	// tokens: 2002 complete: false
	// [cut: …
	// 6009 <nil>
	// you have no result with this cache_id
	// hint: copy the cache_id from a reply's first line, or repeat the call if it only reads
}
