// Package judge has a model answer one question about each of many items.
//
//	items ─► those not judged before ─► many a prompt, numbered and fenced ─► Model ─► checked ─► Judgements
//
// It knows no MCP: a [Model] may be anything that completes a prompt.
//
// Items do not trust each other. No item can end its fence or write another one's: every prompt has
// marks that no item knows, and numbers that begin anywhere. An answer counts for the one item
// whose number it has, once. Against a model that obeys what it reads, items that speak to one, or
// of the answers of others, have a prompt to themselves, see [Options.Alone]. No list of words
// finds all of those: where that matters, Options.Together is 1.
package judge

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"rlmproxy/fleet"
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
	Value      json.RawMessage // a string, number or boolean; nil: the item was not judged
	Confidence float64         // from 0 to 1; negative: the model gave none
	Problem    string          // why there is no value: NotAsked, or what was wrong
}

// NotAsked is the Problem of an item that was not asked about, see [Report.Stopped]: asked again,
// it may be judged.
const NotAsked = "not asked"

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
	Input, Output int  // tokens; zero: not known, and estimated
	Cut           bool // the answer ended for MaxTokens
}

// A Model completes prompts. It is safe for concurrent use. An error other than a [*Failure], or
// that of ctx, is a failure that may pass.
type Model interface {
	// ID is the model's name: judgements of another are not its own.
	ID() string
	Complete(ctx context.Context, p Prompt) (Completion, error)
}

// A Failure is why a model did not complete a prompt. Of its fields at most one of Final and Again
// is true; where neither is, this prompt is at fault: the model declines it, or it is too long.
type Failure struct {
	Text  string        // what was wrong, and how it is mended; without secrets
	Final bool          // no other prompt will fare better: a wrong key, a person who declines
	Again bool          // the same prompt may do later
	Wait  time.Duration // how much later; zero: not said
	Err   error         // the cause, or nil
}

func (f *Failure) Error() string { return f.Text }
func (f *Failure) Unwrap() error { return f.Err }

// A Shelf keeps judgements where other processes find them. Keys are 64 letters and digits, values
// at most 1 KB. What it cannot get is not there, what it cannot put is lost.
type Shelf interface {
	Get(ctx context.Context, agent string, keys []string) map[string][]byte
	Put(agent string, values map[string][]byte)
}

// Options configures a [Judge]. The zero value is ready to use.
type Options struct {
	// Budget bounds one question, PerHour what one agent takes in an hour; its Time is not used.
	Budget, PerHour Budget
	// Fleet has replicas count PerHour together. Nil: this one counts for itself.
	Fleet *fleet.Store
	// Prices are the model's.
	Prices Prices
	// Concurrency is how many prompts of one question the model has at a time. Zero means 4.
	Concurrency int
	// Timeout bounds one call of the model. Zero means 2 minutes.
	Timeout time.Duration
	// Together is how many items a prompt has at most. Zero means 30. With 1, no item's text can
	// change another's answer, whatever the model; for items of 100 characters that is five times
	// the tokens and thirty times the calls.
	Together int
	// Alone reports whether an item has a prompt to itself besides those that [Speaks] finds.
	Alone func(item string) bool
	// MaxKeptBytes bounds the judgements that are kept in memory for one agent, those of all
	// agents are bounded by eight times that. Zero means 8 MiB, which is some 40,000.
	MaxKeptBytes int64
	// Shelf keeps judgements besides memory. Nil: nothing does.
	Shelf Shelf
	// Logger is told of failures of the model. Nil discards that.
	Logger *slog.Logger
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
