// Package mask hides from a caller the errors that are not meant for it. The log gets
// the whole error. The caller gets a text that says what kind of failure it was, what to
// do next, and the reference under which the log has the rest.
//
//	server.AddReceivingMiddleware(mask.New(nil))                                  // anyone calls this server
//	server.AddReceivingMiddleware(mask.New(&mask.Options{Reader: mask.Operator})) // only its own user does
//
// What the caller reads of a failure:
//
//   - A *fault.Error, a *jsonrpc.Error, a result with IsError that a tool made itself,
//     and an error with a public message are meant for the caller. They pass, without
//     credentials.
//   - An error that a [Rule] knows becomes the fault of the rule. Rules come before all
//     but a *fault.Error and a panic.
//   - Any other error depends on its reader, see [Reader]. [Anyone] reads what kind of failure it
//     was, in words of this package: a deadline, a missing row, a refused connection, or else an
//     internal error. [Trusted] and [Operator] read the words of the error.
//   - A panic, and a bug that the runtime found (a nil map, an index out of range), is an
//     internal error to every reader.
//
// A middleware of the program's own stands inside of this one: the errors of one outside
// are sent as they are. The check "outside" of mcpvet finds those.
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
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/owner"
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
	// itself they get the first text, as an error. They may be called concurrently; one that
	// panics counts as one that does not know the error. Nil means none.
	Rules []Rule

	// Logger gets the record of what is hidden when package correlate does not
	// stand in the chain. Nil means [slog.Default] at the time of the record.
	Logger *slog.Logger

	// Reader is who reads the failures of this server. The zero value is [Anyone].
	Reader Reader

	// Scrub is one net more, for what only the program knows to be private, such as the
	// names of its customers: it is applied to every text that leaves in a failure and was not
	// written by mcpchain, before credentials are hidden. It may be called concurrently. Nil
	// means that there is none. What is invisible in a text is removed before it is scrubbed, if
	// something is hidden then. In a recovery step only the hidden part is replaced: the step
	// keeps its tool and its parameters. If it panics, the caller reads the general internal
	// error.
	Scrub func(text string) string

	// QuoteService shows [Anyone] what a service said itself when it refused a request with a
	// status of 4xx: its own words, scrubbed by [Scrub], cut at 500 characters and marked
	// as a quotation. It is called with the service's host, which is "" where the error
	// does not tell it, and the type of the error, such as "*github.ErrorResponse". Nil
	// shows nothing of them. The other readers always read them, so it is for Anyone alone. It may
	// be called concurrently.
	QuoteService func(host, errorType string) bool

	// CallersCredentials says that services check credentials that belong to the caller of the call,
	// because the server passes them on or exchanged them for others: a 401 or 403 of a service is
	// then unauthenticated or permission_denied for every reader, and no failure of this server. Over
	// HTTP such a failure can ask the client to sign in again, see package transport. Where some
	// services have the server's own key, leave it false and word the others' refusals with a rule.
	CallersCredentials bool

	// Reveal turns masking and scrubbing off, for development: callers see every error as
	// it is, and [Successes] hides nothing. Only the program can set it, never a request.
	// New writes a warning into the log when it is set. It excludes a Reader other than Anyone:
	// New panics.
	Reveal bool
}

// A Reader says who reads the failures of a server. It decides what is shown of an error that was
// not worded for the caller and that no rule knows. Every reader reads what was worded for the caller.
// No reader reads a credential, a stack or the value of a panic of this process. In the words of an
// error, such as the output of another program, stacks are hidden too. So are the lines before the
// stack of a Go panic, five at most. Other output of that program is shown.
// Where several middlewares name a reader for a call, the one that may read most counts.
type Reader uint8

const (
	// Anyone may call the server. Of an error callers read its kind, what to do next, and the
	// reference under which the log has the rest.
	Anyone Reader = iota

	// Trusted callers may read the errors, which were written to be read. The words of an error
	// stand whole behind the label of its kind, its further lines behind "> "; 8 KiB of several lines or 4 KiB of one at
	// most. What a driver or a service said is added if the error left it out. Hidden are
	// private addresses, what was dialled or looked up, the paths that the caller did not send, and
	// the directories of a place in a source file: of /src/main.go:12:3 main.go:12:3 is read.
	Trusted

	// Operator runs the server, as the user of a local server over stdio does. It reads what
	// Trusted reads, with every path and address. If a service refuses the credentials with 401 or
	// 403, they are the caller's own: the failure is unauthenticated or permission_denied, and
	// not one of this server.
	Operator
)

