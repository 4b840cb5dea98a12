// Package traces follows calls in OpenTelemetry.
//
//	observe.Call, traceparent ─► Tracer.Begin ─► a span ─► OTLP over HTTP
//	                                        └─► the span's traceparent ─► the server
//
// It is configured by the variables that OpenTelemetry has for that, and off without
// them. Names and attributes are those of its conventions for MCP; what these do not
// know begins with "rlmproxy.".
package traces

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"rlmproxy/middleware/observe"
)

// Wanted reports whether the environment asks for traces. The error says what it asks for
// that there is not.
func Wanted(getenv func(string) string) (bool, error) {
	either := func(names ...string) (value string) {
		for _, name := range names {
			if value = getenv(name); value != "" {
				return value
			}
		}
		return ""
	}
	exporter := getenv("OTEL_TRACES_EXPORTER")
	endpoint := either("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	protocol := either("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	switch {
	case strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true"), exporter == "none", exporter == "" && endpoint == "":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: only otlp is supported", exporter)
	case protocol != "" && protocol != "http/protobuf":
		return false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q: only http/protobuf is supported, usually at port 4318", protocol)
	}
	return true, nil
}

// A Tracer traces calls. It is safe for concurrent use.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

var _ observe.Tracer = (*Tracer)(nil)

// New returns a tracer that exports as the environment says, in the background. Close
// ends it.
func New(ctx context.Context, version string) (*Tracer, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	return with(ctx, version, sdktrace.WithBatcher(exporter))
}

func with(ctx context.Context, version string, export sdktrace.TracerProviderOption) (*Tracer, error) {
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "rlmproxy"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	p := sdktrace.NewTracerProvider(export, sdktrace.WithResource(about))
	return &Tracer{p, p.Tracer("rlmproxy", trace.WithInstrumentationVersion(version))}, nil
}

// w3c reads and writes traceparent and tracestate.
var w3c propagation.TraceContext

// maxState bounds a tracestate, in bytes, as W3C does at least.
const maxState = 512

// Begin implements [observe.Tracer].
func (t *Tracer) Begin(c *observe.Call, parent observe.TraceContext) observe.Span {
	ctx := context.Background()
	carrier := propagation.MapCarrier{"traceparent": parent.Parent}
	if len(parent.State) <= maxState {
		carrier["tracestate"] = parent.State
	}
	ctx = w3c.Extract(ctx, carrier)
	kind := trace.SpanKindServer
	if c.For != 0 { // that of the call of the agent's is its parent
		kind = trace.SpanKindClient
	}
	ctx, s := t.tracer.Start(ctx, clean(c.Method), trace.WithSpanKind(kind), trace.WithTimestamp(c.Begun))
	return &span{ctx, s}
}

// Close exports what has ended, for at most so long.
func (t *Tracer) Close(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// A span is a call.
type span struct {
	ctx  context.Context
	span trace.Span
}

// Context implements [observe.Span].
func (s *span) Context() observe.TraceContext {
	carrier := propagation.MapCarrier{}
	w3c.Inject(s.ctx, carrier)
	return observe.TraceContext{Parent: carrier["traceparent"], State: carrier["tracestate"]}
}

// End implements [observe.Span].
func (s *span) End(c *observe.Call) {
	defer s.span.End(trace.WithTimestamp(c.Begun.Add(c.Took)))
	if !s.span.IsRecording() {
		return
	}
	s.span.SetAttributes(attributes(c)...)
	if c.Known { // a name that somebody made up is no part of a span's
		s.span.SetName(clean(c.Method + " " + c.Name))
	}
	if c.Outcome == observe.Error {
		s.span.SetStatus(codes.Error, c.Error)
	}
}

// attributes are what a span says of a call.
func attributes(c *observe.Call) []attribute.KeyValue {
	var all []attribute.KeyValue
	text := func(key, value string) {
		if value != "" {
			all = append(all, attribute.String(key, clean(value)))
		}
	}
	text("mcp.method.name", c.Method)
	switch c.Method {
	case "tools/call":
		text("gen_ai.operation.name", "execute_tool")
		text("gen_ai.tool.name", c.Name)
	case "prompts/get":
		text("gen_ai.prompt.name", c.Name)
	}
	text("error.type", c.Error)
	text("rlmproxy.server", c.Server)
	text("rlmproxy.agent", c.Agent)
	text("rlmproxy.client", c.Client)
	text("rlmproxy.outcome", string(c.Outcome))
	text("rlmproxy.cache_id", string(c.CacheID))
	text("rlmproxy.read_id", string(c.ReadID))
	return append(all,
		attribute.Int("rlmproxy.tokens_in", c.TokensIn), attribute.Int("rlmproxy.tokens_out", c.TokensOut),
		attribute.Float64("rlmproxy.queued_ms", float64(c.Queued.Microseconds())/1000))
}

// clean is text as protobuf can hold it.
func clean(s string) string { return strings.ToValidUTF8(s, "?") }
