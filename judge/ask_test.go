package judge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rlmproxy/judge"
	"rlmproxy/judge/judgetest"
	"rlmproxy/judge/openai"
)

// local is a model of rules without a network. Its latency is the test's.
type local struct {
	*judgetest.Model
	name    string
	latency time.Duration
	err     func(call int) error
	calls   atomic.Int32
	busy    atomic.Int32
	most    atomic.Int32
}

func (l *local) ID() string { return l.name }

func (l *local) Complete(ctx context.Context, p judge.Prompt) (judge.Completion, error) {
	call := int(l.calls.Add(1))
	for now := l.busy.Add(1); ; {
		was := l.most.Load()
		if now <= was || l.most.CompareAndSwap(was, now) {
			break
		}
	}
	defer l.busy.Add(-1)
	if l.latency > 0 {
		select {
		case <-time.After(l.latency):
		case <-ctx.Done():
			return judge.Completion{}, ctx.Err()
		}
	}
	if l.err != nil {
		if err := l.err(call); err != nil {
			return judge.Completion{}, err
		}
	}
	text := l.Answer(p.System, p.User)
	return judge.Completion{Text: text, Input: (len(p.System) + len(p.User)) / 4, Output: len(text) / 4}, nil
}

func newLocal(rule func(about, item string) any) *local {
	return &local{Model: &judgetest.Model{Rule: rule}, name: "rules"}
}

var labels = []string{"delivery", "quality", "price"}

// about is the label of an item by rule.
func about(_, item string) any {
	for i, word := range []string{"late", "broken", "dear"} {
		if strings.Contains(item, word) {
			return labels[i]
		}
	}
	return nil
}

// complaints are n different ones, and how many there are of each label.
func complaints(n int) (items []string, counts map[string]int) {
	counts = map[string]int{}
	for i := range n {
		word := []string{"late", "broken", "dear", "late"}[i*7%4]
		item := fmt.Sprintf("Order %05d: the parcel that we had from you in week %d was %s, and nobody of your shop picks up.", i, i%52, word)
		items = append(items, item)
		counts[about("", item).(string)]++
	}
	return items, counts
}

// report is what a test prints of one.
func report(r *judge.Report) judge.Report {
	if r == nil {
		return judge.Report{}
	}
	short := *r
	short.Judgements = nil
	return short
}

func count(r *judge.Report) map[string]int {
	counts := map[string]int{}
	for _, j := range r.Judgements {
		if j.Value != nil {
			counts[strings.Trim(string(j.Value), `"`)]++
		}
	}
	return counts
}

var question = judge.Question{Text: "What is it about?", Labels: labels}

