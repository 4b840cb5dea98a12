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
	"strings"

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

// A Model is a client's. It is asked one prompt at a time: a person may look at each.
type Model struct {
	client string
	ask    func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	turn   chan struct{} // capacity 1
}

var _ judge.Model = (*Model)(nil)

// New returns the model of a client of this name, which ask asks.
func New(client string, ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)) *Model {
	return &Model{client, ask, make(chan struct{}, 1)}
}

// ID implements [judge.Model]. Which model a client has for us it does not say before it is
// asked, so all of a client are one.
func (m *Model) ID() string { return "client " + m.client }

// Complete implements [judge.Model].
func (m *Model) Complete(ctx context.Context, p judge.Prompt) (judge.Completion, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return judge.Completion{}, context.Cause(ctx)
	}
	params, err := paramsOf(p)
	if err != nil {
		return judge.Completion{}, err
	}
	raw, err := m.ask(ctx, method, params)
	if err != nil {
		return judge.Completion{}, explained(err)
	}
	text, err := textOf(raw)
	return judge.Completion{Text: text}, err
}

// paramsOf is a prompt as a client is asked it. All of it is one message: a client may leave
// out what stands elsewhere, and knows no schemas.
func paramsOf(p judge.Prompt) (json.RawMessage, error) {
	text := p.System + "\n\n" + p.User
	if len(p.Schema) > 0 {
		text += "\n\nAnswer with JSON only, without a fence, by this JSON Schema:\n" + string(p.Schema)
	}
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
		return "", errors.New("the client's answer is longer than 1 MiB")
	}
	return text.String(), nil
}

// explained says of an error what the agent and its person can do.
func explained(err error) error {
	var said *jsonrpc.Error
	switch {
	case !errors.As(err, &said):
		return err
	case said.Code == rejected:
		return errors.New("the person at the client refused to have its model asked")
	}
	return err
}
