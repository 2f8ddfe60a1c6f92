// Package recover keeps an MCP server alive: a panic in a handler becomes an
// error of that one call, and so do results that the SDK cannot send.
//
// Import it as mcprecover, because its own name hides the builtin:
//
//	import mcprecover "github.com/mcpchain/mcpchain/recover"
//
//	server.AddReceivingMiddleware(mcprecover.New(nil))
//
// Without it, one panic ends the process and every session in it: the SDK leaves
// recovering to its users (https://github.com/modelcontextprotocol/go-sdk/issues/958). For a client of
// protocol version 2026-07-28, so does a raw handler of a tool, prompt or completion
// that returns neither a result nor an error. A result that cannot be written as JSON
// is never answered. New guards against all of these:
//
//   - a panic of any kind, nil and http.ErrAbortHandler included, becomes a
//     [*fault.PanicError];
//   - a nil result without an error becomes an error that is [ErrNilResult]. The caller reads an
//     internal error, in every version of the protocol and for every method. The SDK alone would
//     send null to a client of an older version, for a completion too;
//   - a result that cannot be written as JSON (NaN, a channel, a MarshalJSON that
//     fails or panics, invalid raw JSON, a nil pointer in a list) becomes a
//     [*MarshalError];
//   - a result above Options.MaxResult, where that is set, becomes an error that is
//     [ErrTooLarge].
//
// The SDK answers some requests before any middleware sees them. Two functions are for these: with
// [Transport], a broken line does not end a stdio server; [HTTP] hides the SDK's words about HTTP
// requests that it cannot read.
//
// After a panic, the caller reads that there was an internal error, but not why. The reason goes to
// the log of package correlate or mask. If neither stands in the chain, it goes to Options.Logger.
// An error that a handler returns leaves as it came: package mask hides it.
//
// # Where it stands
//
// It stands outermost. In a longer chain a second one stands innermost, so that the
// middlewares in between see a handler's panic as an error; mcpchain.Standard does
// so. Only the outermost one checks that the result can be sent. It marshals structured
// content once and passes it on as raw JSON.
//
// # What cannot be recovered
//
// A middleware recovers only the goroutine that it runs in. Start the goroutines of a
// handler with [Go]; otherwise their panics end the process. Fatal errors of the Go
// runtime cannot be recovered: concurrent map writes, a stack overflow, running out of
// memory, a deadlock. Neither can os.Exit, log.Fatal or a signal. [runtime.Goexit] in a
// handler ends the SDK's goroutine without an answer, unless package deadline stands in
// the chain.
package recover

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
)

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// OnPanic is called once for every panic that New recovers, in the goroutine
	// that panicked, with the context of the call: to count it or to report it. It is
	// not called for a panic that [Go] recovers. The record in the log is written all
	// the same. A panic of OnPanic itself is survived and ignored. It may be called
	// concurrently. Nil means nothing is called.
	OnPanic func(ctx context.Context, p *fault.PanicError)

	// Logger gets the record of a failure whose cause is hidden from the caller, if neither package
	// correlate nor package mask stands in the chain. Nil means [slog.Default] at the time of the
	// record.
	Logger *slog.Logger

	// MaxResult is how many bytes of text, data (in base64) and structured content the
	// result of a tool, a resource or a prompt may have. A larger one becomes an error
	// that is [ErrTooLarge], and tells the caller to ask for less. Zero means no bound.
	//
	// A message is larger than these bytes, because JSON escapes some of them. A Go client
	// ends its session when a message has 16 MiB, so a bound of 8 MiB is safe. Few models
	// read more than 100 KiB.
	MaxResult int
}

// New returns a middleware that recovers. opts may be nil. It panics when MaxResult is
// negative.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.MaxResult < 0 {
		panic("mcprecover.New: Options.MaxResult is negative; give a number of bytes, or zero for no bound")
	}
	r := &recovery{onPanic: o.OnPanic, maxResult: o.MaxResult, settings: &call.Settings{Logger: o.Logger}}
	return call.WrapLayer("recover.New", r, r.settings)
}

type recovery struct {
	onPanic   func(context.Context, *fault.PanicError)
	maxResult int
	settings  *call.Settings
}

// Call is what recover does with one call.
func (r *recovery) Call(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (res mcp.Result, err error) {
	outermost := c.Guard(r.settings) && !c.Quiet() // an internal look-up is not sent
	defer func() {
		if p := recover(); p != nil {
			c.Establish(r.settings)
			res, err = nil, r.recovered(ctx, c.Recovered(p, 1))
		}
	}()
	res, err = next(ctx, c.Method(), req)
	return r.checked(c, res, err, outermost)
}

// checked returns a result or an error that can be sent. It is a function of its own so that the
// stack frame of Call stays small.
//
//go:noinline
func (r *recovery) checked(c *call.Call, res mcp.Result, err error, outermost bool) (mcp.Result, error) {
	switch {
	case err != nil:
	case isNil(res):
		if err = nilResult(c); err != nil {
			if !c.Missing(res, err) {
				c.Replaced()
			}
			res = nil
		}
	case outermost:
		var size int
		if res, size, err = sendable(c, res); err != nil {
			c.Replaced()
			err = unsendable(c, err, fault.Generic(fault.KindInternal))
		} else if r.maxResult > 0 && size > r.maxResult && !c.Observing() && call.TargetKey(c.Method()) != "" { // lists are the server's own
			res, err = nil, unsendable(c, oversized(res, size), tooLarge(c.Method(), r.maxResult))
		}
	}
	if err != nil || failure.IsError(res) {
		c.Establish(r.settings) // now, because a success needs no logger
	}
	return res, err
}

// recovered calls the hook. A panic of the hook must not undo the recovery.
func (r *recovery) recovered(ctx context.Context, p *fault.PanicError) (err error) {
	err = p // the result even when the hook panics
	if r.onPanic != nil {
		defer func() { _ = recover() }()
		r.onPanic(ctx, p)
	}
	return err
}

// Go runs fn in a goroutine of its own and recovers it. The channel gets fn's
// error, a [*fault.PanicError] when it panicked, or nil, and is closed; it is buffered,
// so nobody needs to read it. Use it for every goroutine that a handler starts:
//
//	done := mcprecover.Go(ctx, func(ctx context.Context) error { return fetch(ctx, url) })
//	...
//	if err := <-done; err != nil {
//		return nil, err
//	}
//
// A panic is recorded at once, at level Error with its stack, in the log of the call that ctx
// belongs to or else in [slog.Default], because nobody has to read the channel; the handler may
// return it like any other error. When fn ends its goroutine with [runtime.Goexit] the error is
// [ErrGoexit]. A nil fn is a panic like any other.
func Go(ctx context.Context, fn func(context.Context) error) <-chan error {
	done := make(chan error, 1)
	go func() {
		defer close(done)
		err := ErrGoexit
		defer func() {
			if p := recover(); p != nil {
				panicked := fault.Panicked(p, 1)
				record(ctx, panicked)
				err = panicked
			}
			done <- err
		}()
		err = fn(ctx)
	}()
	return done
}

// record writes the record of a panic that Go recovered.
func record(ctx context.Context, p *fault.PanicError) {
	attrs := []slog.Attr{slog.String("error", p.Error()), slog.String("stack", p.Stack())}
	if c := call.FromContext(ctx); c != nil {
		attrs = append(attrs, slog.String("reference", c.ID()))
	}
	call.Notice(ctx, nil, slog.LevelError, "a goroutine panicked", attrs...)
}