func same(a, b map[string]int) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// 3,000 items over HTTP, with all that goes wrong there: each is judged once, and the counts are exact.
func TestThreeThousand(t *testing.T) {
	items, want := complaints(3000)
	s := judgetest.Start(t, about)
	s.Latency = time.Millisecond
	faults := []judgetest.Fault{judgetest.Missing, judgetest.Extra, judgetest.Twice, judgetest.Odd, judgetest.Cut, judgetest.Prose, judgetest.Fenced, judgetest.Refusal, judgetest.Broken, judgetest.Failing, judgetest.Limited}
	s.RetryAfter = "0.001"
	s.Fault = func(request int) judgetest.Fault {
		if request%9 == 0 {
			return faults[request/9%len(faults)]
		}
		return judgetest.Fine
	}
	m, err := openai.New(openai.Options{URL: s.URL, Model: "small", Key: s.Key})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	last := 0
	r, err := judge.New(judge.Options{Prices: judge.Prices{Input: 1, Output: 2}}).Ask(t.Context(), "a", m, question, items, func(done int) {
		if done <= last || done > len(items) {
			t.Errorf("%d are done after %d", done, last)
		}
		last = done
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Judged != 3000 || r.Cached != 0 || r.Stopped != "" || !same(count(r), want) {
		t.Errorf("%d judged, %q: %v, want %v", r.Judged, r.Stopped, count(r), want)
	}
	if why := s.Once(items); why != "" {
		t.Error(why)
	}
	if last != 3000 || r.Calls != s.Requests() || r.Input == 0 || r.Cost != float64(r.Input+2*r.Output)/1e6 {
		t.Errorf("progress ended at %d; %+v calls, %d requests", last, r.Calls, s.Requests())
	}
	for i, j := range r.Judgements {
		if string(j.Value) != `"`+about("", items[i]).(string)+`"` || j.Confidence != -1 {
			t.Fatalf("item %d: %s, %v", i, j.Value, j.Confidence)
		}
	}
}

// Each fault, in the first request: all are judged, at the cost of so many requests.
func TestFaults(t *testing.T) {
	items, _ := complaints(20)
	for fault, requests := range map[judgetest.Fault]int{
		judgetest.Fine: 1, judgetest.Fenced: 1, judgetest.Missing: 2, judgetest.Twice: 2, judgetest.Odd: 2, judgetest.Extra: 2, judgetest.Prose: 2, judgetest.Cut: 2,
	} {
		m := newLocal(about)
		m.Fault = func(request int) judgetest.Fault {
			if request == 1 {
				return fault
			}
			return judgetest.Fine
		}
		r, err := judge.New(judge.Options{}).Ask(t.Context(), "a", m, question, items, nil)
		if err != nil || r.Judged != 20 || m.Requests() != requests {
			t.Errorf("fault %d: %d judged, %v, %d requests", fault, r.Judged, err, m.Requests())
		}
	}
}

// An item without a good answer is asked about three times, and named; the others are counted.
func TestNotJudged(t *testing.T) {
	items, _ := complaints(40)
	items[7] = "of nothing that we know"
	m := newLocal(func(a, item string) any {
		if item == items[7] {
			return "weather"
		}
		return about(a, item)
	})
	r, err := judge.New(judge.Options{}).Ask(t.Context(), "a", m, question, items, nil)
	if err != nil {
		t.Fatal(err)
	}
	if j := r.Judgements[7]; r.Judged != 39 || r.Stopped != "" || j.Value != nil || j.Problem != "the answer was none of the labels" {
		t.Errorf("%d judged, %q; %+v", r.Judged, r.Stopped, j)
	}
	if m.Judged()[items[7]] != 3 || m.Requests() != 4 {
		t.Errorf("asked %d times, %d requests", m.Judged()[items[7]], m.Requests())
	}
}

// What was judged before is not asked again: by the same agent, for the same question and model.
func TestKept(t *testing.T) {
	items, _ := complaints(90)
	j, m := judge.New(judge.Options{}), newLocal(about)
	ask := func(agent string, q judge.Question, m judge.Model, items []string) (cached, calls int) {
		t.Helper()
		r, err := j.Ask(t.Context(), agent, m, q, items, nil)
		if err != nil || r.Judged != len(items) {
			t.Fatalf("%d judged, %v", r.Judged, err)
		}
		return r.Cached, r.Calls
	}
	other := newLocal(about)
	other.name = "others"
	guided := question
	guided.Guide = "late is delivery"
	for i, tt := range []struct {
		agent         string
		q             judge.Question
		m             judge.Model
		items         []string
		cached, calls int
	}{
		{"a", question, m, items[:60], 0, 2},
		{"a", question, m, items[:60], 60, 0},
		{"a", question, m, items, 60, 1}, // a grown log
		{"b", question, m, items[:30], 0, 1},
		{"a", guided, m, items[:30], 0, 1},
		{"a", question, other, items[:30], 0, 1},
		{"a", question, m, append(items[:5:5], items[:5]...), 10, 0},
		{"c", question, m, append(items[:5:5], items[:5]...), 0, 1},
	} {
		if cached, calls := ask(tt.agent, tt.q, tt.m, tt.items); cached != tt.cached || calls != tt.calls {
			t.Errorf("%d: %d of them kept, %d calls; want %d, %d", i, cached, calls, tt.cached, tt.calls)
		}
	}
}

// What a budget leaves is said, and judged when asked again.
func TestBudgets(t *testing.T) {
	items, want := complaints(600)
	for name, tt := range map[string]struct {
		budget, hour judge.Budget
		stopped      string
	}{
		"calls":          {judge.Budget{Calls: 7}, judge.Budget{}, "the 7 calls of the model that one question may make are spent"},
		"tokens":         {judge.Budget{Tokens: 8000}, judge.Budget{}, "of the 8,000 tokens that one question may take"},
		"tokens an hour": {judge.Budget{}, judge.Budget{Tokens: 12000}, "the 12,000 tokens that this agent has of the model in an hour are spent: there are more in"},
		"calls an hour":  {judge.Budget{}, judge.Budget{Calls: 7}, "the 7 calls that this agent has of the model in an hour are spent: there are more in"},
		"time":           {judge.Budget{Time: 3500 * time.Millisecond}, judge.Budget{}, "the 3.5s that one question may take are over"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newLocal(about)
				m.latency = time.Second
				j := judge.New(judge.Options{Budget: tt.budget, PerHour: tt.hour, Concurrency: 2})
				for ask, before := 1, 0; ; ask++ {
					r, err := j.Ask(t.Context(), "a", m, question, items, nil)
					if err != nil {
						t.Fatal(err)
					}
					if most := tt.budget.Tokens; most > 0 && r.Input+r.Output > most {
						t.Errorf("%d tokens of %d", r.Input+r.Output, most)
					}
					if most := tt.budget.Calls; most > 0 && r.Calls > most {
						t.Errorf("%d calls of %d", r.Calls, most)
					}
					if r.Cached != before || r.Judged <= before {
						t.Fatalf("ask %d: %d judged, %d of them kept, before %d", ask, r.Judged, r.Cached, before)
					}
					if before = r.Judged; r.Judged == len(items) {
						if r.Stopped != "" || !same(count(r), want) || ask < 3 {
							t.Errorf("after %d asks %q: %v", ask, r.Stopped, count(r))
						}
						break
					}
					if !strings.HasPrefix(r.Stopped, tt.stopped) {
						t.Fatalf("%q, want %q", r.Stopped, tt.stopped)
					}
					for i, j := range r.Judgements {
						if (j.Value == nil) != (j.Problem == judge.NotAsked) {
							t.Fatalf("item %d: %+v", i, j)
						}
					}
					if tt.hour != (judge.Budget{}) {
						again, err := j.Ask(t.Context(), "a", m, question, items, nil)
						if err != nil {
							t.Fatal(err)
						}
						before = again.Judged
						if most := tt.hour; most.Calls > 0 && r.Calls+again.Calls > most.Calls || most.Tokens > 0 && r.Input+r.Output+again.Input+again.Output > most.Tokens {
							t.Errorf("in an hour %d and %d calls, %d and %d tokens", r.Calls, again.Calls, r.Input+r.Output, again.Input+again.Output)
						}
						if other, err := j.Ask(t.Context(), "b", m, question, items[:5], nil); err != nil || other.Cached+5*other.Calls != 5 {
							t.Errorf("another agent: %d kept, %d calls, %v", other.Cached, other.Calls, err)
						}
						time.Sleep(66 * time.Minute)
					}
				}
				if why := m.Once(items[5:]); why != "" {
					t.Error(why)
				}
			})
		})
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items, _ := complaints(600)
		m := newLocal(about)
		m.latency = time.Second
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		time.AfterFunc(2500*time.Millisecond, cancel)
		j := judge.New(judge.Options{})
		r, err := j.Ask(ctx, "a", m, question, items, nil)
		if err != nil || r.Stopped != "cancelled" || r.Judged != 240 || time.Since(begun) != 2500*time.Millisecond {
			t.Fatalf("%v after %v: %q, %d judged", err, time.Since(begun), r.Stopped, r.Judged)
		}
		if m.most.Load() != 4 {
			t.Errorf("%d prompts at a time", m.most.Load())
		}
		r, err = j.Ask(t.Context(), "a", m, question, items, nil)
		if err != nil || r.Cached != 240 || r.Judged != 600 {
			t.Errorf("%v: %+v", err, r.Judged)
		}
	})
}

