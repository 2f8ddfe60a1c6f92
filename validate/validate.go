// Package validate tells a caller what is wrong with the arguments of its call: all
// of it at once, in sentences that a model can act on.
//
//	server.AddReceivingMiddleware(validate.New(nil))
//
// The SDK checks the arguments of typed tools and says of what is wrong the first
// thing that it finds, in the words of its validator. This middleware says
//
//	Validation Error: 2 arguments are wrong.
//	- Argument 'items[1].quantity' expected an integer, but received 'five'.
//	- Argument 'colour' is unknown. Did you mean 'color'?
//
// in their place, with every violation in the machine form. The call of a tool that
// succeeds pays nothing: only when one was refused is the schema of its tool asked
// for, from the server itself, and compiled, once.
//
// It does the same for what nobody else checks or words: the arguments of prompts,
// misspelled names of tools, prompts and resources, and the checks that a handler
// makes itself with encoding/json, strconv, time or go-playground/validator. The
// handlers of raw tools, which the SDK does not check, are wrapped with [Tool].
//
// What a caller reads is made from the tool's schema and from its own arguments;
// the validator's text goes into the log only.
package validate

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/middleware"
)

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// ProtocolError reports wrong arguments of a tool as a JSON-RPC error with code
	// -32602 and the machine form as its data. The default is a result with isError,
	// which clients show to the model (SEP-1303). Prompts always get the JSON-RPC
	// error.
	ProtocolError bool

	// Format words the message itself, behind the label and in the place of the
	// default sentences. It gets the violations that are shown, each with the default
	// sentence as its Message, and how many there are in all, of which no more than
	// 1000 are counted. "" means the default message, and so does a panic. It may be
	// called concurrently.
	Format func(violations []fault.Violation, total int) string

	// HideReceived keeps every received value out of the answer. The default shows
	// those that are short and no object or list, scrubbed, except where the schema
	// says writeOnly or "format": "password", or the name looks like a secret's.
	HideReceived bool

	// MaxViolations is how many violations are told; the others are counted. Zero
	// means 10, which is also the most that the text shows.
	MaxViolations int

	// MaxBytes bounds the text together with the machine form, in bytes of JSON.
	// Zero means 3584, so that a whole answer stays below 4 KB. Fewer violations are
	// told where they would not fit, but at least one. Less than 512 is an error.
	MaxBytes int

	// AssertFormats checks "format" too, which is a remark and no rule to the SDK: in
	// the tools that RawTools checks, and in what is told of a call that was refused
	// for another reason. In a schema whose "$schema" names draft 7 or an older one it
	// is a rule by that draft, and is checked always.
	AssertFormats bool

	// RawTools checks the arguments of every tool against its listed schema, and
	// fills in defaults, before the handler runs. It is meant for servers with many
	// raw tools, whose arguments the SDK does not check. Every call of a tool asks
	// the server for its list of tools then; [Tool] does not. Typed tools are checked
	// too, by the stricter rules that Tool has.
	//
	// A tool whose definition cannot be had is not checked: because a filter inside
	// hides it from the caller, because the list fails, or because its schema cannot be
	// compiled. Where nothing may run unchecked wrap the handler with Tool.
	RawTools bool

	// SkipPrompts leaves the arguments of prompts unchecked. The default asks the
	// server for its list of prompts on every prompts/get, which costs a server of a
	// few prompts some microseconds, and refuses a call that lacks a required argument or
	// has one that the prompt does not declare. A prompt that declares no arguments
	// is not checked.
	SkipPrompts bool

	// KeepHandlerErrors leaves errors of handlers alone, apart from those marked with
	// [Arguments]. By default an error of encoding/json, strconv, time or
	// go-playground/validator is told as a violation when what it complains of
	// stands in the arguments of the call.
	KeepHandlerErrors bool

	// UnknownToolAsToolError makes a result with isError of the call of an unknown
	// tool, so that the model reads of it. By default it stays the SDK's JSON-RPC
	// error.
	UnknownToolAsToolError bool

	// HideNames suggests no names of tools, prompts and resources.
	HideNames bool

	// Names gives the names from which suggestions for an unknown one are taken, for
	// the methods tools/call, prompts/get and resources/read; it must return only
	// what the caller may know. It may be called concurrently. Nil means those that
	// the caller may list: the list is asked for with the outermost mcpchain
	// middleware, so that filters that stand inside of it apply, and nothing is
	// suggested when another middleware stands outside of it, because that could be
	// a filter too.
	Names func(ctx context.Context, method string) []string
}

// New returns a middleware that explains wrong arguments. opts may be nil. It panics
// when a number is out of range. Let it stand inside of the middlewares that hide
// or record, and outside of the innermost recovery.
func New(opts *Options) mcp.Middleware {
	r := newRoom("validate.New", opts)
	return call.Wrap(r.call)
}

