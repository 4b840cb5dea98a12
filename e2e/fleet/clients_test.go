//lint:file-ignore SA1019 clients of the older revisions still use sampling

package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"rlmproxy/e2e/replicas"
)

// revisions are all that the proxy serves. The last has no sessions.
var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", stateless}

const stateless = "2026-07-28"

// A client is one program that speaks to the fleet for an agent. One goroutine uses it.
type client interface {
	// begin begins a session, or a new one where there was one.
	begin(ctx context.Context, name string) error
	// call calls a tool. All requests of it have that name at the balancer.
	call(ctx context.Context, name, tool string, args any) (answer, error)
	// ended reports whether a new session has to be begun.
	ended() bool
	close()
}

// An answer is the result of a tool.
type answer struct {
	text    string
	isError bool
	code    string // of the proxy's own errors
	id      string // cache_id
}

// A failure is an answer that is no result.
type failure struct {
	status int // of HTTP
	text   string
	gone   bool // the session is not known
}

func (f *failure) Error() string { return fmt.Sprintf("%d %s", f.status, f.text) }

// errBroken is of a response that breaks off.
var errBroken = errors.New("the response broke off")

// A rawClient writes its requests itself.
type rawClient struct {
	url, token, revision string
	only                 string // the replica that all requests go to, "" for any
	http                 *http.Client

	session string
	next    int
	over    bool
	resumed []string // what became of streams that broke off
}

func newRaw(url, token, revision string) *rawClient {
	return &rawClient{url: url, token: token, revision: revision, http: &http.Client{Transport: &http.Transport{}}}
}

func (c *rawClient) close()      { c.http.CloseIdleConnections() }
func (c *rawClient) ended() bool { return c.over }

const canDo = `{"elicitation":{"form":{}},"sampling":{}}`

