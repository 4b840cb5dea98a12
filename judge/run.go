package judge

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"rlmproxy/pipeline/show"
)

const (
	// rounds is how often an item is asked about at most that gets no good answer: once with
	// others, twice by itself.
	rounds = 3
	// tries is how often a prompt with several items is sent whose reply cannot be read.
	tries = 2
	// hopeless is after how many items without a good answer, and none with one, the model is
	// given up.
	hopeless = 6
	// mostRoom is how many times longer answers may get for models that think first.
	mostRoom = 16
)

// rounds asks about all items that have no judgement: many a prompt first, and those that have a
// prompt to themselves after that, so that a budget has judged most when it is spent.
func (a *asking) rounds(ctx context.Context) {
	var prompts, alone [][]int
	var some []int
	size := 0
	for i, item := range a.texts {
		switch {
		case a.got[i].Value != nil:
		case a.tokens[i] > itemTokens:
			a.got[i].Problem = "too long: " + show.Plural(a.tokens[i], "tokens") + ", the most are " + show.Count(itemTokens)
		case a.judge.opts.Together == 1, a.tokens[i] > promptTokens, Speaks(item), a.judge.opts.Alone != nil && a.judge.opts.Alone(item):
			alone = append(alone, []int{i})
		default:
			if len(some) == a.judge.opts.Together || size+a.tokens[i] > promptTokens {
				prompts = append(prompts, some)
				some, size = nil, 0
			}
			some = append(some, i)
			size += a.tokens[i]
		}
	}
	if len(some) > 0 {
		prompts = append(prompts, some)
	}
	prompts = append(prompts, alone...)
	for range rounds {
		a.round(ctx, prompts)
		var left [][]int
		for _, prompt := range prompts {
			for _, i := range prompt {
				if a.got[i].Value == nil {
					left = append(left, []int{i})
				}
			}
		}
		prompts = left
	}
}

// round sends these prompts, a few at a time, and returns when all are answered or given up.
func (a *asking) round(ctx context.Context, prompts [][]int) {
	var sent errgroup.Group
	sent.SetLimit(a.judge.opts.Concurrency)
	for _, items := range prompts {
		if a.over(ctx) {
			break
		}
		sent.Go(func() error {
			defer func() {
				if f := a.faultOf(recover()); f != nil {
					a.fail(f)
				}
			}()
			a.prompt(ctx, items)
			return nil
		})
	}
	_ = sent.Wait() // none of them has an error
}

// faultOf is a panic as a failure, nil for none.
func (a *asking) faultOf(v any) *Failure {
	if v == nil {
		return nil
	}
	a.judge.log.Error("judge: internal error", "model", a.model.ID(), "error", fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
	return &Failure{Text: "internal error: the proxy's log has the details", Final: true}
}

// over reports whether no further prompt is sent.
func (a *asking) over(ctx context.Context) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return ctx.Err() != nil || a.stopped != "" || a.failure != nil
}

// stop has no further prompt sent; those that are on their way are waited for.
func (a *asking) stop(why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped == "" {
		a.stopped = why
	}
}

// fail gives the model up.
func (a *asking) fail(f *Failure) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failure == nil {
		a.failure = f
		a.judge.log.Warn("judge: the model is given up", "model", a.model.ID(), "error", f.Text)
	}
	a.end(f)
}

// prompt asks about some items, and notes what is answered well. Where they are at fault together,
// or too many for what is left of a budget, it goes on with half of them.
func (a *asking) prompt(ctx context.Context, items []int) {
	var texts []string
	for _, i := range items {
		texts = append(texts, a.texts[i])
	}
	for try := 1; !a.over(ctx); try++ {
		room := a.roomNow()
		p, first := a.form.write(texts, room)
		c, err := a.complete(ctx, p)
		var spent *spent
		var f *Failure
		switch {
		case errors.As(err, &spent):
			if spent.less && len(items) > 1 {
				a.prompt(ctx, items[:len(items)/2])
			}
			a.stop(spent.why)
			return
		case err != nil:
			if errors.As(err, &f) && !a.over(ctx) {
				a.apart(ctx, items, f.Text)
			}
			return
		}
		got, err := a.form.read(c.Text, first, len(items))
		switch {
		case err == nil:
			a.answered(items, got)
			return
		case c.Cut && room < mostRoom:
			a.moreRoom(room)
			try--
		case c.Cut:
			a.apart(ctx, items, "the model's answer was too long")
			return
		case len(items) == 1 || try >= tries:
			a.apart(ctx, items, "the model gave "+err.Error())
			return
		}
	}
}

// apart asks about the halves of some items of which there was no good answer, or notes why one
// has none.
func (a *asking) apart(ctx context.Context, items []int, why string) {
	if half := len(items) / 2; half > 0 {
		a.prompt(ctx, items[:half])
		a.prompt(ctx, items[half:])
		return
	}
	a.mu.Lock()
	a.got[items[0]].Problem = why
	a.bad++
	give := a.good == 0 && a.bad >= hopeless
	a.mu.Unlock()
	if give {
		a.fail(&Failure{Text: "the model judged none of the first " + show.Plural(hopeless, "items") + ", the last because " + why + ": is it one that follows a schema?", Final: true})
	}
}

func (a *asking) roomNow() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.room
}

// moreRoom lets answers be four times as long as those that were cut.
func (a *asking) moreRoom(was int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.room = max(a.room, 4*was)
}

// answered notes and keeps what was answered.
func (a *asking) answered(items []int, got []Judgement) {
	values := map[string][]byte{}
	a.mu.Lock()
	for at, i := range items {
		a.record(i, got[at], false)
		if got[at].Value != nil {
			a.judge.kept.put(a.agent, a.keys[i], got[at])
			values[a.keys[i].name()] = write(got[at])
		}
	}
	a.mu.Unlock()
	if len(values) == 0 {
		return
	}
	if shelf := a.judge.opts.Shelf; shelf != nil {
		shelf.Put(a.agent, values)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.good++
	if a.progress != nil && a.judged > a.told {
		a.told = a.judged
		a.progress(a.judged)
	}
}
