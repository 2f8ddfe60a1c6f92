// Package mask hides from a caller the errors that are not meant for it. The log gets
// the whole error. The caller gets a text that says what kind of failure it was, what to
// do next, and the reference under which the log has the rest.
//
//	server.AddReceivingMiddleware(mask.New(nil))
//
// What the caller reads of a failure:
//
//   - A *fault.Error, a *jsonrpc.Error, a result with IsError that a tool made itself,
//     and an error with a public message are meant for the caller. They pass, without
//     credentials.
//   - An error that a [Rule] knows becomes the fault of the rule. Rules come before all
//     but a *fault.Error and a panic.
//   - An error of a standard kind (a deadline, a missing row, a refused connection)
//     becomes the public text of its kind.
//   - Any other error, a panic too, becomes an internal error. With [Worded] the caller
//     reads the words of a plain error, but never those of a panic, of a driver or of
//     the runtime.
//
// Results of successful calls are not touched. [Successes] is for those that may hold a
// credential.
package mask

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/scrub"
)

// A Rule returns the public fault for an error that it knows, and nil for any
// other. Any function will do; [Is], [As] and [Contains] make common ones. The
// error becomes the private cause; a rule need not attach it.
type Rule func(err error) *fault.Error

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// Rules say what a caller may know of the errors of this server. They are
	// asked in order, and the first that knows an error wins. They are not asked
	// about a fault, a panic, or a protocol error that tells the client what to do
	// next (-32042 and its like). They are asked about any other *jsonrpc.Error, and
	// about an error with a public message. Of a result with IsError that a tool made
	// itself they get the first text, as an error.
	Rules []Rule

	// Logger gets the record of what is hidden when package correlate does not
	// stand in the chain. Nil means [slog.Default] at the time of the record.
	Logger *slog.Logger

	// Scrub is applied to every text that leaves in a failure and was not written
	// by mcpchain. It may be called concurrently. Nil means [ScrubCredentials]: such
	// a text was worded for the caller, and a path, an address or a query stands in
	// it on purpose. [Scrub] hides those too. What is invisible in a text is removed before it
	// is scrubbed, if something is hidden then. In a recovery step only the hidden part is
	// replaced: the step keeps its tool and its parameters.
	Scrub func(text string) string

	// Show says what is seen of an error that nobody made for the caller and no rule
	// knows. The zero value is [Nothing]; [Worded] suits a server whose errors were
	// written to be read.
	Show Show

	// QuoteService shows what a service said itself when it refused a request with a
	// status of 4xx: its own words, scrubbed by [Scrub], cut at 500 characters and marked
	// as a quotation. It is called with the service's host, which is "" where the error
	// does not tell it, and the type of the error, such as "*github.ErrorResponse". Nil
	// shows nothing of them.
	QuoteService func(host, errorType string) bool

	// CallerCredentials says that services are called with the caller's own credentials,
	// as a local server over stdio does: their 401 and 403 are then told as
	// permission_denied. Else they are a failure of this server, whose key was refused.
	CallerCredentials bool

	// Reveal turns masking and scrubbing off, for development: callers see every error as
	// it is, and [Successes] hides nothing. Only the program can set it, never a request.
	// New writes a warning into the log when it is set.
	Reveal bool
}

// New returns a middleware that masks. opts may be nil. It panics when a rule is
// nil, and when options exclude each other.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	settings := &call.Settings{Logger: o.Logger, Reveal: o.Reveal, Quote: o.QuoteService, CallerCredentials: o.CallerCredentials}
	switch {
	case o.Reveal:
	case o.Scrub == nil:
		settings.Mask, settings.Finished, settings.Own = ScrubCredentials, ScrubCredentials, call.OwnText
	default:
		settings.Mask = scrub.Visibly(o.Scrub)
	}
	rules := make([]classify.Rule, len(o.Rules))
	for i, r := range o.Rules {
		if r == nil {
			panic(fmt.Sprintf("mask.New: Options.Rules[%d] is nil; remove it or give a rule", i))
		}
		rules[i] = classify.Rule(r)
	}
	switch {
	case o.Show != Nothing && o.Show != Worded:
		panic(fmt.Sprintf("mask.New: Options.Show is %d; use Nothing or Worded", o.Show))
	case o.Show == Worded && o.Reveal:
		panic("mask.New: Options.Show and Options.Reveal exclude each other; leave one out")
	}
	if o.Reveal {
		call.Warn(context.Background(), o.Logger, "mask: Options.Reveal is set: callers see the errors of this server as they are")
	}
	settings.Rules = rules
	if o.Show == Worded {
		settings.Show = worded
	}
	var looked atomic.Bool // whether anything stands outside, see WarnOfOutside
	return call.Wrap(func(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
		c.Establish(settings)
		if !o.Reveal && !looked.Load() && !looked.Swap(true) {
			c.WarnOfOutside(ctx, c.Logger())
		}
		res, err := next(ctx, c.Method(), req)
		if f := c.Failure(res, err); f != nil && f.Hides() && !c.Recorded() {
			c.Log(res, f, 0)
		}
		return res, err
	})
}

// Scrub returns the text with everything replaced that should not leave a
// process: credentials, connection strings, tokens, keys, absolute paths, private
// addresses, stack frames, SQL statements, environment assignments. It leaves
// ordinary prose alone, is idempotent, and takes time linear in the length of the
// text. It shortens a text of more than 64 KiB. It is a second net, not a proof: it does
// not find a secret that does not look like one.
func Scrub(text string) string { return scrub.Text(text) }

// ScrubCredentials is [Scrub] for a text that somebody worded for the caller: it
// replaces credentials, keys, tokens and connection strings, and leaves paths,
// addresses and SQL alone.
func ScrubCredentials(text string) string { return scrub.Credentials(text) }

// Is returns a rule for the errors for which errors.Is(err, target) holds. It
// panics when the target or the fault is nil.
func Is(target error, public *fault.Error) Rule {
	if target == nil {
		panic("mask.Is: target is nil; give the error that the rule is for")
	}
	need("mask.Is", public)
	return func(err error) *fault.Error {
		if errors.Is(err, target) {
			return public
		}
		return nil
	}
}

// As returns a rule for the errors in whose chain there is one of type T. The
// function makes the fault from that error; it may return nil to leave the error
// to the next rule. It panics when the function is nil.
func As[T error](public func(T) *fault.Error) Rule {
	if public == nil {
		panic("mask.As: public is nil; give a function that returns the fault for an error of this type")
	}
	return func(err error) *fault.Error {
		var target T
		if errors.As(err, &target) {
			return public(target)
		}
		return nil
	}
}

// Contains returns a rule for the errors whose text contains the given one, for
// the errors of libraries that have neither a sentinel nor a type:
//
//	mask.Contains("database is locked", fault.New(fault.KindServiceUnavailable, "the database is busy").After(time.Second))
//
// It panics when the text is empty or the fault is nil.
func Contains(text string, public *fault.Error) Rule {
	if text == "" {
		panic("mask.Contains: text is empty; every error would match")
	}
	need("mask.Contains", public)
	return func(err error) *fault.Error {
		if strings.Contains(safe.Error(err), text) {
			return public
		}
		return nil
	}
}

func need(function string, public *fault.Error) {
	if public == nil {
		panic(function + ": the fault is nil; give what the caller may know")
	}
}