func (c *rawClient) begin(ctx context.Context, name string) error {
	c.session, c.over = "", false
	if c.revision == stateless {
		return nil
	}
	_, err := c.request(ctx, name, "initialize", fmt.Sprintf(`{"protocolVersion":%q,"clientInfo":{"name":"raw","version":"1"},"capabilities":%s}`, c.revision, canDo))
	if err == nil && c.session == "" {
		err = errors.New("no session")
	}
	if err == nil {
		err = c.tell(ctx, name, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	c.over = err != nil
	return err
}

func (c *rawClient) call(ctx context.Context, name, tool string, args any) (answer, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return answer{}, err
	}
	params := fmt.Sprintf(`"name":%q,"arguments":%s`, tool, raw)
	more := ""
	for range 10 {
		got, err := c.request(ctx, name, "tools/call", "{"+params+more+"}")
		if err != nil {
			return answer{}, err
		}
		var r struct {
			ResultType    string
			RequestState  string
			InputRequests map[string]struct {
				Method string
				Params json.RawMessage
			}
		}
		if err := json.Unmarshal(got, &r); err != nil {
			return answer{}, fmt.Errorf("%.200s: %w", got, err)
		}
		if r.ResultType != "input_required" {
			return readAnswer(got)
		}
		responses := map[string]json.RawMessage{}
		for id, q := range r.InputRequests {
			responses[id] = reply(q.Method, q.Params)
		}
		b, err := json.Marshal(map[string]any{"requestState": r.RequestState, "inputResponses": responses})
		if err != nil {
			return answer{}, err
		}
		more = "," + string(b[1:len(b)-1])
	}
	return answer{}, errors.New("it asks on and on")
}

func readAnswer(result json.RawMessage) (answer, error) {
	var r struct {
		Content []struct{ Text string }
		IsError bool
		Meta    struct {
			Result struct {
				CacheID string `json:"cache_id"`
			} `json:"rlmproxy/result"`
			Error struct{ Code string } `json:"rlmproxy/error"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) == 0 {
		return answer{}, fmt.Errorf("%.200s: no result of a tool: %v", result, err)
	}
	return answer{r.Content[0].Text, r.IsError, r.Meta.Error.Code, r.Meta.Result.CacheID}, nil
}

// reply is what a client says to a question of the asker.
func reply(method string, params json.RawMessage) json.RawMessage {
	var p struct {
		Message  string
		Messages []struct{ Content struct{ Text string } }
	}
	if json.Unmarshal(params, &p) != nil {
		return json.RawMessage(`{}`)
	}
	var answer any
	switch method {
	case "elicitation/create":
		answer = map[string]any{"action": "accept", "content": map[string]string{"said": saying(p.Message)}}
	case "sampling/createMessage":
		answer = map[string]any{"role": "assistant", "model": "m", "content": map[string]string{"type": "text", "text": saying(p.Messages[0].Content.Text)}}
	default:
		return json.RawMessage(`{}`)
	}
	raw, _ := json.Marshal(answer)
	return raw
}

// request sends a request and returns its result.
func (c *rawClient) request(ctx context.Context, name, method, params string) (json.RawMessage, error) {
	c.next++
	header := http.Header{}
	if c.revision == stateless {
		params = strings.TrimSuffix(params, "}") + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + stateless +
			`","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + canDo + `}}`
		header.Set("Mcp-Method", method)
		var p struct{ Name string }
		_ = json.Unmarshal([]byte(params), &p)
		if p.Name != "" {
			header.Set("Mcp-Name", p.Name)
		}
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.next, method, params)
	resp, err := c.send(ctx, "POST", name, body, header)
	if err != nil {
		return nil, err
	}
	return c.read(ctx, name, resp, fmt.Sprint(c.next))
}

// tell sends what is not answered.
func (c *rawClient) tell(ctx context.Context, name, body string) error {
	resp, err := c.send(ctx, "POST", name, body, http.Header{})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode >= 300 {
		return c.failed(resp, text)
	}
	return nil
}

func (c *rawClient) send(ctx context.Context, method, name, body string, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = header
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(replicas.HeaderCall, name)
	if c.only != "" {
		r.Header.Set(replicas.HeaderReplica, c.only)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	if c.revision == stateless || c.session != "" && c.revision > "2025-03-26" {
		r.Header.Set("Mcp-Protocol-Version", c.revision)
	}
	return c.http.Do(r)
}

func (c *rawClient) failed(resp *http.Response, body []byte) error {
	f := &failure{status: resp.StatusCode, text: strings.TrimSpace(string(body)), gone: resp.StatusCode == http.StatusNotFound && c.session != ""}
	c.over = c.over || f.gone
	return f
}

// read reads what comes in answer to the request of an id.
func (c *rawClient) read(ctx context.Context, name string, resp *http.Response, id string) (json.RawMessage, error) {
	defer resp.Body.Close()
	if s := resp.Header.Get("Mcp-Session-Id"); s != "" && c.session == "" {
		c.session = s
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errBroken, err)
		}
		result, done, err := c.take(ctx, name, resp, body, id)
		if !done && err == nil {
			err = c.failed(resp, body)
		}
		return result, err
	}
	last := ""
	for event, err := range events(resp.Body) {
		if err != nil {
			break
		}
		if event.id != "" {
			last = event.id
		}
		if event.data == nil {
			continue
		}
		if result, done, err := c.take(ctx, name, resp, event.data, id); done || err != nil {
			return result, err
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if last == "" {
		return nil, errBroken
	}
	return c.resume(ctx, name, last, id)
}

// resume comes back once for the rest of a stream.
func (c *rawClient) resume(ctx context.Context, name, last, id string) (json.RawMessage, error) {
	resp, err := c.send(ctx, "GET", name, "", http.Header{"Last-Event-Id": {last}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		c.resumed = append(c.resumed, fmt.Sprintf("%d %s", resp.StatusCode, text))
		return nil, fmt.Errorf("%w; coming back: %d %s", errBroken, resp.StatusCode, text)
	}
	for event, err := range events(resp.Body) {
		if err != nil {
			break
		}
		if event.data == nil {
			continue
		}
		if result, done, err := c.take(ctx, name, resp, event.data, id); done || err != nil {
			c.resumed = append(c.resumed, fmt.Sprintf("200 and %v", err))
			return result, err
		}
	}
	return nil, errBroken
}

// take takes a message: the answer to the request of an id, a question, or a notification.
func (c *rawClient) take(ctx context.Context, name string, resp *http.Response, body []byte, id string) (result json.RawMessage, done bool, err error) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
		Result json.RawMessage
		Error  json.RawMessage
	}
	if json.Unmarshal(body, &m) != nil {
		return nil, false, c.failed(resp, body)
	}
	switch {
	case m.Method != "" && m.ID != nil:
		return nil, false, c.tell(ctx, name, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, reply(m.Method, m.Params)))
	case m.Method != "":
		return nil, false, nil
	case m.Error != nil:
		return nil, true, c.failed(resp, m.Error)
	case string(m.ID) != id:
		return nil, true, fmt.Errorf("an answer to request %s came for request %s", m.ID, id)
	}
	return m.Result, true, nil
}

// An event is one of a stream. Without data it is nil there.
type event struct {
	id   string
	data []byte
}

// events are those of a stream, until its end or an error.
func events(r io.Reader) func(func(event, error) bool) {
	return func(yield func(event, error) bool) {
		in := bufio.NewReader(r)
		var e event
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				if err != io.EOF {
					yield(event{}, err)
				}
				return
			}
			line = bytes.TrimRight(line, "\r\n")
			key, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch {
			case len(line) == 0:
				if e.id != "" || e.data != nil {
					if !yield(e, nil) {
						return
					}
				}
				e = event{}
			case string(key) == "id":
				e.id = string(value)
			case string(key) == "data" && len(value) > 0:
				e.data = append(e.data, value...)
			}
		}
	}
}

