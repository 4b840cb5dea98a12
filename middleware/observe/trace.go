package observe

import (
	"encoding/json"
	"regexp"

	"rlmproxy/jsonscan"
)

// A TraceContext says where in a trace a request belongs, as W3C Trace Context has it. In
// MCP it stands in _meta of the params.
type TraceContext struct{ Parent, State string } // traceparent, tracestate; "" for none

// A Tracer begins a span for each call that an [Observer] hears of. It is called
// concurrently.
type Tracer interface {
	// Begin begins the span of a call, of which no more is known than what the request
	// says. Parent is where the request belongs, which may be anything.
	Begin(c *Call, parent TraceContext) Span
}

// A Span is a call in a trace.
type Span interface {
	// Context is where belongs what a server does for the call.
	Context() TraceContext
	// End ends the span, once.
	End(c *Call)
}

// traceKeys are the members of _meta that say where a request belongs. Who does not trace
// hands them on as they are.
var traceKeys = []string{"traceparent", "tracestate", "baggage"}

// traceOf is the trace context of a request.
func traceOf(params json.RawMessage) TraceContext {
	meta := jsonscan.Member(params, "_meta")
	if len(meta) == 0 || meta[0] != '{' {
		return TraceContext{}
	}
	return TraceContext{jsonscan.StringMember(meta, "traceparent"), jsonscan.StringMember(meta, "tracestate")}
}

// trace begins the span of a call, if there is a tracer.
func (o *Running) trace(parent TraceContext) {
	if t := o.watch.opts.Tracer; t != nil {
		o.span = t.Begin(&o.call, parent)
		parent = o.span.Context()
	}
	if m := traceParent.FindStringSubmatch(parent.Parent); m != nil {
		o.call.Trace = m[1]
	}
}

var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-`)

// traceContext is where belongs what is done for the call, nothing if it is not traced.
func (o *Running) traceContext() (c TraceContext) {
	if o != nil && o.span != nil {
		c = o.span.Context()
	}
	return c
}

// Traced are the params of a request to a server with the span of the call, which
// may be a Fresh one, as the parent; as they are if it is not traced.
func (o *Running) Traced(params json.RawMessage) (json.RawMessage, error) {
	c := o.traceContext()
	if c.Parent == "" {
		return params, nil
	}
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	meta := json.RawMessage("{}")
	if m := jsonscan.Member(params, "_meta"); len(m) > 0 && m[0] == '{' {
		meta = m
	}
	out, err := jsonscan.Rewrite(meta, func(key string, value json.RawMessage) json.RawMessage {
		if key == "traceparent" || key == "tracestate" {
			return nil
		}
		return value
	})
	if err != nil {
		return nil, err
	}
	out = jsonscan.With(out, "traceparent", jsonscan.Quote(c.Parent))
	if c.State != "" {
		out = jsonscan.With(out, "tracestate", jsonscan.Quote(c.State))
	}
	return withMeta(params, out)
}

// withMeta are params with another _meta. All else keeps its bytes.
func withMeta(params, meta json.RawMessage) (json.RawMessage, error) {
	out, err := jsonscan.Rewrite(params, func(key string, value json.RawMessage) json.RawMessage {
		if key == "_meta" {
			return nil
		}
		return value
	})
	if err != nil {
		return nil, err
	}
	return jsonscan.With(out, "_meta", meta), nil
}

// TraceMeta is the _meta of a fresh call: where the request that makes it belongs, nil if
// it does not say.
func TraceMeta(params json.RawMessage) json.RawMessage {
	var out json.RawMessage
	meta := jsonscan.Member(params, "_meta")
	if len(meta) == 0 || meta[0] != '{' {
		return nil
	}
	for _, key := range traceKeys {
		if value := jsonscan.Member(meta, key); len(value) > 0 && value[0] == '"' {
			if out == nil {
				out = json.RawMessage("{}")
			}
			out = jsonscan.With(out, key, value)
		}
	}
	return out
}
