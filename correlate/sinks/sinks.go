// Package sinks sends records to several places, with samber/slog-multi behind it. Each place is
// guarded: if one returns an error, panics, hangs or ends its goroutine, the others lose no record
// and no answer is held up.
//
//	logger := slog.New(sinks.Fanout(
//		file, // all records
//		sinks.Pipe(sinks.Failover(service, spool), mask.SlogMiddleware(nil)), // a scrubbed copy
//		sinks.Router(sinks.Route{To: pager, When: sinks.Attr("outcome", "panic")}),
//	))
//	server.AddReceivingMiddleware(mcpchain.Standard(&mcpchain.Options{Logger: logger}))
//
// The guard is that of [correlate.Guard]: a place has 200 ms for a record. While it is late nobody
// waits for it, and its records wait until it is back. A fail-over goes on to its next place instead.
// It writes the record with which a place began to hang to two places, rather than to none. A fan-out
// waits for one place after the other. Enabled, WithAttrs and WithGroup are called without a time
// limit.
//
// A program that does not import this package does not link samber/slog-multi.
//
// [correlate.Guard]: https://pkg.go.dev/github.com/mcpchain/mcpchain/correlate#Guard
package sinks

import (
	"context"
	"fmt"
	"log/slog"

	slogmulti "github.com/samber/slog-multi"

	"github.com/mcpchain/mcpchain/internal/sink"
)

// Fanout returns a slog.Handler that writes each record to all of these. Its error is that of the
// handlers that could not write. It panics if one is nil.
func Fanout(to ...slog.Handler) slog.Handler {
	return composed{slogmulti.Fanout(guardedAll("sinks.Fanout", to)...)}
}

// Failover returns a slog.Handler that writes each record to the first of these that can write it.
// One whose level is above that of the record is passed over. Records wait for the last one only, if
// it is late. It panics if one is nil.
func Failover(to ...slog.Handler) slog.Handler {
	all := guardedAll("sinks.Failover", to)
	for i := range all[:max(0, len(all)-1)] {
		if _, ok := all[i].(composed); !ok {
			all[i] = sink.Elsewhere(all[i])
		}
	}
	return composed{slogmulti.Failover()(all...)}
}

// A Route is a place for some records.
type Route struct {
	To slog.Handler

	// When reports whether a record belongs there. It gets the record with the attributes
	// of the logger, and may be called concurrently. If it panics the record is written. Nil
	// means all records.
	When func(ctx context.Context, record slog.Record) bool
}

// Router returns a slog.Handler that writes each record to all routes to which it belongs. A record
// that belongs to no route is dropped. It panics if a route leads to nil.
func Router(routes ...Route) slog.Handler {
	router := slogmulti.Router()
	for i, route := range routes {
		if to := guarded("sinks.Router", i, route.To); route.When == nil {
			router = router.Add(to)
		} else {
			router = router.Add(to, sure(route.When))
		}
	}
	return composed{router.Handler()}
}

// sure returns a predicate that loses no record when it panics.
func sure(when func(context.Context, slog.Record) bool) func(context.Context, slog.Record) bool {
	return func(ctx context.Context, record slog.Record) (yes bool) {
		defer func() {
			if recover() != nil {
				yes = true
			}
		}()
		return when(ctx, record)
	}
}

// Attr returns a [Route.When] for records with an attribute that has one of these texts, such as
// "outcome" and "panic".
func Attr(key string, values ...string) func(ctx context.Context, record slog.Record) bool {
	predicates := make([]func(context.Context, slog.Record) bool, len(values))
	for i, value := range values {
		predicates[i] = slogmulti.AttrValueIs(key, value)
	}
	return func(ctx context.Context, record slog.Record) bool {
		for _, is := range predicates {
			if is(ctx, record) {
				return true
			}
		}
		return false
	}
}

// Pipe returns a slog.Handler that leads each record through the middlewares, the first of them
// outermost, to a place. mask.SlogMiddleware and correlate.SlogMiddleware return such middlewares.
// It panics if one is nil.
func Pipe(to slog.Handler, middlewares ...func(slog.Handler) slog.Handler) slog.Handler {
	all := make([]slogmulti.Middleware, len(middlewares))
	for i, mw := range middlewares {
		if mw == nil {
			panic(fmt.Sprintf("sinks.Pipe: middleware %d is nil", i+1))
		}
		all[i] = mw
	}
	to = guarded("sinks.Pipe", 0, to)
	return composed{slogmulti.Pipe(all...).Handler(to)}
}

func guardedAll(of string, handlers []slog.Handler) []slog.Handler {
	all := make([]slog.Handler, len(handlers))
	for i, h := range handlers {
		all[i] = guarded(of, i, h)
	}
	return all
}

// guarded returns a handler that returns in time, as handlers that this package has composed do
// already.
func guarded(of string, i int, h slog.Handler) slog.Handler {
	if h == nil {
		panic(fmt.Sprintf("%s: handler %d is nil; give the handler that writes the records", of, i+1))
	}
	if _, ok := h.(composed); ok {
		return h
	}
	return sink.Guard(h)
}

// composed is a handler all of whose places are guarded, each with its own time.
type composed struct{ slog.Handler }

func (c composed) WithAttrs(attrs []slog.Attr) slog.Handler {
	return composed{c.Handler.WithAttrs(attrs)}
}
func (c composed) WithGroup(name string) slog.Handler { return composed{c.Handler.WithGroup(name)} }
