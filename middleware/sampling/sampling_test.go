package sampling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/judge"
	"rlmproxy/middleware/session"
)

// asked is a client that answers by a function.
type asked struct {
	mu      sync.Mutex
	current *session.Request
	back    int
	answer  func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
}

func (a *asked) Client(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method != "sampling/createMessage" {
		return nil, fmt.Errorf("asked for %s", method)
	}
	return a.answer(ctx, params)
}

func (a *asked) Current() *session.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current
}

func (a *asked) Returned() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.back
}

var prompt = judge.Prompt{System: "Rules.", User: "Items.", Schema: json.RawMessage(`{}`), MaxTokens: 77}

func TestComplete(t *testing.T) {
	for _, c := range []struct{ answer, text, fails string }{
		{`{"role":"assistant","model":"m","content":{"type":"text","text":"{}"}}`, "{}", ""},
		{`{"content":[{"type":"text","text":"{\"a\":"},{"type":"image","data":""},{"type":"text","text":"1}"}],"stopReason":"endTurn"}`, `{"a":1}`, ""},
		{`{"content":{"type":"image","data":"AAAA"}}`, "", "no text"},
		{`{"content":[]}`, "", "no text"},
		{`{"content":"text"}`, "", "no text"},
		{`{}`, "", "no text"},
		{`[]`, "", "no text"},
		{`{"content":{"type":"text","text":"` + strings.Repeat("x", maxText+1) + `"}}`, "", "longer than 1 MiB"},
		{`{"content":[` + strings.Repeat(`{"type":"text","text":"`+strings.Repeat("x", 1000)+`"},`, 1100) + `{}]}`, "", "longer than 1 MiB"},
	} {
		a := &asked{current: &session.Request{}, answer: func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
			want := `{"messages":[{"role":"user","content":{"type":"text","text":"Rules.\n\nItems."}}],"modelPreferences":{"costPriority":0.8,"intelligencePriority":0.4,"speedPriority":0.6},"includeContext":"none","temperature":0,"maxTokens":77}`
			if string(params) != want {
				t.Errorf("asked %s", params)
			}
			return json.RawMessage(c.answer), nil
		}}
		got, err := New("host", a).Complete(t.Context(), prompt)
		if got.Text != c.text || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%.80s: %.80q, %v", c.answer, got.Text, err)
		}
	}
	if id := New("host", &asked{current: &session.Request{}}).ID(); id != "client host" {
		t.Error(id)
	}
}

// TestFinal: after a refusal it is of no use to ask on, after a fault of the client it may be.
func TestFinal(t *testing.T) {
	for code, final := range map[int64]bool{-1: true, jsonrpc.CodeMethodNotFound: true, jsonrpc.CodeInvalidParams: true, jsonrpc.CodeInternalError: false} {
		a := &asked{current: &session.Request{}, answer: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, &jsonrpc.Error{Code: code, Message: "no"}
		}}
		_, err := New("host", a).Complete(t.Context(), prompt)
		var f *judge.Failure
		if got := errors.As(err, &f) && f.Final; got != final || err == nil {
			t.Errorf("%d: %v, final %t", code, err, got)
		}
	}
}

// TestRounds: a client of 2026-07-28 is asked as long as it has not come back too often, and many
// prompts at a time; an older one few at a time, as often as there is something to ask.
func TestRounds(t *testing.T) {
	for _, c := range []struct {
		stateless       bool
		together, asked int
	}{{true, many, maxRounds * many}, {false, few, 40 * few}} {
		synctest.Test(t, func(t *testing.T) {
			come := make(chan struct{})
			now, most, all := 0, 0, 0
			a := &asked{current: &session.Request{Stateless: c.stateless}}
			a.answer = func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
				a.mu.Lock()
				now++
				all++
				most = max(most, now)
				back := come
				a.mu.Unlock()
				<-back
				return json.RawMessage(`{"content":{"type":"text","text":"{}"}}`), nil
			}
			m := New("host", a)
			var refused int
			var wg sync.WaitGroup
			for range 40 * c.together {
				wg.Go(func() {
					if _, err := m.Complete(t.Context(), prompt); err != nil {
						a.mu.Lock()
						refused++
						a.mu.Unlock()
					}
				})
			}
			for range 41 { // the client comes back with all answers, in another request
				synctest.Wait()
				a.mu.Lock()
				now = 0
				if c.stateless {
					a.back++
				}
				close(come)
				come = make(chan struct{})
				a.mu.Unlock()
			}
			wg.Wait()
			if most != c.together || all != c.asked || refused != 40*c.together-c.asked {
				t.Errorf("stateless %t: %d at a time, %d in all, %d refused", c.stateless, most, all, refused)
			}
			ctx, cancel := context.WithCancel(t.Context())
			for range c.together {
				m.turns <- struct{}{}
			}
			cancel()
			if _, err := m.Complete(ctx, prompt); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}

// TestLastRound: who is told that the client was asked often enough is told when the client has no
// prompt of ours any more. The judge gives all up then, and what a model answers later is lost.
func TestLastRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := make(chan struct{})
		a := &asked{current: &session.Request{Stateless: true}}
		a.answer = func(context.Context, json.RawMessage) (json.RawMessage, error) {
			<-back
			return json.RawMessage(`{"content":{"type":"text","text":"{}"}}`), nil
		}
		m := New("host", a)
		a.back = maxRounds - 1
		var answered, refused atomic.Bool
		go func() {
			_, err := m.Complete(t.Context(), prompt)
			answered.Store(err == nil)
		}()
		synctest.Wait()
		a.mu.Lock()
		a.back++ // without this answer
		a.mu.Unlock()
		go func() {
			_, err := m.Complete(t.Context(), prompt)
			refused.Store(err != nil && answered.Load())
		}()
		synctest.Wait()
		if refused.Load() {
			t.Error("refused while the client works")
		}
		close(back)
		synctest.Wait()
		if !answered.Load() || !refused.Load() {
			t.Errorf("answered %t, refused after that %t", answered.Load(), refused.Load())
		}
	})
}
