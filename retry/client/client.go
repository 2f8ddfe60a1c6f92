// Package client makes a failed call again when the server's guidance says so, as a
// careful caller would. It is the other end of package retry:
//
//	agent := mcp.NewClient(implementation, nil)
//	agent.AddSendingMiddleware(client.New(nil))
//
// A server that speaks the guidance of mcpchain (the retry object under
// _meta["io.github.mcpchain/error"], or in the data of a protocol error) is obeyed: should_retry
// must be true; retry_after_seconds and max_attempts are kept to exactly. A write whose effect
// is unknown is not repeated, unless it is sent with an idempotency key that the server keeps. A
// tool that writes is called with a key if the last list of tools says so. A server with package
// replay marks such tools in its list. Then a call whose answer was lost is sent again with its
// key and gets the first answer.
package client

import (
	"context"
	"crypto/rand"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/attempt"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// Options configure [New]. The zero value is the recommended default. Functions may be called
// concurrently; a panic counts as the answer no.
type Options struct {
	// Repeatable says which tools may be called twice with the same arguments although it
	// is unknown whether the first call took effect. Nil: the tools whose annotations say
	// read-only or idempotent. They are read in the last list of tools that the client
	// asked for in the session. Ask again when the server notifies that its list has
	// changed.
	Repeatable func(tool string) bool

	// MaxAttempts is how often one call is sent, the first time included. Zero means
	// 3; with 1 nothing is sent again. A server may set a lower limit.
	MaxAttempts int

	// Budget is the longest time from the first failure of a call to the start of its
	// last attempt. When the server asks for a longer wait, the failure is returned at
	// once. Zero means one minute.
	Budget time.Duration

	// InitialInterval is about the wait before the second attempt, if the server does not
	// say how long. Later waits double, up to ten times as long. Each is made up to a half
	// longer or shorter by chance. Zero means 500 ms, or Budget if that is less.
	InitialInterval time.Duration

	// FailuresAsErrors makes a [*fault.Error] of every failure. The cause is a [*ResultError]
	// if a tool failed, whose result becomes nil. The cause of any other failure is the error
	// as it came. So errors.Is(err, fault.KindNotFound) works for both. A failure of this
	// program itself has the party [fault.PartyCaller]. When it is not set, results and
	// errors are returned as they came.
	FailuresAsErrors bool
}

// A ResultError is the cause of the error that [Options].FailuresAsErrors makes of a
// tool's result.
type ResultError struct {
	// Result is the answer as it came.
	Result *mcp.CallToolResult
}

// Error says that the tool failed. The tool's own words are the text of the error that wraps
// this one.
func (*ResultError) Error() string { return "the tool answered with an error" }

// New returns a middleware for [mcp.Client.AddSendingMiddleware]. opts may be nil. It
// panics when an option is negative, or InitialInterval longer than Budget. Only
// calls of tools, reading resources, getting prompts, completing arguments and lists
// are made again; anything else passes.
//
// If a server gives no guidance, only calls that do no harm are made again, and only after a
// failure that passes: a kind of failure that passes by itself (too many calls, not available, a
// timeout, a failed connection), HTTP status 429, 500, 502, 503 or 504, or one of these members
// at the top of a protocol error's data or of a failed result's _meta:
//
//	retryAfter  retry_after  retryAfterSeconds  retry_after_seconds    seconds
//	retryAfterMs  retry_after_ms                                       milliseconds
//
// Numbers may stand in a string. A call whose connection is closed or whose session is gone is
// not made again: that needs a new session.
//
// If a wait would end after the context's deadline or the budget, the failure is returned at
// once. A sending middleware of yours that stands inside sees every attempt. Repetitions carry
// their number under "io.github.mcpchain/attempt" in the _meta of a copy of the parameters. If
// the caller put a number there itself, the repetitions count on from it.
//
// The SDK answers a server's questions (elicitation, sampling) without showing them to a sending
// middleware, so a call made again may ask them again. A client that answers them itself gets
// its answers sent once.
func New(opts *Options) mcp.Middleware {
	var o Options
	if opts != nil {
		o = *opts
	}
	const of call.Options = "client.New: Options"
	call.Positive(of, "MaxAttempts", &o.MaxAttempts, 3)
	call.Positive(of, "Budget", &o.Budget, time.Minute)
	call.Positive(of, "InitialInterval", &o.InitialInterval, min(500*time.Millisecond, o.Budget))
	of.AtMost("InitialInterval", o.InitialInterval, "Budget", o.Budget)
	c := &client{options: o, policy: attempt.Policy{Attempts: o.MaxAttempts, Budget: o.Budget, Initial: o.InitialInterval}}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return c.call(ctx, method, req, next)
		}
	}
}

type client struct {
	options Options
	policy  attempt.Policy
	known   knownTools
}