// An sdkClient is the Go SDK's.
type sdkClient struct {
	url, token, revision string
	only                 string
	updated              func(uri string) // nil: it does not subscribe

	session *mcp.ClientSession
	trips   *trips
	over    atomic.Bool
	wg      sync.WaitGroup
}

func newSDK(url, token, revision string) *sdkClient {
	return &sdkClient{url: url, token: token, revision: revision}
}

type nameKey struct{}

// trips names requests at the balancer.
type trips struct {
	*http.Transport
	c *sdkClient

	mu sync.Mutex // guards the field below
	n  int
}

// RoundTrip implements [http.RoundTripper].
func (t *trips) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	name, ok := r.Context().Value(nameKey{}).(string)
	t.mu.Lock()
	t.n++
	if !ok || r.Method != http.MethodPost {
		name = fmt.Sprintf("%p/%d", t, t.n)
	}
	t.mu.Unlock()
	r.Header.Set(replicas.HeaderCall, name)
	if t.c.only != "" {
		r.Header.Set(replicas.HeaderReplica, t.c.only)
	}
	if t.c.token != "" {
		r.Header.Set("Authorization", "Bearer "+t.c.token)
	}
	return t.Transport.RoundTrip(r)
}

func (c *sdkClient) begin(ctx context.Context, name string) error {
	c.close()
	c.over.Store(true)
	opts := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"said": saying(r.Params.Message)}}, nil
		},
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			text, _ := r.Params.Messages[0].Content.(*mcp.TextContent)
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: saying(text.Text)}}, nil
		},
	}
	if c.updated != nil {
		opts.ResourceUpdatedHandler = func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { c.updated(r.Params.URI) }
	}
	c.trips = &trips{Transport: &http.Transport{}, c: c}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, opts).Connect(context.WithValue(ctx, nameKey{}, name),
		&mcp.StreamableClientTransport{Endpoint: c.url, HTTPClient: &http.Client{Transport: c.trips}}, &mcp.ClientSessionOptions{ProtocolVersion: c.revision})
	if err != nil {
		return err
	}
	if got := session.InitializeResult().ProtocolVersion; got != c.revision {
		return fmt.Errorf("revision %s in place of %s", got, c.revision)
	}
	c.session = session
	c.over.Store(false)
	c.wg.Go(func() {
		_ = session.Wait()
		c.over.Store(true)
	})
	return nil
}

func (c *sdkClient) call(ctx context.Context, name, tool string, args any) (answer, error) {
	r, err := c.session.CallTool(context.WithValue(ctx, nameKey{}, name), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		// The SDK says by an error that it gave the session up, and a moment later by Wait.
		for range 50 {
			if c.over.Load() || !errors.Is(err, mcp.ErrConnectionClosed) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		return answer{}, err
	}
	a := answer{isError: r.IsError}
	if len(r.Content) > 0 {
		if text, ok := r.Content[0].(*mcp.TextContent); ok {
			a.text = text.Text
		}
	}
	if m, ok := r.Meta["rlmproxy/result"].(map[string]any); ok {
		a.id, _ = m["cache_id"].(string)
	}
	if m, ok := r.Meta["rlmproxy/error"].(map[string]any); ok {
		a.code, _ = m["code"].(string)
	}
	return a, nil
}

func (c *sdkClient) ended() bool { return c.over.Load() }

func (c *sdkClient) close() {
	if c.session != nil {
		_ = c.session.Close() // also where the fleet does not know it any more
		c.wg.Wait()
		c.session = nil
	}
	if c.trips != nil {
		c.trips.CloseIdleConnections()
	}
}
