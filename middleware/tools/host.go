package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"rlmproxy/jsonscan"
	"rlmproxy/judge"
	"rlmproxy/middleware/guard"
	"rlmproxy/middleware/shape"
	"rlmproxy/pipeline"
	"rlmproxy/pipeline/show"
)

// A host does what a program asks for outside itself.
type host struct {
	*call

	mu sync.Mutex // guards those fields of call that its functions change
}

// together is how many calls of one callAll run at a time.
const together = 8

// Call implements [script.Host]. A fault of ours costs the one call: whoever runs the program would
// not get its worker back.
func (h *host) Call(ctx context.Context, function string, args []json.RawMessage) (value json.RawMessage, err error) {
	defer h.survive(function, &err)
	defer guard.HoldOf(ctx).Pause() // others have their turns while the program goes on
	return h.does(ctx, function, args)
}

// survive makes an error of a panic.
func (h *host) survive(name string, err *error) {
	if v := recover(); v != nil {
		*err = h.reach.explained(name, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
	}
}

// does is Call, which may panic.
func (h *host) does(ctx context.Context, function string, args []json.RawMessage) (json.RawMessage, error) {
	arg := func(i int) json.RawMessage {
		if i < len(args) {
			return args[i]
		}
		return json.RawMessage("null")
	}
	switch function {
	case "result":
		v, err := h.read(ctx, arg(0))
		if err != nil {
			return nil, err
		}
		return asJSON(v), nil
	case "lines":
		v, err := h.read(ctx, arg(0))
		if err != nil {
			return nil, err
		}
		return jsonscan.Quote(string(v.AsText().Data)), nil
	case "search":
		return h.search(ctx, arg(0), arg(1), arg(2))
	case "call":
		return h.calls(ctx, arg(0), arg(1))
	case "callAll":
		return h.callAll(ctx, arg(0))
	case "ask":
		return h.ask(ctx, arg(0), arg(1), arg(2))
	}
	return nil, wrong("there is no function %s", show.ClipBytes(function, 40))
}

// wrong is the error for a function that is not used as it is meant.
func wrong(format string, args ...any) error {
	return &pipeline.Error{Code: pipeline.BadArguments, Text: fmt.Sprintf(format, args...)}
}

// text is a string that a program gave.
func text(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return jsonscan.Unquote(raw), true
}

// asOptions is an error for options of a function that are no object.
func asOptions(function string, options json.RawMessage) error {
	if len(options) > 0 && options[0] != '{' && string(options) != "null" {
		return wrong("%s: options must be an object, not %s", function, show.ClipBytes(string(options), 40))
	}
	return nil
}

// read is the document of a result that the cache keeps.
func (h *host) read(ctx context.Context, id json.RawMessage) (pipeline.Value, error) {
	given, ok := text(id)
	if !ok {
		return pipeline.Value{}, wrong("id must be a string: the cache_id of a result")
	}
	if len(given) > 100 || strings.ContainsAny(given, " \n") {
		return pipeline.Value{}, wrong("id must be the cache_id of a result, not its text: that is searched with regular expressions")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	d := document{id: bareID(given)}
	_, cancel, question, err := h.readAll(ctx, h.opts.QueryTimeout, -1, &d)
	defer cancel()
	switch {
	case err != nil:
		return pipeline.Value{}, err
	case question != nil:
		return pipeline.Value{}, wrong("cache_id %s is gone, and its tool asks for input when it is called again", d.id)
	}
	return d.value, nil
}

// asJSON is a document as a program reads it: JSON Lines are an array, a text is a string.
func asJSON(v pipeline.Value) json.RawMessage {
	switch v.Kind {
	case pipeline.JSON:
		return v.Data
	case pipeline.JSONLines:
		out := []byte{'['}
		for line := range jsonscan.Lines(v.Data) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, line...)
		}
		return append(out, ']')
	}
	return jsonscan.Quote(string(v.Data))
}

