package correlate

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/mcpchain/mcpchain/internal/call"
)

// reference is the name of the attribute that holds the ID of a call in the log.
const reference = "reference"

var errGoexit = errors.New("the handler ended its goroutine with runtime.Goexit: the call is never answered")

// Handler returns a slog.Handler that adds the attribute "reference", with the ID
// of the call, to every record written with the context of a call, and passes
// everything on to next. The attribute stands at the top level, also in the
// records of a logger made with WithGroup. A record that has the attribute
// already, such as one of [Logger], is passed on as it is.
func Handler(next slog.Handler) slog.Handler { return SlogMiddleware()(next) }

// SlogMiddleware returns [Handler] as a middleware of samber/slog-multi, which this
// package does not import, for a pipe that has other parts:
//
//	slog.New(slogmulti.Pipe(correlate.SlogMiddleware(), redact).Handler(sink))
func SlogMiddleware() func(slog.Handler) slog.Handler {
	return func(next slog.Handler) slog.Handler {
		if next == nil {
			panic("correlate.Handler: next is nil; give the handler that writes the records")
		}
		return &handler{next: next, top: next}
	}
}

type handler struct {
	next slog.Handler // with everything that was added to the logger

	// top is the handler before the first group was opened. groups add the groups
	// and attributes that followed, after the reference was added at the top level.
	top    slog.Handler
	groups []func(slog.Handler) slog.Handler

	has bool // the logger has the attribute already
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	c := call.FromContext(ctx)
	if c == nil || h.has || len(h.groups) == 0 && hasKey(record) {
		return h.next.Handle(ctx, record)
	}
	id := slog.String(reference, c.ID())
	if len(h.groups) == 0 {
		record = record.Clone()
		record.AddAttrs(id)
		return h.next.Handle(ctx, record)
	}
	next := h.top.WithAttrs([]slog.Attr{id})
	for _, add := range h.groups {
		next = add(next)
	}
	return next.Handle(ctx, record)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	c := *h
	c.next = h.next.WithAttrs(attrs)
	if len(h.groups) > 0 {
		c.groups = append(slices.Clip(h.groups), func(next slog.Handler) slog.Handler { return next.WithAttrs(attrs) })
		return &c
	}
	c.top = c.next
	c.has = h.has || slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == reference })
	return &c
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.next = h.next.WithGroup(name)
	c.groups = append(slices.Clip(h.groups), func(next slog.Handler) slog.Handler { return next.WithGroup(name) })
	return &c
}

func hasKey(record slog.Record) bool {
	found := false
	record.Attrs(func(a slog.Attr) bool {
		found = a.Key == reference
		return !found
	})
	return found
}
