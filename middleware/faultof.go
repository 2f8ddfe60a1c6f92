package middleware

import (
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/fault"
	"github.com/mcpchain/mcpchain/internal/call"
	"github.com/mcpchain/mcpchain/internal/failure"
	"github.com/mcpchain/mcpchain/internal/faults"
	"github.com/mcpchain/mcpchain/internal/wire"
)

// FaultOf returns the failure that a call ended with, given the result and the error of
// the call. It works on a server, in a middleware, and on a client, for
// ClientSession.CallTool and the other methods:
//
//	res, err := session.CallTool(ctx, params)
//	if f, failed := middleware.FaultOf(res, err); failed {
//		...
//	}
//
// It reports false for a success. On a server it does not apply rules (see mask.Options);
// in a middleware, [AddTo] does. From a server without mcpchain it reads what it can: the
// kind from the JSON-RPC code, or [fault.KindTool] with the tool's own text. A tool
// behind mcpchain that reported a failure in its own words is read in the same way. The
// reference is that of the _meta. A server may be able to send only the text of a failure, as
// contrib/mcpgo does for resources and prompts: then FaultOf reads that text.
func FaultOf(res mcp.Result, err error) (*fault.Error, bool) { return failure.FaultOf(res, err) }

// NextSteps returns a copy of a successful result with next steps for the model: a text block
// "Next: 1. ..." at the end of the content, and the steps, an array of fault.Step, under
// _meta["io.github.mcpchain/next_steps"]. A nil result counts as an empty one; without steps the
// result is returned unchanged.
//
// A typed handler may return a result without content, or none: then the SDK writes the output as
// text after the handler. In that case mcpchain's middlewares add the text block with the steps.
// Without them, only _meta has the steps.
func NextSteps(res *mcp.CallToolResult, steps ...fault.Step) *mcp.CallToolResult {
	if len(steps) == 0 {
		return res
	}
	var out mcp.CallToolResult
	if res != nil {
		out = *res
	}
	// A fault numbers the steps and makes their values fit for JSON.
	steps = fault.New(fault.KindInternal, "").WithSteps(steps...).Data().RecoverySteps
	var listed any = call.PendingSteps(steps)
	if len(out.Content) > 0 {
		out.Content = append(slices.Clone(out.Content), &mcp.TextContent{Text: faults.StepsText(steps)})
		listed = steps
	}
	if out.Meta = maps.Clone(out.Meta); out.Meta == nil {
		out.Meta = mcp.Meta{}
	}
	out.Meta[wire.StepsKey] = listed
	return &out
}
