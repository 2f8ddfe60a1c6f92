package mask

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

// LogHandler returns a slog.Handler that passes every text of a record through the scrubber and
// then to next: the message, and the keys and values of attributes, including errors,
// fmt.Stringers, values in values, and values in groups. A key whose name says secret hides its
// value, wherever the key stands. Values are bounded in depth, number and size. Use it for logs
// that leave the operator's hands. A nil scrubber means [Scrub]; a nil next panics.
//
// The records of mcpchain hold whole errors on purpose, so that an operator finds
// the cause; with this handler some of that is lost.
func LogHandler(next slog.Handler, scrubber func(string) string) slog.Handler {
	if next == nil {
		panic("mask.LogHandler: next is nil; give the handler that writes the records")
	}
	if scrubber == nil {
		scrubber = Scrub
	} else {
		scrubber = scrub.Visibly(scrubber)
	}
	return &logHandler{next: next, scrub: scrubber, values: scrub.Cleaner{
		Text: scrubber, Public: func(err error) any { return safe.Error(err) },
	}}
}

// SlogMiddleware returns [LogHandler] as a middleware of samber/slog-multi, for a pipe that
// has other parts:
//
//	slog.New(slogmulti.Pipe(correlate.SlogMiddleware(), mask.SlogMiddleware(nil)).Handler(sink))
func SlogMiddleware(scrubber func(string) string) func(slog.Handler) slog.Handler {
	return func(next slog.Handler) slog.Handler { return LogHandler(next, scrubber) }
}

type logHandler struct {
	next   slog.Handler
	secret bool // it stands in a group whose name says secret
	scrub  func(string) string
	values scrub.Cleaner // writes an error as its text
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
	return h.to(h.next.WithAttrs(clean), h.secret)
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return h.to(h.next.WithGroup(h.scrub(name)), h.secret || scrub.SecretName(name))
}

func (h *logHandler) to(next slog.Handler, secret bool) *logHandler {
	return &logHandler{next: next, secret: secret, scrub: h.scrub, values: h.values}
}

func (h *logHandler) attr(a slog.Attr) slog.Attr {
	if h.secret {
		return slog.String(h.scrub(a.Key), scrub.Redacted)
	}
	return h.cleaned(a, maxGroups)
}

// maxGroups bounds groups in groups.
const maxGroups = 32

func (h *logHandler) cleaned(a slog.Attr, depth int) slog.Attr {
	v := safe.LogValue(a.Value)
	secret := scrub.SecretMember(a.Key, v.Any())
	if a.Key = h.scrub(a.Key); secret {
		return slog.String(a.Key, scrub.Redacted)
	}
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.scrub(v.String()))
	case slog.KindGroup:
		if depth == 0 {
			return slog.String(a.Key, scrub.Redacted)
		}
		group := v.Group()
		clean := make([]slog.Attr, len(group))
		for i, g := range group {
			clean[i] = h.cleaned(g, depth-1)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(clean...)}
	case slog.KindAny:
		return slog.Attr{Key: a.Key, Value: h.any(v)}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// any cleans a value of a type that slog does not know. A value with a print method becomes its
// text; any other becomes what JSON would show of it.
func (h *logHandler) any(v slog.Value) slog.Value {
	switch v.Any().(type) {
	case error, fmt.Stringer, fmt.Formatter:
		return slog.StringValue(h.scrub(safe.Value(v.Any()))) // the next handler might write its fields
	}
	clean := h.values.Value(v.Any())
	if text := safe.Value(v.Any()); h.scrub(text) != text && safe.Value(clean) == text {
		return slog.StringValue(h.scrub(text)) // fields that JSON does not show
	}
	return slog.AnyValue(clean)
}
