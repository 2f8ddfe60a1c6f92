// Package validate tells a caller what is wrong with the arguments of its call: all
// of it at once, in sentences that a model can act on.
//
//	server.AddReceivingMiddleware(validate.New(nil))
//
// The SDK checks the arguments of typed tools. It reports only the first mistake, in the
// words of its validator. This middleware replaces them by
//
//	Validation Error: 2 arguments are wrong.
//	- Argument 'items[1].quantity' expected an integer, but received 'five'.
//	- Argument 'colour' is unknown. Did you mean 'color'?
//
// and puts every violation into the machine form. The arguments of a call that succeeds are
// read once, without an allocation. When a call was refused, the middleware asks the server for the schema of
// the tool, and compiles it once.
//
// Arguments of any tool that two readers could take for different things are refused before
// its handler runs: a name that an object has twice, text that is not UTF-8, and half of a
// surrogate pair. Names that differ in their case only are not refused.
//
// Arguments that are certain and the same in meaning, such as "5" for 5, are mended, and the call is made: see
// [Mending].
//
// It does the same for what nobody else checks or words: the arguments of prompts,
// misspelled names of tools, prompts and resources, and the checks of a handler that
// [Options].Violations knows, such as those of go-playground/validator with package
// validate/playground, or that the handler marks with [Arguments]. The handlers of raw
// tools, which the SDK does not check, are wrapped with [Tool].
//
// Where every correction is certain, such as a misspelled name or a number in a string,
// the text ends with the whole corrected call, and the machine form has its arguments. A
// correction keeps the meaning or is none: no_force is not corrected to force. A
// value that must not be shown is not repeated: "<as you sent it>" stands in its place in
// the text, and the machine form has no call then.
//
// What a caller reads is made from the tool's schema and from its own arguments; the
// validator's text goes into the log only. Near names come from the lists that this caller
// may see at the outermost mcpchain middleware. So let a middleware that hides names, or
// that changes arguments, stand inside of it: what one outside hides can be
// suggested, and what it puts in can stand in a corrected call. The check "outside" of
// mcpvet finds those.
package validate

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/internal/safe"
	"github.com/mcpchain/mcpchain/internal/secrets"
	"github.com/mcpchain/mcpchain/internal/table"
	"github.com/mcpchain/mcpchain/internal/unclear"
	"github.com/mcpchain/mcpchain/internal/words"
	"github.com/mcpchain/mcpchain/middleware"
)

