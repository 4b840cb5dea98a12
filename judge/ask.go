package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"rlmproxy/pipeline/show"
	"rlmproxy/pipeline/tokens"
)

const (
	// promptTokens bounds the items of a prompt that has several: models grow careless in long
	// ones.
	promptTokens = 6000
	// itemTokens bounds an item that can be judged: what small models read at once.
	itemTokens = 24_000
)

// A Judge asks models. It is safe for concurrent use.
type Judge struct {
	opts   Options
	log    *slog.Logger
	kept   *kept
	hourly *hourly
}

// New returns a judge. It has nothing that must be closed.
func New(opts Options) *Judge {
	opts.Concurrency = cmp.Or(opts.Concurrency, 4)
	opts.Timeout = cmp.Or(opts.Timeout, 2*time.Minute)
	opts.Together = cmp.Or(opts.Together, 30)
	opts.MaxKeptBytes = cmp.Or(opts.MaxKeptBytes, 8<<20)
	j := &Judge{opts: opts, log: opts.Logger, kept: newKept(opts.MaxKeptBytes), hourly: &hourly{most: opts.PerHour}}
	if opts.Fleet != nil {
		j.hourly.fleet = &fleetHour{opts.Fleet}
	}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	return j
}

// errTime ends what takes longer than its budget.
var errTime = errors.New("the time is over")

// Ask has m answer q about each item. Equal items are asked about once, those that the agent had
// judged before not at all.
//
// Where a budget is spent or ctx ends, the report is of what was judged until then; asked again, the
// rest is judged. Calls that fail are counted as calls, their tokens are not. It is an error where
// nothing could be judged: a question that cannot be asked ([*QuestionError]), or a model that
// cannot be reached or refuses ([*Failure]).
//
// progress, which may be nil, is called with how many of the items are judged, by one goroutine at a
// time, with more each time. It should not take long.
func (j *Judge) Ask(ctx context.Context, agent string, m Model, q Question, items []string, progress func(done int)) (*Report, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if len(items) > maxItems {
		return nil, wrong("there are %s, the most for one question are %s: narrow them", show.Plural(len(items), "items"), show.Count(maxItems))
	}
	begun := time.Now()
	if limit := j.opts.Budget.Time; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errTime)
		defer cancel()
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	a := &asking{judge: j, agent: agent, model: m, form: newForm(q), progress: progress, end: end, room: 1,
		purse: newPurse(j.opts.Budget, agent, j.hourly)}
	a.take(items, keysOf(m.ID(), q))
	a.recall(ctx)
	a.rounds(ctx)
	if a.failure != nil && a.judged == 0 {
		return nil, a.failure
	}
	return a.sum(ctx, time.Since(begun)), nil
}

// An asking is one question on its way.
type asking struct {
	judge    *Judge
	agent    string
	model    Model
	form     *form
	purse    *purse
	progress func(done int)
	end      context.CancelCauseFunc

	of     []int    // which item each of those that were given is
	texts  []string // of the items, each once
	keys   []key
	tokens []int
	times  []int // how often each one was given

	mu      sync.Mutex // guards the fields below
	got     []Judgement
	judged  int // of those that were given
	cached  int
	calls   int
	input   int
	output  int
	good    int // prompts with an answer that could be used
	bad     int // items asked about by themselves without one
	room    int // how many times longer answers may be than they need be
	pause   time.Time
	told    int    // of those that are judged
	trouble string // the last that the model gave
	stopped string
	failure *Failure
}

// take notes the items, equal ones once.
func (a *asking) take(items []string, keyOf func(string) key) {
	at := map[string]int{}
	for _, item := range items {
		i, seen := at[item]
		if !seen {
			i = len(a.texts)
			at[item] = i
			text := strings.ToValidUTF8(item, "\uFFFD")
			n, _ := tokens.Count([]byte(text))
			a.texts, a.keys, a.tokens, a.times = append(a.texts, text), append(a.keys, keyOf(item)), append(a.tokens, n+around), append(a.times, 0)
			a.got = append(a.got, Judgement{Confidence: -1, Problem: NotAsked})
		}
		a.of = append(a.of, i)
		a.times[i]++
	}
}

// recall looks up what was judged before.
func (a *asking) recall(ctx context.Context) {
	var names []string
	item := map[string]int{}
	for i, k := range a.keys {
		if judgement, ok := a.judge.kept.get(a.agent, k); ok {
			a.record(i, judgement, true)
		} else if a.judge.opts.Shelf != nil {
			names = append(names, k.name())
			item[k.name()] = i
		}
	}
	for some := range slices.Chunk(names, 500) {
		for name, text := range a.judge.opts.Shelf.Get(ctx, a.agent, some) {
			i, asked := item[name]
			if judgement, ok := a.form.readKept(text); asked && ok {
				a.judge.kept.put(a.agent, a.keys[i], judgement)
				a.record(i, judgement, true)
			}
		}
	}
	if a.told = a.judged; a.told > 0 && a.progress != nil {
		a.progress(a.told)
	}
}

// record notes the judgement of an item. a.mu must be held where others may.
func (a *asking) record(i int, j Judgement, cached bool) {
	a.got[i] = j
	if j.Value != nil {
		a.judged += a.times[i]
		if cached {
			a.cached += a.times[i]
		}
	}
}

// sum is the report.
func (a *asking) sum(ctx context.Context, took time.Duration) *Report {
	prices := a.judge.opts.Prices
	r := &Report{Judged: a.judged, Cached: a.cached, Calls: a.calls, Input: a.input, Output: a.output, Time: took,
		Cost: (float64(a.input)*prices.Input + float64(a.output)*prices.Output) / 1e6}
	for _, i := range a.of {
		r.Judgements = append(r.Judgements, a.got[i])
	}
	switch {
	case a.judged == len(a.of) || !a.over(ctx):
	case a.failure != nil:
		r.Stopped = a.failure.Text
	case a.stopped != "":
		r.Stopped = a.stopped
	case errors.Is(context.Cause(ctx), errTime):
		r.Stopped = fmt.Sprintf("the %v that one question may take are over", a.judge.opts.Budget.Time)
		if a.good == 0 && a.trouble != "" {
			r.Stopped += "; " + a.trouble
		}
	default:
		r.Stopped = "cancelled"
	}
	return r
}