// Calls that fail for what may pass are made again, after what the model says or longer each time.
func TestAgain(t *testing.T) {
	limited := &judge.Failure{Text: "limited", Again: true, Wait: 20 * time.Second}
	for name, tt := range map[string]struct {
		err         func(call int) error
		calls       int
		least, most time.Duration
		failure     string
	}{
		"limited": {func(call int) error {
			if call == 1 {
				return limited
			}
			return nil
		}, 2, 20 * time.Second, 20 * time.Second, ""},
		"three times": {func(call int) error {
			if call <= 3 {
				return errors.New("reset")
			}
			return nil
		}, 4, 2 * time.Second, 4 * time.Second, ""},
		"away":       {func(int) error { return errors.New("refused") }, 7, 20 * time.Second, 32 * time.Second, "the model does not answer: refused"},
		"too long":   {func(int) error { return &judge.Failure{Text: "in an hour", Again: true, Wait: time.Hour} }, 1, 0, 0, "in an hour"},
		"a bad key":  {func(int) error { return &judge.Failure{Text: "refuses the key", Final: true} }, 1, 0, 0, "refuses the key"},
		"declines":   {func(int) error { return &judge.Failure{Text: "declined"} }, 14, 0, 0, "the model judged none of the first 6 items, the last because declined: is it one that follows a schema?"},
		"never ends": {nil, 7, 230 * time.Second, 5 * time.Minute, "the model did not answer within 30s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				items, _ := complaints(20)
				m := newLocal(about)
				m.err = tt.err
				if tt.err == nil {
					m.latency = time.Hour
				}
				begun := time.Now()
				r, err := judge.New(judge.Options{Timeout: 30 * time.Second}).Ask(t.Context(), "a", m, question, items, nil)
				if took := time.Since(begun); took < tt.least || took > tt.most || int(m.calls.Load()) != tt.calls {
					t.Errorf("%v, %d calls", took, m.calls.Load())
				}
				var f *judge.Failure
				switch {
				case tt.failure == "" && (err != nil || r.Judged != 20 || r.Calls != tt.calls):
					t.Errorf("%+v, %v", report(r), err)
				case tt.failure != "" && (!errors.As(err, &f) || f.Text != tt.failure):
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// A model that fails after some answers leaves a report of those.
func TestFailsLater(t *testing.T) {
	items, _ := complaints(300)
	m := newLocal(about)
	m.err = func(call int) error {
		if call > 3 {
			return &judge.Failure{Text: "refuses the key", Final: true}
		}
		return nil
	}
	r, err := judge.New(judge.Options{Concurrency: 1}).Ask(t.Context(), "a", m, question, items, nil)
	if err != nil || r.Judged != 90 || r.Stopped != "refuses the key" || m.calls.Load() != 4 {
		t.Errorf("%+v, %v", report(r), err)
	}
}

// Models that think first use up the room for the answer: they get more of it.
func TestThinks(t *testing.T) {
	items, _ := complaints(20)
	m := &thinker{local: newLocal(about)}
	r, err := judge.New(judge.Options{}).Ask(t.Context(), "a", m, question, items, nil)
	if err != nil || r.Judged != 20 || r.Calls != 3 {
		t.Errorf("%+v, %v", report(r), err)
	}
}

type thinker struct{ *local }

func (m *thinker) Complete(ctx context.Context, p judge.Prompt) (judge.Completion, error) {
	if p.MaxTokens < 10_000 {
		return judge.Completion{Cut: true}, nil
	}
	c, err := m.local.Complete(ctx, p)
	c.Text = "<think>{\"answers\":[]} is what I am asked for</think>" + c.Text
	return c, err
}

// A prompt has 30 items at most, and fewer where they are long; one that is too long is said to be.
func TestSizes(t *testing.T) {
	long := strings.Repeat("the parcel was late again ", 200) // 1,000 tokens
	var items []string
	for i := range 20 {
		items = append(items, fmt.Sprint(i, " ", long))
	}
	items = append(items, "x "+strings.Repeat(long, 10), strings.Repeat(long, 30), "late", "\xff late", "")
	m := newLocal(func(_, item string) any {
		if item == "" {
			return labels[2]
		}
		return about("", item)
	})
	r, err := judge.New(judge.Options{}).Ask(t.Context(), "a", m, question, items, nil)
	if err != nil || r.Judged != len(items)-1 || m.Largest() != 5 && m.Largest() != 8 {
		t.Fatalf("%+v, %v, the largest has %d", r.Judged, err, m.Largest())
	}
	if p := r.Judgements[21].Problem; !strings.HasPrefix(p, "too long: 29,") {
		t.Errorf("%q", p)
	}
}

func TestQuestions(t *testing.T) {
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, tt := range []struct {
		q    judge.Question
		want string
	}{
		{judge.Question{Text: " "}, "the question is empty"},
		{judge.Question{Text: strings.Repeat("é", 4001)}, "more than 4000"},
		{judge.Question{Text: "x", Guide: strings.Repeat("é", 4001)}, "more than 4000"},
		{judge.Question{Text: "x", Labels: []string{"a"}}, "one label"},
		{judge.Question{Text: "x", Labels: many}, "101 labels"},
		{judge.Question{Text: "x", Labels: []string{"a", " A"}}, "there twice"},
		{judge.Question{Text: "x", Labels: []string{"a", " "}}, "label 2 is empty"},
		{judge.Question{Text: "x", Labels: []string{"a", "b"}, Type: "number"}, "labels are texts"},
		{judge.Question{Text: "x", Type: "date"}, `type is "date"`},
	} {
		_, err := judge.New(judge.Options{}).Ask(t.Context(), "a", nobody{}, tt.q, []string{"x"}, nil)
		var wrong *judge.QuestionError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Text, tt.want) {
			t.Errorf("%.50q: %v, want %q", tt.q.Text, err, tt.want)
		}
	}
}

type nobody struct{}

func (nobody) ID() string { return "" }
func (nobody) Complete(context.Context, judge.Prompt) (judge.Completion, error) {
	panic("it is not asked")
}

// Two questions at a time do not take each other's answers, or more than the agent has.
func TestTogether(t *testing.T) {
	items, _ := complaints(300)
	j, m := judge.New(judge.Options{PerHour: judge.Budget{Calls: 15}}), newLocal(about)
	var done sync.WaitGroup
	var judged, calls atomic.Int32
	for i := range 4 {
		done.Go(func() {
			q := question
			q.Text = fmt.Sprint("Question ", i)
			r, err := j.Ask(t.Context(), "a", m, q, items, nil)
			if err != nil {
				t.Error(err)
				return
			}
			judged.Add(int32(r.Judged))
			calls.Add(int32(r.Calls))
		})
	}
	done.Wait()
	if judged.Load() != 450 || calls.Load() != 15 {
		t.Errorf("%d judged by %d calls", judged.Load(), calls.Load())
	}
}