// Options configure [New]. The zero value is the recommended default.
type Options struct {
	// ProtocolError reports wrong arguments of a tool as a JSON-RPC error with code
	// -32602 and the machine form as its data. The default is a result with isError,
	// which clients show to the model (SEP-1303). Prompts always get the JSON-RPC
	// error.
	ProtocolError bool

	// HideReceived keeps every received value out of the answer. The default shows
	// those that are short and no object or list, scrubbed, except where the schema
	// says writeOnly or "format": "password", or the name looks like a secret's.
	HideReceived bool

	// RawTools checks the arguments of every tool against its listed schema, and fills
	// in defaults, before the handler runs. It is meant for servers with many raw tools,
	// whose arguments the SDK does not check. The server is asked for its list of tools
	// then, at most once a second for each page of it and each caller, and before a call is refused;
	// over HTTP without sessions at every call. [Tool] does not ask. Typed tools are checked
	// too, by the stricter rules that Tool has. What a handler itself says about wrong arguments
	// is not heard then, because it does not run; AfterFailure keeps its words.
	//
	// A tool is not checked if a filter inside hides it from the caller, if the list fails,
	// has no end or more than about 100,000 tools, or if its schema cannot be compiled. When
	// such a tool is called, that is recorded as a warning, once for each tool; a name that
	// does not exist is none. If nothing may run unchecked, wrap the handler with Tool.
	RawTools bool

	// NoDefaults keeps RawTools from filling in the defaults of the schema. New panics if it is
	// set without RawTools.
	NoDefaults bool

	// AfterFailure lets every handler run with what the caller sent, half of a surrogate pair
	// included, unless a name stands twice in it or it is not UTF-8. If the handler fails,
	// the arguments are compared with the listed schema, and what is wrong with them is
	// said beside the tool's own words, also in a protocol error with the code -32600, -32602 or
	// -32603. It is meant for servers whose handlers accept more than their schemas say, such as
	// "12" for a number. The schema may be a second old. It excludes RawTools.
	AfterFailure bool

	// Mend says which calls are made with mended arguments. The zero value is [MendRefused]. If the Call
	// is observed, what would have been mended is recorded.
	Mend Mending

	// StrictPrompts checks the arguments of a prompt before its handler runs, and refuses
	// one that the prompt does not declare. Every prompts/get asks the server for its
	// list of prompts then. By default the handler runs. If it fails without a word for the
	// caller, the caller is told which required arguments are missing. A prompt that
	// declares no arguments is not checked.
	StrictPrompts bool

	// Credentials says what becomes of a call whose arguments carry a credential that the
	// tool or the prompt does not ask for. There are two of these: a value under a name that
	// says secret and that the schema does not have, and a value that mask.ScrubCredentials
	// would hide. The schema asks for a secret if it declares an argument with such a name,
	// or marks one ("format": "password", writeOnly, a title that says so, x-secret). Its
	// value passes. A refusal names the place of the argument. Neither the refusal nor the
	// log has the value. Arguments of more than 1 MiB are not searched, but refused or
	// recorded. Zero looks for nothing.
	Credentials Credentials

	// ToolCredentials gives single tools, by their names, a policy of their own, such as
	// [AllowCredentials] for one that writes files of source code.
	ToolCredentials map[string]Credentials

	// UnknownToolAsToolError answers the call of an unknown tool with a result with
	// isError, so that the model reads it. By default the answer is the SDK's JSON-RPC
	// error.
	UnknownToolAsToolError bool

	// Violations reads the errors of a library with which handlers check their input, such as
	// playground.Violations of package validate/playground. It is called with each error in
	// the tree of what a handler returned, and returns what is wrong, nil for an error that it
	// does not know. Of a violation it gives the Rule, what was Expected, and as the Field the
	// path of a Go field, "Items[1].SKU": the middleware finds the argument that is meant, without
	// regard to case, '_' and '-', and words what was received. A Suggestion stands only beside
	// a value that may be shown. argument returns the caller's name of another such path. If a
	// violation is about no argument and the error has no mark of [Arguments], the error is
	// taken for one of the server's own. It may be called concurrently; if it
	// panics, the error is not explained. Nil knows no error.
	Violations func(err error, argument func(path string) string) []fault.Violation

	// Names gives the names from which suggestions for an unknown one are taken, for
	// the methods tools/call, prompts/get and resources/read. It must return only what
	// the caller may know. A function that returns nothing turns suggestions off, and
	// one that panics counts as that. It may be called concurrently.
	//
	// Nil means the names that the caller may list. The list is asked for at the outermost
	// mcpchain middleware, so that filters inside of it apply. A filter outside of it does
	// not: let it stand inside, or set Names.
	Names func(ctx context.Context, method string) []string
}

// New returns a middleware that explains wrong arguments. opts may be nil. It panics when
// an option makes no sense or options exclude each other. Let it stand inside of the
// middlewares that hide or record, and outside of the innermost recovery.
func New(opts *Options) mcp.Middleware {
	v := newValidator("validate.New", opts)
	return call.WrapLayer("validate.New", v, nil)
}

// A validator is what New makes of its options.
type validator struct {
	Options
	schemas schemas

	arguments secrets.Schemas

	warned table.Names[bool] // the tools that could not be checked
}

func newValidator(function string, opts *Options) *validator {
	v := &validator{}
	if opts != nil {
		v.Options = *opts
	}
	switch {
	case v.RawTools && v.AfterFailure:
		panic(function + ": Options.RawTools and Options.AfterFailure exclude each other; choose one")
	case v.NoDefaults && !v.RawTools:
		panic(function + ": Options.NoDefaults needs Options.RawTools, which fills them in; set both or none")
	}
	if v.Mend > MendBefore {
		panic(function + ": Options.Mend is none of MendRefused, MendNever and MendBefore; give one of them")
	}
	if v.Credentials > RefuseCredentials {
		panic(function + ": Options.Credentials is none of AllowCredentials, RecordCredentials and RefuseCredentials; give one of them")
	}
	v.ToolCredentials = maps.Clone(v.ToolCredentials)
	for name, policy := range v.ToolCredentials {
		switch {
		case name == "":
			panic(function + ": Options.ToolCredentials has an empty name; give that of a tool")
		case policy > RefuseCredentials:
			panic(function + ": Options.ToolCredentials[" + strconv.Quote(name) + "] is none of AllowCredentials, RecordCredentials and RefuseCredentials; give one of them")
		}
	}
	return v
}

