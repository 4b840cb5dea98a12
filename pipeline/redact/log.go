package redact

import (
	"context"
	"fmt"
	"log/slog"
)

// Handler masks secrets in what is logged before h gets it.
func Handler(h slog.Handler) slog.Handler { return handler{h} }

type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	message, _ := Text([]byte(r.Message))
	masked := slog.NewRecord(r.Time, r.Level, string(message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(maskAttr(a))
		return true
	})
	return h.Handler.Handle(ctx, masked)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var masked []slog.Attr
	for _, a := range attrs {
		masked = append(masked, maskAttr(a))
	}
	return handler{h.Handler.WithAttrs(masked)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }

// maskAttr masks in a text, or in what is written as one.
func maskAttr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString, slog.KindAny:
		if text, n := Text(fmt.Append(nil, v.Any())); n > 0 {
			v = slog.StringValue(string(text))
		}
	case slog.KindGroup:
		var masked []slog.Attr
		for _, member := range v.Group() {
			masked = append(masked, maskAttr(member))
		}
		v = slog.GroupValue(masked...)
	}
	return slog.Attr{Key: a.Key, Value: v}
}
