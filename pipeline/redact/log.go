package redact

import (
	"context"
	"fmt"
	"log/slog"
)

// Handler masks what is logged before h gets it.
func Handler(h slog.Handler, mask func(string) string) slog.Handler { return handler{h, mask} }

// All masks the secrets that a rule describes.
func All(text string) string {
	masked, _ := Text([]byte(text))
	return string(masked)
}

type handler struct {
	slog.Handler
	mask func(string) string
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	masked := slog.NewRecord(r.Time, r.Level, h.mask(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, masked)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var masked []slog.Attr
	for _, a := range attrs {
		masked = append(masked, h.attr(a))
	}
	return handler{h.Handler.WithAttrs(masked), h.mask}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.mask}
}

// attr masks in a text, or in what is written as one.
func (h handler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString, slog.KindAny:
		text := fmt.Sprint(v.Any())
		if masked := h.mask(text); masked != text {
			v = slog.StringValue(masked)
		}
	case slog.KindGroup:
		var masked []slog.Attr
		for _, member := range v.Group() {
			masked = append(masked, h.attr(member))
		}
		v = slog.GroupValue(masked...)
	}
	return slog.Attr{Key: a.Key, Value: v}
}