func (v *validator) Call(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	if v.Mend == MendNever || v.Mend == MendRefused && v.AfterFailure {
		c.MendNot()
	}
	checked, ran, unchecked, err := v.admit(ctx, c, req, next)
	if err != nil {
		return nil, err
	}
	if ran != nil {
		req = ran
	}
	if unchecked != nil {
		c.NoteUnchecked(unchecked)
	}
	c.AtFailure(v, call.Entry{Ctx: ctx, Req: req, Next: next})
	res, err := next(ctx, c.Method(), checked)
	if v.Mend != MendNever && err == nil && failure.IsError(res) {
		if mended := v.again(ctx, c, checked, next, res); mended != nil {
			c.AtFailure(v, call.Entry{Ctx: ctx, Req: mended, Next: next})
			res, err = next(ctx, c.Method(), mended)
		}
	}
	if unchecked != nil && !failure.Failed(res, err) {
		v.warn(c, req, unchecked)
	}
	return res, err
}

// admit returns the request that the handler gets, or the error of one that is refused.
func (v *validator) admit(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (checked, ran mcp.Request, unchecked, err error) {
	checked, m, unchecked, refusal, err := v.before(ctx, c, req, next)
	if refusal != nil {
		err = &call.ExplainedError{Err: refusal, As: v.finding(refusal, classify.Proven)}
	}
	if m != nil && err == nil && m.make(c) {
		ran = m.req
	}
	if c.Observing() {
		if err != nil {
			c.WouldRefuse(err)
		}
		return req, nil, unchecked, nil
	}
	return checked, ran, unchecked, err
}

// AtFailure explains the failure of a call, if it can.
func (v *validator) AtFailure(c *call.Call, f *failure.Failure, at call.Entry) {
	if unchecked := c.Unchecked(); unchecked != nil && f.Fault().Kind() != fault.KindNotFound { // a caller may invent names of tools
		v.warn(c, at.Req, unchecked)
	}
	var e *fault.Error
	by := classify.Nobody
	switch {
	case f.Wire() != nil:
		if !v.suggest(at.Ctx, c, f) && v.AfterFailure && c.Method() == middleware.MethodCallTool {
			v.misfit(at.Ctx, c, at.Req, at.Next, f)
		}
	case c.Method() == middleware.MethodCallTool:
		e, by = v.toolFault(at.Ctx, c, at.Req, at.Next, f)
	case c.Method() == middleware.MethodGetPrompt && !v.StrictPrompts && f.Explainable():
		e, _ = v.promptFault(at.Ctx, c, at.Req, at.Next)
	}
	if e != nil {
		v.explain(c, f, e, by)
	}
}

// before returns the request that the handler gets, how it was mended if it was, or what is said of one that is
// refused. unchecked says why RawTools could not check the arguments, if it should have.
func (v *validator) before(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (checked mcp.Request, m *mended, unchecked error, refusal *fault.Error, err error) {
	if c.Method() == call.MethodSetLevel {
		return req, nil, nil, levelFault(req), nil
	}
	tool := c.Method() == middleware.MethodCallTool
	if !tool && c.Method() != middleware.MethodGetPrompt {
		return req, nil, nil, nil, nil
	}
	if e := v.credentials(ctx, c, req, next); e != nil {
		return req, nil, nil, e, nil
	}
	if !tool {
		if !v.StrictPrompts {
			return req, nil, nil, nil, nil
		}
		e, missing := v.promptFault(ctx, c, req, next)
		return req, nil, missing, e, nil
	}
	sent := call.ArgumentsOf(req)
	req = withObject(req)
	if !v.RawTools {
		if e := v.unclear(sent); e != nil || v.Mend != MendBefore {
			return req, nil, nil, e, nil
		}
	}
	var report *explain.Report
	byTool(callOf(ctx, c, req), next, func(tool *mcp.Tool, missing error) bool {
		var schema *explain.Schema
		schema, unchecked = v.schemaOf(tool, missing)
		if checked, m = req, nil; v.RawTools {
			checked, m, report = v.checkOrMend(ctx, c, req, next, schema)
		} else if unchecked == nil {
			if m = v.mend(ctx, c, req, next, schema, ""); m != nil {
				checked = m.req
			}
		}
		return report != nil || m != nil
	})
	switch {
	case ctx.Err() != nil:
		return req, nil, nil, nil, ctx.Err() // the caller has given up: nothing need run unchecked
	case report != nil && m == nil:
		return req, nil, nil, answered(c, report, toolName(c, req), sent), nil
	case !v.RawTools:
		unchecked = nil
	}
	return checked, m, unchecked, nil, nil
}

// unclear returns the refusal of arguments that two readers could take for different things, nil for others.
func (v *validator) unclear(args []byte) *fault.Error {
	e := unclear.Refusal(args)
	if e != nil && v.AfterFailure && jsons.OnlyHalves(args) {
		return nil // which is legal, and the handler may accept
	}
	return e
}

// toolFault says what can be said of a failed call of a tool, nil for nothing. The error
// stays as it came, and what cannot be explained gets the generic text of its kind.
func (v *validator) toolFault(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, f *failure.Failure) (_ *fault.Error, by classify.Source) {
	args := call.ArgumentsOf(req)
	now := func() *explain.Schema { return v.known(callOf(ctx, c, req).Server().ToolNow(next)) }
	schema := func() *explain.Schema { return v.known(callOf(ctx, c, req).Server().Tool(next)) }
	name := toolName(c, req)
	earlier, again := safe.As[*refused](f.Err())
	switch {
	case f.Refused():
		// A schema of a moment ago that refuses the arguments, too, has the same to say, but within a second of a
		// change. One that takes them is asked for anew.
		var report *explain.Report
		if tool, ok := callOf(ctx, c, req).Server().Remembered(next); ok {
			if s, err := v.schemaOf(tool, nil); err == nil {
				report = v.explained(func() *explain.Schema { return s }, args)
			}
		}
		if report == nil {
			report = v.explained(now, args)
		}
		if report == nil { // the handler may have passed on the text of another server
			return fault.Generic(fault.KindValidation), classify.Nobody
		}
		return answered(c, report, name, args), classify.Proven
	case again && !v.HideReceived && !earlier.withheld && name == earlier.tool && bytes.Equal(args, earlier.args):
		return earlier.fault, classify.Proven // which says the same
	case again: // Tool has no options
		return answered(c, v.explained(earlier.schema, args), name, args), classify.Proven
	}
	if e := v.undecodable(f, args, schema); e != nil {
		return e, classify.Proven
	}
	if e := v.handlerFault(f, args, schema); e != nil || f.Panic() != nil {
		return e, classify.Nobody
	}
	var report *explain.Report
	if v.AfterFailure {
		if e, ok := safe.As[effect](f.Err()); ok && e.Effect() == fault.EffectUnknown {
			return nil, classify.Nobody // that weighs more, and the corrected call may be made twice
		}
		if res := f.Result(); res != nil && f.View().Own {
			if _, ours := classify.FromMeta(res.Meta); ours {
				return nil, classify.Nobody // the server has this library, and says itself what is wrong
			}
		}
		report = v.explained(schema, orObject(args))
	} else if args = bytes.TrimSpace(args); f.Explainable() && len(args) > 0 && args[0] != '{' && string(args) != "null" {
		report = v.explained(anyObject, args) // which no tool takes
	}
	if report == nil {
		return nil, classify.Nobody
	}
	return beside(f, answered(c, report, name, args), report), classify.Nobody
}

// An effect is an error that says what its call may have changed.
type effect interface {
	error
	Effect() fault.Effect
}

// known returns the input schema of a tool that was looked up, one that every tool has if nobody knows
// what the tool takes.
func (v *validator) known(tool *mcp.Tool, err error) *explain.Schema {
	s, err := v.schemaOf(tool, err)
	if err != nil || s == nil {
		return anyObject()
	}
	return s
}

// explained returns what is wrong with arguments, nil for nothing.
func (v *validator) explained(schema func() *explain.Schema, args []byte) *explain.Report {
	return guarded(func() *explain.Report { return schema().Explain(args, v.HideReceived) })
}

// answered makes a fault of a report about what a middleware got as the arguments, with the corrected
// call of a tool with a name. Of a value that is withheld it says that the caller sent it, so that has
// to be known. If another tool was named beside the arguments, the call was meant for that one.
func answered(c *call.Call, report *explain.Report, tool string, args []byte) *fault.Error {
	if report != nil && slices.ContainsFunc(report.Tools, func(named string) bool { return !isCalled(named, tool) }) {
		tool = ""
	}
	if report != nil && report.Withheld != nil && !(bytes.Equal(args, call.ArgumentsOf(c.Request())) && aroundServer(c)) {
		tool = ""
	}
	return faultOf(report, tool)
}

// isCalled reports whether a caller means a tool by a name. In front of its own name may stand that of its
// server, as clients write it: mcp__server__tool, mcp_server_tool. A word and '_' may belong to another tool:
// delete_user is not user.
func isCalled(name, tool string) bool {
	server, ok := strings.CutSuffix(name, tool)
	return ok && (server == "" || strings.ContainsAny(server[len(server)-1:], "./:") || strings.HasSuffix(server, "__") ||
		strings.HasPrefix(server, "mcp_") && strings.HasSuffix(server, "_"))
}

// aroundServer reports whether the Call was opened around a server. Its request is then what the caller
// sent, unless a middleware outside of the chain has changed it.
func aroundServer(c *call.Call) bool {
	for _, err := range c.Server().Tools() { // a single handler has none
		return err == nil
	}
	return false
}

// beside puts what is said of a report, in addition to what somebody worded for the caller.
func beside(f *failure.Failure, e *fault.Error, report *explain.Report) *fault.Error {
	if f.Explainable() {
		return e
	}
	own := f.Fault().Data()
	about := e.Data()
	own.Violations = about.Violations
	own.Suggestion = strings.TrimSpace(own.Suggestion + " " + mayBeWhy(report))
	tool, arguments := faults.Correction(e)
	return faults.Corrected(fault.FromData(own), tool, arguments)
}

// mayBeWhy says in sentences what is wrong with the arguments of a call that failed for a reason of the
// handler's own.
func mayBeWhy(report *explain.Report) string {
	first := report.Violations[:min(len(report.Violations), 3)]
	sentences := make([]string, 0, len(first)+1)
	sentences = append(sentences, "The arguments do not fit the tool's input schema, which may be why.")
	for _, one := range first {
		sentences = append(sentences, words.Cut(one.Message, maxRepeated))
	}
	return strings.Join(sentences, " ")
}

// maxRepeated is how many characters of a sentence are told again in the text.
const maxRepeated = 250

// warn records once for each tool that its calls are not checked.
func (v *validator) warn(c *call.Call, req mcp.Request, err error) {
	name := call.Name(req) // bounded in length, as a caller sent it, and here in number
	if _, before := v.warned.Get(name); before || v.warned.Len() >= table.MaxNames {
		return
	}
	v.warned.Put(name, true)
	call.Warn(c, c.Logger(), "validate: Options.RawTools cannot check the arguments of this tool", slog.String("tool", name), slog.String("reason", safe.Error(err)))
}

// explain puts the fault in the place of what was known of a failure. by is classify.Proven if the handler
// did not run, else classify.Nobody.
func (v *validator) explain(c *call.Call, f *failure.Failure, e *fault.Error, by classify.Source) {
	x := v.finding(e, by)
	x.Beside = f.View().Own
	c.Explain(f, x)
}

func (v *validator) finding(e *fault.Error, by classify.Source) classify.Finding {
	return classify.Finding{Fault: e, By: by, Protocol: v.ProtocolError}
}

// toolName returns the name of the tool that is called, "" where a middleware outside has put
// another one in the place of what the caller named: its correction is not the caller's.
func toolName(c *call.Call, req mcp.Request) string {
	if name := call.Target(req); name == c.Target() {
		return name
	}
	return ""
}

// withArguments returns the request with other arguments; the caller's is not
// written to.
func withArguments(req mcp.Request, args []byte) mcp.Request {
	r, ok := req.(*mcp.CallToolRequest)
	if !ok || r == nil || r.Params == nil {
		return req
	}
	request, params := *r, *r.Params
	params.Arguments = args
	request.Params = &params
	return &request
}

// withObject returns the request with an empty object in the place of null, which
// go-sdk v1.8 cannot fill with the defaults of a schema: it panics, as it does in
// https://github.com/modelcontextprotocol/go-sdk/issues/1062.
func withObject(req mcp.Request) mcp.Request {
	if string(call.ArgumentsOf(req)) == "null" {
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
