package retry

import (
	"context"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/middleware"
)

// ClientOptions configure [Client]. The zero value is the recommended default.
type ClientOptions struct {
	// Tools says which tools are called again at all. It may be called concurrently.
	// Nil means all of them.
	Tools func(tool string) bool

	// Repeatable says which tools may be called twice with the same arguments though
	// nobody knows whether the first call took effect. Nil means those whose
	// annotations call them read-only or idempotent, as the server lists them: the
	// lists that the client asks for anyway are remembered, and one is asked for when
	// a failure makes it necessary. It may be called concurrently.
	Repeatable func(tool string) bool

	// MaxAttempts is how often one call is sent, the first time included. Zero means
	// 3; with 1 nothing is sent again. A server may set a lower limit.
	MaxAttempts int

	// MaxWait is the longest wait before one attempt. When the server asks for a longer
	// one, the failure is returned at once. Zero means 30 s.
	MaxWait time.Duration

	// Budget is the longest time from the first failure of a call to the start of its
	// last attempt. Zero means one minute.
	Budget time.Duration

	// InitialInterval is about how long to wait before the second attempt, where the
	// server does not say how long; the waits after that double, up to MaxWait. Each is
	// made up to a half longer or shorter by chance. Zero means 500 ms.
	InitialInterval time.Duration

	// FailuresAsErrors makes an error of every failure: the result of a tool that
	// failed becomes a nil result and a [*fault.Error], whose cause is a
	// [*ResultError], and any other failure a *fault.Error whose cause is the error as
	// it came. So errors.Is(err, fault.KindNotFound) works for both. When it is not
	// set, results and errors are returned as they came.
	FailuresAsErrors bool

	// OnRetry is told of every attempt that failed and is to be followed by another,
	// before the wait. It may be called concurrently. Nil means nobody is told.
	OnRetry func(ctx context.Context, failed Attempt)
}

// A ResultError is the cause of the error that [ClientOptions].FailuresAsErrors makes
// of a tool's result.
type ResultError struct {
	// Result is the answer as it came.
	Result *mcp.CallToolResult
}

// Error says that the tool failed. What it said is the text of the error around.
func (*ResultError) Error() string { return "the tool answered with an error" }

const (
	defaultMaxWait        = 30 * time.Second
	defaultClientBudget   = time.Minute
	defaultClientInterval = 500 * time.Millisecond
)

// Client returns a middleware for [mcp.Client.AddSendingMiddleware] that makes a
// failed call again when the server's guidance says so, as a careful caller would:
//
//	client.AddSendingMiddleware(retry.Client(nil))
//
// opts may be nil. It panics when an option is negative. Only calls of tools, reading
// resources, getting prompts, completing arguments and lists are made again; anything
// else passes.
//
// A server that speaks the guidance of package mcpchain (the retry object under
// _meta["io.github.mcpchain/error"], or in the data of a protocol error) is
// obeyed: should_retry must be true; retry_after_seconds is kept to exactly, and
// max_attempts too. When the effect is unknown, the call is made again only if that
// does no harm (see ClientOptions.Repeatable), and after a committed effect never.
//
// Of other servers only calls that do no harm are made again, when the failure is a
// passing one: a kind of failure that passes by itself (too many calls, not
// available, a timeout, a failed connection), HTTP status 429, 500, 502, 503 or 504,
// or one of these members at the top of a protocol error's data or of a failed
// result's _meta:
//
//	retryAfter  retry_after  Retry-After  retry-after    seconds, or an HTTP date
//	retryAfterSeconds  retry_after_seconds               seconds
//	retryAfterMs  retry_after_ms  retryAfterMillis       milliseconds
//
// Numbers may stand in a string. A call of which the connection is closed or the
// session gone is not made again: that needs a new session.
//
// Never does a wait begin that would end after the context's deadline, the budget or
// MaxWait: the failure is returned at once. Repetitions carry their number under
// [AttemptKey] in the _meta of a copy of the parameters; when the caller put a number
// there itself, the repetitions count on from it.
//
// The SDK answers a server's questions (elicitation, sampling) inside of what a sending
// middleware sees, so a call made again may ask them again. A client that answers
// them itself gets its answers sent once.
func Client(opts *ClientOptions) mcp.Middleware {
	var o ClientOptions
	if opts != nil {
		o = *opts
	}
	check("Client: ClientOptions.MaxAttempts", o.MaxAttempts)
	check("Client: ClientOptions.MaxWait", o.MaxWait)
	check("Client: ClientOptions.Budget", o.Budget)
	check("Client: ClientOptions.InitialInterval", o.InitialInterval)
	orDefault(&o.MaxAttempts, defaultAttempts)
	orDefault(&o.MaxWait, defaultMaxWait)
	orDefault(&o.Budget, defaultClientBudget)
	orDefault(&o.InitialInterval, min(defaultClientInterval, o.MaxWait))
	if o.MaxWait < o.InitialInterval {
		panic("retry.Client: ClientOptions.MaxWait is shorter than InitialInterval; make it at least as long, or leave it zero")
	}
	c := &client{
		options: o,
		policy: policy{
			attempts: o.MaxAttempts, budget: o.Budget, initial: o.InitialInterval, longest: o.MaxWait, asked: o.MaxWait,
		},
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return c.call(ctx, method, req, next)
		}
	}
}

