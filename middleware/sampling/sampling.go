// Package sampling is the model of a client, which the proxy may ask (sampling/createMessage).
//
//	judge.Prompt ─► Model ─► sampling/createMessage ─► the client, its person, its model ─► judge.Completion
//
// How the client is asked is the caller's: a request of ours, or a result that asks for input.
package sampling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"rlmproxy/jsonscan"
	"rlmproxy/judge"
	"rlmproxy/middleware/session"
)

const (
	method = "sampling/createMessage"

	// maxText bounds an answer, in bytes. One of 40 items has some kilobytes.
	maxText = 1 << 20

	// rejected is the code by which a client says that its person refused.
	rejected = -1
)

// Can reports whether the client of a request can be asked for what its model says.
func Can(r *session.Request) bool {
	if r.Stateless {
		return session.Declares(r.Capabilities, method)
	}
	return r.Session.Can(method)
}

// An Asker asks the client of a request while that is answered.
type Asker interface {
	// Client asks, and waits for the answer.
	Client(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Current is the client's request that waits for us now. Returned is how often a client
	// of 2026-07-28 has come back with answers.
	Current() *session.Request
	Returned() int
}

const (
	// A person may look at each prompt, so a client gets few at a time. One of 2026-07-28 gets
	// many: it comes back with the answers to all of them together, and not often.
	few  = 4
	many = 16

	// maxRounds is how often a client of 2026-07-28 comes back within one call before it is
	// asked no more. Some prompts may need two rounds more, and the Go library gives a call up
	// after nine.
	maxRounds = 7
)

// A Model is a client's, for one request. It is safe for concurrent use.
type Model struct {
	client string
	asker  Asker
	turns  chan struct{}  // capacity: prompts that the client has at a time
	asked  sync.WaitGroup // prompts that the client has

	mu   sync.Mutex // guards the field below
	over error      // why the client is asked no more; nil: it may be
}

var _ judge.Model = (*Model)(nil)

// New returns the model of a client of this name.
func New(client string, asker Asker) *Model {
	turns := few
	if asker.Current().Stateless {
		turns = many
	}
	return &Model{client: client, asker: asker, turns: make(chan struct{}, turns)}
}

// ID implements [judge.Model]. Which model a client has for us it does not say before it is
// asked, so all of a client are one.
func (m *Model) ID() string { return "client " + m.client }

// Complete implements [judge.Model].
func (m *Model) Complete(ctx context.Context, p judge.Prompt) (judge.Completion, error) {
	select {
	case m.turns <- struct{}{}:
		defer func() { <-m.turns }()
	case <-ctx.Done():
		return judge.Completion{}, context.Cause(ctx)
	}
	if err := m.begin(); err != nil {
		m.asked.Wait() // whoever hears of it gives up, and the client may still be at work
		return judge.Completion{}, err
	}
	defer m.asked.Done()
	params, err := paramsOf(p)
	if err != nil {
		return judge.Completion{}, err
	}
	raw, err := m.asker.Client(ctx, method, params)
	if err != nil {
		return judge.Completion{}, m.explained(err)
	}
	text, err := textOf(raw)
	return judge.Completion{Text: text, Cut: jsonscan.StringMember(raw, "stopReason") == "maxTokens"}, err
}

// begin counts a prompt among those that the client has. The error says why no prompt begins any
// more.
func (m *Model) begin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over == nil && m.asker.Returned() >= maxRounds {
		m.over = &judge.Failure{Final: true, Text: fmt.Sprintf("the client came back %d times, as often as it may within one call", maxRounds)}
	}
	if m.over != nil {
		return m.over
	}
	m.asked.Add(1)
	return nil
}

// explained says of an error whether it is of use to ask on, and notes if it is not.
func (m *Model) explained(err error) error {
	var said *jsonrpc.Error
	if !errors.As(err, &said) {
		return err
	}
	f := &judge.Failure{Final: true, Err: err}
	switch said.Code {
	case rejected:
		f.Text = "the person at the client refused"
	case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams:
		f.Text = "the client does not have its model asked: " + said.Message
	default:
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = f
	return f
}

// paramsOf is a prompt as a client is asked it. All of it is one message: a client may leave
// out a system prompt. The form of the answer stands in it, too.
func paramsOf(p judge.Prompt) (json.RawMessage, error) {
	text := p.System + "\n\n" + p.User
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type message struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	}
	return json.Marshal(struct {
		Messages       []message          `json:"messages"`
		Preferences    map[string]float64 `json:"modelPreferences"` // many small questions
		IncludeContext string             `json:"includeContext"`
		Temperature    float64            `json:"temperature"`
		MaxTokens      int                `json:"maxTokens"`
	}{[]message{{"user", content{"text", text}}}, map[string]float64{"costPriority": 0.8, "speedPriority": 0.6, "intelligencePriority": 0.4},
		"none", 0, p.MaxTokens})
}

// textOf is the text of a client's answer: of its content, one block or several.
func textOf(raw json.RawMessage) (string, error) {
	content := jsonscan.Member(raw, "content")
	var text strings.Builder
	block := func(b json.RawMessage) error {
		if jsonscan.Kind(b) == '{' && jsonscan.StringMember(b, "type") == "text" && text.Len() <= maxText {
			text.WriteString(jsonscan.StringMember(b, "text"))
		}
		return nil
	}
	switch jsonscan.Kind(content) {
	case '{':
		_ = block(content)
	case '[':
		_ = jsonscan.Elements(content, block)
	}
	switch {
	case text.Len() == 0:
		return "", errors.New("the client's answer has no text")
	case text.Len() > maxText:
		return "", &judge.Failure{Text: "the client's answer is longer than 1 MiB"}
	}
	return text.String(), nil
}
