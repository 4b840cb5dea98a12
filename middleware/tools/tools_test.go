package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"rlmproxy/cache"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
)

// A bench is our tools with one cached result, which a fresh call of "doc" gives
// as well.
type bench struct {
	kept   cache.ID // of the last fresh call
	tools  *Tools
	result json.RawMessage
	id     string // of the result
}

func newBench(t *testing.T, doc string, maxTokens int) *bench {
	t.Helper()
	return newBenchOf(t, doc, maxTokens, cache.Options{})
}

func newBenchOf(t *testing.T, doc string, maxTokens int, opts cache.Options) *bench {
	t.Helper()
	store, err := cache.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	shaper := shape.New(shape.Options{Store: store, MaxTokens: maxTokens, WholeTokens: 25_000, QueryTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	b := &bench{tools: New(Options{Shaper: shaper, QueryTimeout: time.Minute, SearchTimeout: time.Minute})}
	b.result, _ = json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": doc}}})
	id, err := shaper.Keep("agent", cache.Origin{Tool: "doc"}, b.result)
	if err != nil {
		t.Fatal(err)
	}
	b.id = string(id)
	return b
}

func (b *bench) FreshCall(_ context.Context, tool string, arguments json.RawMessage) (json.RawMessage, cache.Origin, error) {
	if tool != "doc" {
		return nil, cache.Origin{}, errors.New("no such tool")
	}
	return b.result, cache.Origin{Tool: tool, Arguments: arguments}, nil
}

func (b *bench) Heal(context.Context, *pipeline.Error) (Healed, error) { return Healed{}, nil }

func (b *bench) Kept(_ context.Context, id cache.ID) { b.kept = id }

// ask calls one of our tools; ID in args is the id of the result.
func (b *bench) ask(t *testing.T, tool, args string) (text string, facts shape.Facts) {
	t.Helper()
	raw, err := b.tools.Call(t.Context(), "agent", tool, json.RawMessage(strings.ReplaceAll(args, "ID", b.id)), Reach{Fresh: b, Healer: b})
	if e := (*pipeline.Error)(nil); errors.As(err, &e) {
		raw, err = shape.Error(e), nil
	}
	var got struct {
		Content []struct{ Text string }
		Meta    struct {
			Result shape.Facts `json:"rlmproxy/result"`
		} `json:"_meta"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err != nil || len(got.Content) != 1 {
		t.Fatalf("%s %s: %s, %v", tool, args, raw, err)
	}
	return got.Content[0].Text, got.Meta.Result
}

// records is JSON of n rows, about 25 tokens each.
func records(n int) string {
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"row %d","user":{"login":"u%d"},"big":9007199254740993}`, i, i, i%7))
	}
	return "[" + strings.Join(rows, ",") + "]"
}