// New returns a middleware that masks. opts may be nil. It panics when a rule is
// nil, and when options exclude each other.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	settings := &call.Settings{Logger: o.Logger, Reveal: o.Reveal, Quote: o.QuoteService, Trust: failure.Trust(o.Reader), PassedOn: o.CallersCredentials}
	worded := scrub.ForAnyone
	if o.Reader != Anyone {
		worded = scrub.Credentials
	}
	if !o.Reveal {
		settings.Mask, settings.Finished, settings.Own = worded, worded, call.OwnText
		if o.Scrub != nil {
			net := scrub.Visibly(o.Scrub)
			settings.Mask = func(text string) string { return worded(net(text)) }
			settings.Own = func(text string) string { return call.OwnText(net(text)) }
		}
	}
	rules := make([]classify.Rule, len(o.Rules))
	for i, r := range o.Rules {
		if r == nil {
			panic(fmt.Sprintf("mask.New: Options.Rules[%d] is nil; remove it or give a rule", i))
		}
		rules[i] = classify.Rule(r)
	}
	switch {
	case o.Reader > Operator:
		panic(fmt.Sprintf("mask.New: Options.Reader is %d; use Anyone, Trusted or Operator", o.Reader))
	case o.Reader != Anyone && o.Reveal:
		panic("mask.New: Options.Reader and Options.Reveal exclude each other; leave one out")
	case o.Reader != Anyone && o.QuoteService != nil:
		panic("mask.New: Options.QuoteService is for the Reader Anyone, the others read what services say; leave one out")
	}
	if o.Reveal {
		call.Warn(context.Background(), o.Logger, "mask: Options.Reveal is set: callers see the errors of this server as they are")
	}
	settings.Rules = rules
	return call.WrapLayer("mask.New", &masker{settings: settings}, nil)
}

// masker is the middleware that [New] returns.
type masker struct {
	settings *call.Settings
	advised  atomic.Bool // whether the log says how errors are shown
}

// Call is what mask does with one call.
func (m *masker) Call(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	c.Establish(m.settings)
	if !m.advised.Load() {
		c.AtFailure(m, call.Entry{Ctx: ctx, Req: req})
	}
	return next(ctx, c.Method(), req)
}

// AtFailure tells the operator once that callers over stdio do not read the words of errors.
func (m *masker) AtFailure(c *call.Call, f *failure.Failure, at call.Entry) {
	if !c.Quiet() && !c.Observing() && f.Withheld() && owner.OverStdio(at.Req) && !m.advised.Swap(true) {
		call.Notice(at.Ctx, c.Logger(), slog.LevelInfo, "callers do not read the words of an error of this server; "+
			"if the one who calls it runs it, as over stdio, set mask.Options.Reader to mask.Operator")
	}
}

// Scrub returns the text with everything replaced that should not leave a
// process: credentials, connection strings, tokens, keys, absolute paths, private
// addresses, stack frames, SQL statements. A variable of an environment is hidden if its name says secret. It leaves
// ordinary prose alone, is idempotent, and takes time linear in the length of the
// text. It shortens a text of more than 64 KiB. It is a second net, not a proof: it does
// not find a secret that does not look like one. A path is known by a root of a file system
// (/etc, /home, /mnt, C:\, a share), by two segments that are not a route of an API, or, with
// one segment, by what is done with it (open /x: permission denied); /x alone may be a route
// and stays.
func Scrub(text string) string { return scrub.Text(text) }

// ScrubCredentials is [Scrub] for a text that somebody worded for the caller: it
// replaces credentials, keys and tokens, and leaves paths, addresses and SQL alone, but for the
// secrets in them, and code that only names secrets. A URL misses its password, a user that is more than a few small
// letters or may be a token (redis://password@host), and secret parameters; it keeps its host and its port.
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
		if target, ok := errors.AsType[T](err); ok {
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
