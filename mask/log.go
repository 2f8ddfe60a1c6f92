package mask

import (
	"context"
	"log/slog"

	"github.com/mcpchain/mcpchain/internal/safe"
)

// LogHandler returns a slog.Handler that passes every text of a record through
// the scrubber and then to next: the message and the values of attributes,
// including errors, fmt.Stringers and values in groups. It is for logs that leave
// the operator's hands. A nil scrubber means [Scrub]; a nil next panics.
//
// The records of mcpchain hold whole errors on purpose, so that an operator finds
// the cause; with this handler some of that is lost.
func LogHandler(next slog.Handler, scrubber func(string) string) slog.Handler {
	if next == nil {
		panic("mask.LogHandler: next is nil; give the handler that writes the records")
	}
	if scrubber == nil {
		scrubber = Scrub
	}
	return &logHandler{next: next, scrub: scrubber}
}

type logHandler struct {
	next  slog.Handler
	scrub func(string) string
}

func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *logHandler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.scrub(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return &logHandler{next: h.next.WithAttrs(clean), scrub: h.scrub}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{next: h.next.WithGroup(name), scrub: h.scrub}
}

func (h *logHandler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.scrub(v.String()))
	case slog.KindGroup:
		group := v.Group()
		clean := make([]slog.Attr, len(group))
		for i, g := range group {
			clean[i] = h.attr(g)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(clean...)}
	case slog.KindAny:
		text := safe.Value(v.Any())
		if clean := h.scrub(text); clean != text {
			return slog.String(a.Key, clean)
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
