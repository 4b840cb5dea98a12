// Package judge has a model answer one question about each of many items.
//
//	items ─► those not judged before ─► many a prompt, numbered and fenced ─► Model ─► checked ─► Judgements
//
// It knows no MCP: a [Model] may be anything that completes a prompt.
package judge

import (
	"context"
	"encoding/json"
	"time"
)

// A Question is what is asked of each item.
type Question struct {
	Text string
	// Labels are the answers that there are. None: an answer is of Type.
	Labels []string
	// Type is "text", "number" or "boolean". Empty means text.
	Type string
	// Guide is a few words on borderline cases.
	Guide string
}

// A Judgement is the answer for one item.
type Judgement struct {
	Value      json.RawMessage // a string, number or boolean; nil: the item could not be judged
	Confidence float64         // from 0 to 1; negative: the model gave none
	Problem    string          // why there is no value
}

// A Budget is what judging may take. Zero fields are no limit.
type Budget struct {
	Tokens, Calls int
	Time          time.Duration
}

// Prices are what a model costs, in a currency for a million tokens.
type Prices struct{ Input, Output float64 }

// A Prompt is one request to a model.
type Prompt struct {
	System, User string
	Schema       json.RawMessage // of the answer, JSON
	MaxTokens    int             // of the answer
}

// A Completion is a model's answer.
type Completion struct {
	Text          string
	Input, Output int // tokens; zero: not known, and estimated
}

// A Model completes prompts. It is safe for concurrent use.
type Model interface {
	// ID is the model's name: judgements of another are not its own.
	ID() string
	Complete(ctx context.Context, p Prompt) (Completion, error)
}

// A Report is what came of a question. Judgements are as many as the items, in their order.
type Report struct {
	Judgements     []Judgement
	Judged, Cached int // items with a value, and those of them that were judged before
	Calls          int
	Input, Output  int     // tokens
	Cost           float64 // by the Prices of the options; zero: not known
	Stopped        string  // why not all were asked about: a budget that is spent, or empty
	Time           time.Duration
}
