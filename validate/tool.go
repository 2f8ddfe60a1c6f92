package validate

import (
	"bytes"
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/classify"
	"github.com/mcpchain/mcpchain/internal/explain"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/jsons"
	"github.com/mcpchain/mcpchain/middleware"
)

// Tool wraps the handler of a raw tool, whose arguments the SDK does not check. It
// checks them against the schema before the handler runs, fills in the defaults of
// the schema, as the SDK does for typed tools, and answers wrong ones as [New] does:
//
//	server.AddTool(tool, validate.Tool(tool.InputSchema, handler))
//
// The schema is anything that encodes to a JSON Schema, such as what stands in
// [mcp.Tool]: a map, a json.RawMessage, a *jsonschema.Schema. The handler gets a
// request of its own; without arguments it gets an empty object. If a middleware of this
// package stands outside, its options decide how mistakes are told for this tool too, but
// not what counts as one.
//
// A handler that accepts more than its schema says is better left to a middleware with
// [Options].AfterFailure.
//
// The SDK's validator decides, as it does for typed tools. Beside it a name that is sent twice, text that is
// not UTF-8 and half of a surrogate pair are refused. A pattern that package regexp cannot read is not checked.
//
// Arguments that would take too long to check are refused. Those are arguments
// with more than 65,536 values. Depending on the schema, fewer are too many, such as
// a deep value for a schema with a choice at each level. RawTools has the same bound.
//
// Tool panics when the schema cannot be compiled or when h is nil. It can be compiled if it is of draft 2020-12
// or 7, has no $dynamicRef, and its references begin with '#'.
func Tool(schema any, h mcp.ToolHandler) mcp.ToolHandler {
	if h == nil {
		panic("validate.Tool: h is nil; give the tool's handler")
	}
	v := newValidator("validate.Tool", nil)
	compiled := v.schemas.get(schema)
	if compiled == nil {
		panic(fmt.Sprintf("validate.Tool: schema is a %T that is no JSON Schema; give the tool's InputSchema", schema))
	}
	s, err := compiled()
	if err != nil {
		panic("validate.Tool: schema cannot be used: " + err.Error())
	}
	return middleware.Tool(h, call.WrapLayer("validate.Tool", &checker{validator: v, schema: s}, nil))
}

// A checker is what Tool makes of a schema.
type checker struct {
	*validator

	schema *explain.Schema
}

func (k *checker) known() *explain.Schema { return k.schema }

// Call checks the arguments, and runs the handler with those that are right.
func (k *checker) Call(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	checked, m, report := k.checkOrMend(ctx, c, req, next, k.schema)
	if report != nil && (m == nil || !m.make(c)) {
		name := toolName(c, req)
		e := answered(c, report, name, call.ArgumentsOf(req))
		err := &refused{e, k.known, call.ArgumentsOf(req), name, report.Withheld != nil}
		return nil, &call.ExplainedError{Err: err, As: k.finding(e, classify.Proven)}
	}
	c.AtFailure(k, call.Entry{Ctx: ctx, Req: checked, Next: next})
	return next(ctx, c.Method(), checked)
}

// AtFailure explains the error of a handler that checks its arguments itself. A middleware of this package
// that stands outside explains it anew, by its own options.
func (k *checker) AtFailure(c *call.Call, f *failure.Failure, at call.Entry) {
	if e := k.handlerFault(f, call.ArgumentsOf(at.Req), k.known); e != nil {
		k.explain(c, f, e, classify.Nobody)
	}
}

// check returns the request with the defaults filled in, or what is wrong with its
// arguments.
func (v *validator) check(s *explain.Schema, req mcp.Request) (mcp.Request, *explain.Report) {
	args := orObject(call.ArgumentsOf(req))
	filled := args
	if !v.NoDefaults && jsons.Clear(args) { // else a part of them would be lost before it is checked
		filled = s.Defaults(args)
	}
	report := s.Explain(filled, v.HideReceived)
	if report == nil {
		return withArguments(req, filled), nil
	}
	if len(args) <= maxTwice && !bytes.Equal(args, filled) {
		if own := s.Explain(args, v.HideReceived); own != nil {
			report = own // about the arguments as they came
		}
	}
	return nil, report
}

// checkOrMend is check, for arguments that may be mended: then it returns what is wrong with those that were sent, too,
// and the request is the mended one.
func (v *validator) checkOrMend(ctx context.Context, c *call.Call, req mcp.Request, next mcp.MethodHandler, s *explain.Schema) (mcp.Request, *mended, *explain.Report) {
	checked, report := v.check(s, req)
	own := call.Target(req) == c.Target() && bytes.Equal(call.ArgumentsOf(req), call.ArgumentsOf(c.Request())) // else it is a call of the handler's
	if report == nil || v.Mend == MendNever || c.MendsNot() || !own {
		return checked, nil, report
	}
	m := v.mend(ctx, c, req, next, s, "")
	if m == nil {
		return checked, nil, report
	}
	filled, refused := v.check(s, m.req)
	if refused != nil {
		return checked, nil, report
	}
	return filled, m, report
}

// maxTwice is how long arguments may be to be looked at with and without the defaults.
const maxTwice = 64 << 10

// orObject returns an empty object for arguments that are absent or null, as the SDK takes
// them for typed tools.
func orObject(args []byte) []byte {
	if len(args) == 0 || string(args) == "null" {
		return []byte("{}")
	}
	return args
}

// refused is the error of arguments that Tool refused. It is a fault, which a middleware
// of this package that stands outside makes anew where its own options say so.
type refused struct {
	fault    *fault.Error
	schema   func() *explain.Schema
	args     []byte // what it is about
	tool     string
	withheld bool // of its correction more may be known to a middleware around the server
}

func (e *refused) Error() string { return e.fault.Error() }
func (e *refused) Unwrap() error { return e.fault }
