// Package openai has models behind APIs that are compatible with OpenAI's: its own, and those of
// Ollama, vLLM, llama.cpp and others.
//
//	judge.Prompt ─► POST URL/chat/completions ─► judge.Completion, or a judge.Failure
//
// Nothing is read from the environment: a key goes to the URL that it was configured with.
package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"rlmproxy/judge"
)

// maxResponse bounds the bytes of a response.
const maxResponse = 4 << 20

// Options say where a model is.
type Options struct {
	// URL is what /chat/completions is below: https://api.openai.com/v1, http://localhost:11434/v1.
	URL string
	// Model is its name there.
	Model string
	// Key is sent as a bearer token. Empty: nothing is.
	Key string
	// Transport is for tests. Nil means one with the usual time limits.
	Transport http.RoundTripper
}

// A Model is behind an API. It is safe for concurrent use.
type Model struct {
	opts   Options
	url    *url.URL
	client *http.Client
	chat   openai.ChatCompletionService

	mu   sync.Mutex // guards the field below
	form form       // of requests that the server takes
}

var _ judge.Model = (*Model)(nil)

// New returns a model. The error is of the options, and does not hold the key.
func New(opts Options) (*Model, error) {
	u, err := url.Parse(opts.URL)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the URL of the model is not one: it is like https://api.openai.com/v1")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, errors.New("the URL of the model has a user, a query or a fragment: a key is named by itself")
	case opts.Model == "":
		return nil, errors.New("the model has no name")
	case strings.ContainsAny(opts.Key, "\r\n"):
		return nil, errors.New("the key of the model has a line break")
	}
	m := &Model{opts: opts, url: u, form: form{tokens: u.Hostname() == "api.openai.com"}}
	transport := opts.Transport
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxResponseHeaderBytes = 64 << 10
		transport = own
	}
	m.client = &http.Client{
		Transport: bounded{transport},
		// A redirect would take the prompts elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return errMoved },
	}
	all := []option.RequestOption{option.WithBaseURL(opts.URL), option.WithHTTPClient(m.client), option.WithMaxRetries(0)}
	if opts.Key != "" {
		all = append(all, option.WithAPIKey(opts.Key))
	}
	m.chat = openai.NewChatCompletionService(all...)
	return m, nil
}

// ID is the model and where it is.
func (m *Model) ID() string { return m.opts.Model + " at " + m.url.Host + m.url.Path }

// Close ends connections that nobody uses.
func (m *Model) Close() { m.client.CloseIdleConnections() }

// Complete implements [judge.Model]. Where the server refuses a form of request, it is sent in
// another one, which is remembered.
func (m *Model) Complete(ctx context.Context, p judge.Prompt) (judge.Completion, error) {
	m.mu.Lock()
	now := m.form
	m.mu.Unlock()
	for {
		c, err := m.send(ctx, p, now)
		next, ok := now.after(err)
		if !ok {
			if err == nil {
				m.mu.Lock()
				m.form = now
				m.mu.Unlock()
			}
			return c, m.failure(ctx, err)
		}
		now = next
	}
}

// send sends a prompt in one form.
func (m *Model) send(ctx context.Context, p judge.Prompt, f form) (c judge.Completion, err error) {
	params := openai.ChatCompletionNewParams{
		Model:    m.opts.Model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(p.System), openai.UserMessage(p.User)},
	}
	f.apply(&params, p)
	said, err := m.chat.New(ctx, params)
	if err != nil {
		return c, err
	}
	c.Input, c.Output = int(said.Usage.PromptTokens), int(said.Usage.CompletionTokens)
	if len(said.Choices) == 0 {
		return c, &judge.Failure{Text: "the model's response has no answer: is " + m.url.Host + m.url.Path + " an API compatible with OpenAI's?"}
	}
	choice := said.Choices[0]
	if choice.Message.Refusal != "" || choice.FinishReason == "content_filter" {
		return c, &judge.Failure{Text: "the model declined to answer"}
	}
	c.Text, c.Cut = choice.Message.Content, choice.FinishReason == "length"
	return c, nil
}

// A form is how a request is written that not all servers take. The zero one is the best.
type form struct {
	format  int  // 0: the schema, 1: JSON, 2: nothing said of it
	warm    bool // without a temperature
	tokens  bool // max_completion_tokens instead of max_tokens
	swapped bool // that was changed
	plain   bool // it was tried because of a response that did not say what it refuses
}

func (f form) apply(params *openai.ChatCompletionNewParams, p judge.Prompt) {
	switch f.format {
	case 0:
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: "answers", Strict: openai.Bool(true), Schema: p.Schema}}
	case 1:
		params.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	}
	if !f.warm {
		params.Temperature = openai.Float(0)
	}
	if f.tokens {
		params.MaxCompletionTokens = openai.Int(int64(p.MaxTokens))
	} else {
		params.MaxTokens = openai.Int(int64(p.MaxTokens))
	}
}

// after is the form to try after an error, if there is another one.
func (f form) after(err error) (next form, ok bool) {
	var refused *openai.Error
	if !errors.As(err, &refused) || refused.StatusCode != http.StatusBadRequest && refused.StatusCode != http.StatusUnprocessableEntity && refused.StatusCode != http.StatusNotImplemented {
		return f, false
	}
	said := strings.ToLower(refused.Param + " " + refused.Message + " " + refused.RawJSON())
	names := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(said, part) {
				return true
			}
		}
		return false
	}
	next = f
	switch {
	case f.plain || names("context length", "context_length", "too long"):
		return f, false
	case names("max_completion_tokens", "max_tokens") && !f.swapped:
		next.tokens, next.swapped = !f.tokens, true
		return next, true
	case names("temperature") && !f.warm:
		next.warm = true
		return next, true
	case names("response_format", "json", "schema", "grammar", "guided"):
		next.format++
		return next, f.format < 2
	case f.format == 2:
		return f, false
	}
	next.format, next.warm, next.plain = 2, true, true
	return next, true
}

var (
	errLarge = errors.New("a response that is too large")
	errMoved = errors.New("a redirect")
)

// bounded ends a response that is too large with errLarge.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err == nil {
		res.Body = &boundedBody{res.Body, maxResponse}
	}
	return res, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