// search finds places in a result, as proxy_search does, and returns them as objects.
func (h *host) search(ctx context.Context, id, pattern, options json.RawMessage) (json.RawMessage, error) {
	find := pipeline.Search{}
	var ok bool
	if find.Pattern, ok = text(pattern); !ok {
		return nil, wrong("search(id, pattern, options): pattern must be a string")
	}
	if err := asOptions("search(id, pattern, options)", options); err != nil {
		return nil, err
	}
	if err := decodeArgs("search", options, []param{
		{"mode", "", &find.Mode, ""}, {"offset", "", &find.Offset, ""}, {"max_results", "", &find.MaxResults, ""}, {"top_k", "", &find.TopK, ""},
		{"case_insensitive", "", &find.CaseInsensitive, ""}, {"threshold", "", &find.Threshold, ""},
	}); err != nil {
		return nil, wrong("%v", err)
	}
	v, err := h.read(ctx, id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.opts.SearchTimeout)
	defer cancel()
	hits, err := find.Hits(ctx, v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(hits)
}

// calls calls a tool, under the rules for calls that proxy_* tools make.
func (h *host) calls(ctx context.Context, tool, arguments json.RawMessage) (json.RawMessage, error) {
	name, ok := text(tool)
	switch {
	case !ok || name == "":
		return nil, wrong("call(tool, arguments): tool must be a string")
	case string(arguments) == "null":
		arguments = nil
	case objectOf(arguments) == nil:
		return nil, wrong("call(%q, arguments): arguments must be an object", show.ClipBytes(name, 60))
	}
	switch {
	case h.Has(name):
		return nil, wrong("%s is the proxy's own: programs call tools of servers, and have result, lines, search, jq and ask", show.ClipBytes(name, 60))
	case h.reach.Fresh == nil:
		return nil, wrong("no tool can be called from here: %s has to be called directly; result(id) reads its reply", show.ClipBytes(name, 60))
	}
	raw, origin, err := h.reach.Fresh.FreshCall(ctx, name, arguments)
	h.mu.Lock()
	h.acted = h.acted || !origin.ReadOnly
	h.noModel = h.noModel || origin.NoModel
	h.mu.Unlock()
	if err != nil {
		return nil, h.reach.explained(name, err)
	}
	if isError, asks := shape.Ending(raw); isError || asks {
		said := "it asks for input"
		if isError {
			said = firstText(raw)
		}
		return nil, &pipeline.Error{Code: codeToolError, Text: name + ": " + show.ClipBytes(said, 2000)}
	}
	return resultOf(raw)
}

// codeToolError is that of a result which says itself that it is an error.
const codeToolError = "tool_error"

// firstText is what a result says first.
func firstText(raw json.RawMessage) string {
	if r, err := shape.ParseToolResult(raw); err == nil && len(r.Docs) > 0 {
		return string(r.Docs[0].Text)
	}
	return "the server gave no reason"
}

// explained is an error of a call as a program reads it.
func (r *Reach) explained(tool string, err error) error {
	if r.Explain != nil && !errors.Is(err, context.Canceled) {
		return r.Explain(tool, err)
	}
	return err
}

// callAll makes calls, some at a time, and returns what they gave in their order. One that
// failed gives {"error":…}, as the others are made.
func (h *host) callAll(ctx context.Context, list json.RawMessage) (json.RawMessage, error) {
	var calls [][]json.RawMessage
	if err := json.Unmarshal(list, &calls); err != nil {
		return nil, wrong(`callAll needs an array of [tool, arguments]`)
	}
	out := make([]json.RawMessage, len(calls))
	next, made := make(chan int), 0
	var size atomic.Int64 // of the results
	var working sync.WaitGroup
	for range min(together, len(calls)) {
		working.Go(func() {
			for i := range next {
				one := append(calls[i], json.RawMessage("null"), json.RawMessage("null"))
				value, err := h.Call(ctx, "call", one)
				if err != nil {
					value = jsonscan.Object("error", jsonscan.Quote(reason(err)))
				}
				if size.Add(int64(len(value))) <= maxTogether { // else nobody gets any
					out[i] = value
				}
			}
		})
	}
	for i := range calls {
		if ctx.Err() != nil || size.Load() > maxTogether {
			break
		}
		next <- i
		made++
	}
	close(next)
	working.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if size.Load() > maxTogether {
		return nil, &pipeline.Error{Code: pipeline.LimitMemory, Text: fmt.Sprintf("callAll: the results have more than %s bytes together", show.Count(maxTogether)),
			Hint: fmt.Sprintf("make fewer calls at once; the first %s of %s are made", show.Count(made), show.Count(len(calls)))}
	}
	return json.Marshal(out)
}

// maxTogether bounds the results of one callAll, in bytes.
const maxTogether = 64 << 20

// reason is an error in one text.
func reason(err error) string {
	var e *pipeline.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Text + " (" + e.Hint + ")"
	}
	return err.Error()
}

// ask asks the sub-model about items, and returns an answer for each, null for none.
func (h *host) ask(ctx context.Context, question, list, options json.RawMessage) (json.RawMessage, error) {
	q := judge.Question{}
	var ok bool
	if q.Text, ok = text(question); !ok || q.Text == "" {
		return nil, wrong("ask(question, items, options): question must be a string")
	}
	var given []json.RawMessage
	if err := json.Unmarshal(list, &given); err != nil {
		return nil, wrong("ask(question, items, options): items must be an array")
	}
	if err := asOptions("ask(question, items, options)", options); err != nil {
		return nil, err
	}
	if err := decodeArgs("ask", options, []param{{"labels", "", &q.Labels, ""}, {"type", "", &q.Type, ""}, {"guide", "", &q.Guide, ""}}); err != nil {
		return nil, wrong("%v", err)
	}
	if err := q.Check(); err != nil {
		return nil, wrong("ask: %v", err)
	}
	if len(given) == 0 {
		return json.RawMessage("[]"), nil
	}
	items := make([]string, len(given))
	for i, one := range given {
		if items[i], ok = text(one); !ok {
			items[i] = string(one)
		}
	}
	h.mu.Lock()
	h.acted = true // it costs something
	c := *h.call
	h.mu.Unlock()
	report, err := c.judgeItems(ctx, q, items)
	if err != nil {
		return nil, h.reach.explained(h.tool, err)
	}
	if report.Stopped != "" {
		return nil, &pipeline.Error{Code: codeModelAway, Text: fmt.Sprintf("%s of %s items are judged: %s", show.Count(report.Judged), show.Count(len(items)), report.Stopped),
			Hint: "what is judged is kept: the same question goes on with the rest"}
	}
	out := make([]json.RawMessage, len(items))
	for i, j := range report.Judgements {
		if out[i] = j.Value; j.Value == nil {
			out[i] = json.RawMessage("null")
		}
	}
	return json.Marshal(out)
}