// A room is what New makes of its options.
type room struct {
	Options
	explain explain.Options
	schemas schemas
	lookups lookups
}

func newRoom(function string, opts *Options) *room {
	r := &room{}
	if opts != nil {
		r.Options = *opts
	}
	switch {
	case r.MaxViolations < 0:
		panic(function + ": Options.MaxViolations is negative; use 0 for the default of 10")
	case r.MaxBytes != 0 && r.MaxBytes < minBytes:
		panic(function + ": Options.MaxBytes is less than 512; use 0 for the default of 3584")
	}
	if r.MaxViolations == 0 {
		r.MaxViolations = 10
	}
	if r.MaxBytes == 0 {
		r.MaxBytes = 3584
	}
	r.explain = explain.Options{
		HideReceived: r.HideReceived, MaxViolations: r.MaxViolations, AssertFormats: r.AssertFormats,
		MaxBytes: r.MaxBytes / 3, // the text has it twice: as content and as the message of the machine form
	}
	return r
}

const minBytes = 512

func (r *room) call(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	switch c.Method() {
	case middleware.MethodCallTool:
		return r.callTool(ctx, c, req, next)
	case middleware.MethodGetPrompt:
		if e := r.promptFault(ctx, c, req, next); e != nil {
			c.Explain(c.Failure(nil, e), call.Explanation{Fault: e})
			return nil, e
		}
	}
	res, err := next(ctx, c.Method(), req)
	if f := c.Failure(res, err); f != nil {
		r.suggest(ctx, c, f)
	}
	return res, err
}

func (r *room) callTool(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	args := arguments(req)
	req = withObject(req)
	if r.RawTools {
		schema := r.schemaOf(ctx, c, req, next)
		if schema == nil && ctx.Err() != nil {
			return nil, ctx.Err() // the caller has given up: nothing need run unchecked
		}
		if schema != nil {
			checked, report := r.check(schema, req)
			if report != nil {
				e := r.fault(report)
				r.tell(c, c.Failure(nil, e), e)
				return nil, e
			}
			req = checked
		}
	}
	res, err := next(ctx, c.Method(), req)
	if told, ok := err.(*told); ok {
		err = told.error // and told again, by the options of this room
	}
	if f := c.Failure(res, err); f != nil {
		r.explainTool(ctx, c, req, args, next, f)
	}
	return res, err
}

// explainTool says what can be said of a failed call of a tool. The error stays as
// it came, and what cannot be explained gets the generic text of its kind.
func (r *room) explainTool(ctx context.Context, c *call.Call, req mcp.Request, args []byte, next mcp.MethodHandler, f *call.Failure) {
	switch {
	case f.Wire() != nil:
		r.suggest(ctx, c, f)
	case f.Refused():
		var report *explain.Report
		if schema := r.schemaOf(ctx, c, req, next); schema != nil {
			report = guarded(func() *explain.Report { return schema.explain(args, r.explain) })
		}
		r.tell(c, f, r.fault(report))
	default:
		if report := refusedByTool(f.Err()); report != nil { // by Tool, which has no options
			r.tell(c, f, r.fault(report(args, r.explain)))
			return
		}
		if e := r.handlerFault(f, args, func() *inputSchema { return r.schemaOf(ctx, c, req, next) }); e != nil {
			r.tell(c, f, e)
		}
	}
}

// tell puts the fault in the place of what was known of a failure.
func (r *room) tell(c *call.Call, f *call.Failure, e *fault.Error) {
	c.Explain(f, call.Explanation{Fault: e, Protocol: r.ProtocolError})
}

// arguments returns the arguments of a call of a tool as they came.
func arguments(req mcp.Request) []byte {
	if r, ok := req.(*mcp.CallToolRequest); ok && r != nil && r.Params != nil {
		return r.Params.Arguments
	}
	return nil
}

// withArguments returns the request with other arguments; the caller's is not
// written to.
func withArguments(req mcp.Request, args []byte) mcp.Request {
	r := req.(*mcp.CallToolRequest) //nolint:forcetypeassert // it has arguments
	request, params := *r, *r.Params
	params.Arguments = args
	request.Params = &params
	return &request
}

// withObject returns the request with an empty object in the place of null, which
// go-sdk v1.8 cannot fill with the defaults of a schema: it panics.
func withObject(req mcp.Request) mcp.Request {
	if string(arguments(req)) == "null" {
		return withArguments(req, []byte("{}"))
	}
	return req
}

// guarded runs what depends on a schema or on somebody else's code; when that
// panics there is no answer.
func guarded[T any](f func() T) (answer T) {
	defer func() {
		if recover() != nil {
			var none T
			answer = none
		}
	}()
	return f()
}