func (c *client) call(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	switch method {
	case call.MethodCallTool, call.MethodReadResource, call.MethodGetPrompt, call.MethodComplete,
		call.MethodListTools, call.MethodListPrompts, call.MethodListResources, call.MethodListResourceTemplates:
	default:
		return next(ctx, method, req)
	}
	req, keyed := c.keyed(method, req)
	res, err := next(ctx, method, req)
	if failure, failed := failure.FaultOf(res, err); failed {
		res, err = c.repeat(ctx, method, req, next, keyed, response{res, err, failure})
	}
	if list, ok := res.(*mcp.ListToolsResult); ok && list != nil && err == nil {
		c.known.learn(req, list)
	}
	return res, err
}

// response is how a failed attempt ended.
type response struct {
	res     mcp.Result
	err     error
	failure *fault.Error
}

// repeat makes the other attempts.
func (c *client) repeat(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler, keyed bool, last response) (mcp.Result, error) {
	plan := c.policy.Start()
	params := paramsOf(req)
	before := 0 // attempts that the caller has made before, as it says itself
	if params != nil {
		before = max(0, attempt.Number(params.GetMeta()[wire.AttemptKey])-1)
	}
	for n := 1; !attempt.AnswersInput(params); n++ {
		said := adviceOf(last)
		if said.most > 0 && before+n >= said.most {
			break
		}
		wait, ok := plan.Next(ctx, n, said.after)
		if !ok || !c.mayRepeat(method, req, said, keyed) {
			break
		}
		if !attempt.Sleep(ctx, wait) {
			break
		}
		res, err := next(ctx, method, withMeta(req, wire.AttemptKey, before+n+1))
		failure, failed := failure.FaultOf(res, err)
		if !failed {
			return res, err
		}
		last = response{res, err, failure}
	}
	if c.options.FailuresAsErrors {
		return nil, last.asError()
	}
	return last.res, last.err
}

// asError returns the failure as an error whose cause is the answer as it came.
func (r response) asError() error {
	if tool, ok := r.res.(*mcp.CallToolResult); ok && r.err == nil {
		return r.failure.Because(&ResultError{Result: tool})
	}
	failure := r.failure
	if failure.Party() == fault.PartyServer && r.own() {
		failure = failure.WithParty(fault.PartyCaller)
	}
	if safe.Same(failure.Unwrap(), r.err) {
		return failure
	}
	return failure.Because(r.err)
}

// own reports whether this program itself failed and made no fault of it, such as by a panic in
// a sending middleware: no server has answered.
func (r response) own() bool {
	if _, panicked := safe.As[*fault.PanicError](r.err); panicked {
		return true
	}
	_, answered := safe.As[*jsonrpc.Error](r.err)
	_, worded := safe.As[*fault.Error](r.err)
	return !answered && !worded
}

// mayRepeat reports whether the call may be made again.
func (c *client) mayRepeat(method string, req mcp.Request, said advice, keyed bool) bool {
	tool, _ := paramsOf(req).(*mcp.CallToolParams)
	switch {
	case !said.again(failure.Reads):
		return false
	case method != call.MethodCallTool:
		return true
	case said.again(failure.Writes), keyed && said.again(failure.Keyed):
		return true
	case tool == nil:
		return false
	case c.options.Repeatable != nil:
		return safe.Ask(c.options.Repeatable, tool.Name)
	default:
		return c.known.safety(req, tool.Name) >= failure.Idempotent
	}
}

// keyed reports whether a call is made under an idempotency key that the server keeps,
// so that a second one is no second write. A call of a tool that writes gets a key of
// its own if the server's list says that keys count for the tool.
func (c *client) keyed(method string, req mcp.Request) (mcp.Request, bool) {
	params, ok := req.GetParams().(*mcp.CallToolParams)
	if !ok || params == nil || method != call.MethodCallTool || c.options.MaxAttempts == 1 || c.known.safety(req, params.Name) != failure.Keyed {
		return req, false
	}
	for _, name := range wire.KeyKeys {
		if _, own := params.Meta[name]; own {
			return req, true
		}
	}
	return withMeta(req, wire.KeyKey, rand.Text()), true
}

// paramsOf returns the parameters of a request, which may have none.
func paramsOf(req mcp.Request) mcp.Params {
	if p := req.GetParams(); !safe.Nil(p) {
		return p
	}
	return nil
}

// withMeta returns the request with one more member in its _meta. It copies the parameters,
// which are the caller's. Requests for lists stay as they are.
func withMeta(req mcp.Request, key string, value any) mcp.Request {
	var params mcp.Params
	switch p := paramsOf(req).(type) {
	case *mcp.CallToolParams:
		params = new(*p)
	case *mcp.ReadResourceParams:
		params = new(*p)
	case *mcp.GetPromptParams:
		params = new(*p)
	case *mcp.CompleteParams:
		params = new(*p)
	default:
		return req
	}
	meta := maps.Clone(params.GetMeta())
	if meta == nil {
		meta = map[string]any{}
	}
	meta[key] = value
	params.SetMeta(meta)
	session, _ := req.GetSession().(*mcp.ClientSession)
	return &mcp.ClientRequest[mcp.Params]{Session: session, Params: params}
}