type client struct {
	options ClientOptions
	policy  policy
	known   knownTools
}

func (c *client) call(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	switch method {
	case middleware.MethodCallTool, middleware.MethodReadResource, middleware.MethodGetPrompt, middleware.MethodComplete,
		middleware.MethodListTools, middleware.MethodListPrompts, middleware.MethodListResources, middleware.MethodListResourceTemplates:
	default:
		return next(ctx, method, req)
	}
	res, err := next(ctx, method, req)
	if failure, failed := middleware.FaultOf(res, err); failed {
		res, err = c.repeat(ctx, method, req, next, response{res, err, failure})
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
func (c *client) repeat(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler, last response) (mcp.Result, error) {
	plan := c.policy.start()
	params := paramsOf(req)
	target, before := described(params)
	for attempt := 1; ; attempt++ {
		said := adviceOf(last)
		if !said.again || said.most > 0 && before+attempt >= said.most || answersInput(params) {
			break
		}
		wait, ok := plan.next(ctx, attempt, said.after)
		if !ok || !c.mayRepeat(ctx, method, target, said, req, next) || !plan.fits(ctx, wait) { // the look-up took its time
			break
		}
		if c.options.OnRetry != nil {
			c.options.OnRetry(ctx, Attempt{
				Method: method, Target: target, Number: before + attempt, Fault: last.failure, Err: last.err, Wait: wait,
			})
		}
		if !sleep(ctx, wait) {
			break
		}
		res, err := next(ctx, method, numbered(req, before+attempt+1))
		failure, failed := middleware.FaultOf(res, err)
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

// asError returns the failure as an error that holds what came.
func (r response) asError() error {
	if tool, ok := r.res.(*mcp.CallToolResult); ok && r.err == nil {
		return r.failure.Because(&ResultError{Result: tool})
	}
	if safe.Same(r.failure.Unwrap(), r.err) {
		return r.failure
	}
	return r.failure.Because(r.err)
}

// mayRepeat reports whether a second call does no harm, or was said to do none by
// a server that knows.
func (c *client) mayRepeat(ctx context.Context, method, tool string, said advice, req mcp.Request, next mcp.MethodHandler) bool {
	if method != middleware.MethodCallTool {
		return true
	}
	switch {
	case c.options.Tools != nil && !c.options.Tools(tool):
		return false
	case said.guided && said.effect != fault.EffectUnknown:
		return true
	case c.options.Repeatable != nil:
		return c.options.Repeatable(tool)
	default:
		return c.known.repeatable(ctx, tool, req, next)
	}
}

// paramsOf returns the parameters of a request, which may have none.
func paramsOf(req mcp.Request) mcp.Params {
	if p := req.GetParams(); !safe.Nil(p) {
		return p
	}
	return nil
}

// described returns what a request is about, and how many attempts its caller made
// before it, by its own account.
func described(p mcp.Params) (target string, before int) {
	switch p := p.(type) {
	case *mcp.CallToolParams:
		target = p.Name
	case *mcp.ReadResourceParams:
		target = p.URI
	case *mcp.GetPromptParams:
		target = p.Name
	case *mcp.CompleteParams:
	default:
		return "", 0
	}
	return target, max(0, attemptOf(p.GetMeta()[AttemptKey])-1)
}

// numbered returns the request with another attempt in the _meta of a copy of its
// parameters: they are the caller's. Lists are not numbered.
func numbered(req mcp.Request, attempt int) mcp.Request {
	var params mcp.Params
	switch p := paramsOf(req).(type) {
	case *mcp.CallToolParams:
		cp := *p
		params = &cp
	case *mcp.ReadResourceParams:
		cp := *p
		params = &cp
	case *mcp.GetPromptParams:
		cp := *p
		params = &cp
	case *mcp.CompleteParams:
		cp := *p
		params = &cp
	default:
		return req
	}
	meta := maps.Clone(params.GetMeta())
	if meta == nil {
		meta = map[string]any{}
	}
	meta[AttemptKey] = attempt
	params.SetMeta(meta)
	session, _ := req.GetSession().(*mcp.ClientSession)
	return &mcp.ClientRequest[mcp.Params]{Session: session, Params: params}
}
